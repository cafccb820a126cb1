#include "policies/slurm_schedulers.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ductile {

std::vector<ParameterInfo> SlurmSchedulers::parameters(const std::string& whose) {
  const std::string source = "Slurm: SchedulerParameters";
  const auto duration = [&](std::string name, std::string fallback, const std::string& summary) {
    return ParameterInfo{.name = std::move(name),
                         .type = ParameterType::duration,
                         .fallback = std::move(fallback),
                         .min = 0,
                         .max = 1e9,
                         .unit = "s",
                         .summary = whose + summary,
                         .source = source};
  };
  const auto jobs = [&](std::string name, std::string fallback, const std::string& summary) {
    return ParameterInfo{.name = std::move(name),
                         .type = ParameterType::integer,
                         .fallback = std::move(fallback),
                         .min = 1,
                         .max = Backfill::kUnlimited,
                         .unit = "jobs",
                         .summary = whose + summary,
                         .source = source};
  };
  return {
      jobs("default_queue_depth", "100",
           "at events the main scheduler looks at so many of the first waiting jobs"),
      duration("sched_interval", "60",
               "at multiples of this it looks at all of them; 0: it never does"),
      duration("bf_interval", "30",
               "at multiples of this backfill plans while jobs wait; 0: it never does"),
      duration("bf_window", "86400",
               "backfill plans so far ahead: who can only start later holds no reservation; 0: "
               "however far"),
      duration("bf_resolution", "60",
               "backfill plans with ends of jobs at the next multiple of this after them; 0: with "
               "ends as they are"),
      jobs("bf_max_job_test", "500", "backfill looks at so many of the first waiting jobs"),
  };
}

SlurmSchedulers::SlurmSchedulers(const Parameters& p)
    : queue_depth_(static_cast<std::uint32_t>(p.number("default_queue_depth"))),
      sched_interval_(seconds(p.number("sched_interval"))),
      bf_interval_(seconds(p.number("bf_interval"))),
      backfill_{.reservation_depth = Backfill::kUnlimited,
                .jobs = static_cast<std::uint32_t>(p.number("bf_max_job_test")),
                .window = seconds(p.number("bf_window")),
                .resolution = seconds(p.number("bf_resolution"))} {}

Duration SlurmSchedulers::slowest_clock() const { return std::max(sched_interval_, bf_interval_); }

void SlurmSchedulers::start_in_order(Pass& pass) const {
  InOrder options;
  if (!is_due(pass, sched_interval_)) options.jobs = queue_depth_;
  ductile::start_in_order(pass, options);
}

void SlurmSchedulers::wake(Pass& pass) const {
  if (pass.pending() == 0) return;
  const std::size_t started = pass.started().size();
  const bool happened = !pass.woken_only_by<event::TimerFired>() || started > 0;
  // While nobody fits in what idles, who has had his turn waits until something happens.
  const bool could_start = happened || anybody_fits(pass);
  const auto wake_at = [&](Duration interval) {
    if (interval == Duration{} || (!could_start && is_due(pass, interval))) return;
    pass.wake_by(next_multiple(pass.now(), interval));
  };
  wake_at(bf_interval_);
  if (pass.pending() + started > queue_depth_) wake_at(sched_interval_);
}

bool SlurmSchedulers::is_due(const Pass& pass, Duration interval) const {
  if (interval == Duration{}) return false;
  const auto last = [&](Duration each) { return next_multiple(pass.now(), each) - each; };
  if (last(interval) == pass.now()) return true;
  // A live clock wakes a little late, for the interval that has the newest multiple.
  if (!pass.woken_by<event::TimerFired>()) return false;
  for (const Duration other : {sched_interval_, bf_interval_}) {
    if (other > Duration{} && last(other) > last(interval)) return false;
  }
  return pass.now() - last(interval) < std::min(whole_seconds(1), interval);
}

}  // namespace ductile
