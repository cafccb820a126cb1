#include "simulation/look_ahead.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduling/policy.hpp"
#include "simulation/forecast.hpp"

namespace ductile {
namespace {

constexpr Duration kSlowdownBound = whole_seconds(10);  // of slowdowns
constexpr double kMostOfFigure = 1e12;                  // of a figure, as in records

/// The core as it is looked at: it keeps no records, and only the first jobs in the queue are
/// there, all others are held. The backlog stays what it is: what is overdue depends on it.
Core followed(const Core& core, Time now, std::uint32_t most_jobs) {
  std::vector<JobId> others;
  State state = core.state();
  state.rules.record = state.rules.check = false;
  state.memo = {};
  std::uint32_t waiting = 0;
  const Queue& queue = core.state().queue;
  for (JobId id = queue.front(); id != JobId::none; id = queue.after(id, core.job(id).spec)) {
    if (++waiting <= most_jobs) continue;
    others.push_back(id);
    const JobSpec& spec = core.job(id).spec;
    state.work_beside += total_work(spec.preferred, spec.walltime);
  }
  Core copy(std::move(state));
  for (const JobId id : others) copy.apply(now, event::Eligible{id, false});
  return copy;
}

/// Of jobs without an end it is believed that they begin when nothing more is known.
Outlook outlook_of(const Lived& lived, const Core& core) {
  Wide turnaround = 0;
  double slowdown = 0;
  Duration longest{};
  for (const Forecast& its : lived.jobs) {
    const JobSpec& spec = core.job(its.job).spec;
    const Time start = its.start == kNever ? lived.until : its.start;
    const Time end = its.end == kNever ? later(start, spec.walltime) : its.end;
    const Duration turned = std::max(end - spec.submitted, Duration{});
    turnaround += turned.count();
    slowdown +=
        std::max(1.0, to_seconds(turned) / to_seconds(std::max(spec.walltime, kSlowdownBound)));
    if (!its.runs) longest = std::max(longest, start - spec.submitted);
  }
  const auto jobs = static_cast<double>(std::max<std::size_t>(lived.jobs.size(), 1));
  return {.turnaround_s = std::min(static_cast<double>(turnaround) / (jobs * 1e6), kMostOfFigure),
          .slowdown = std::min(slowdown / jobs, kMostOfFigure),
          .longest_wait_s = to_seconds(longest)};
}

/// Would it matter who rules? Somebody waits, or runs at a size that a policy may change.
bool is_any(const Core& core) {
  const State& state = core.state();
  return !state.queue.empty() || std::ranges::any_of(state.running, [&](JobId id) {
    return sizes_while_running(core.job(id).spec.type);
  });
}

bool has_shifted(double before, double now, double shift) {
  return now > before * shift || now * shift < before;
}

}  // namespace

double score_of(const Outlook& its, const Outlook& ruling, const Portfolio& portfolio) {
  // Of times with some seconds more: no wait is not better by any factor than one of a moment.
  const auto ratio = [](double value, double other) {
    constexpr double kMoreS = to_seconds(kSlowdownBound);
    return (value + kMoreS) / (other + kMoreS);
  };
  const Outlook& weights = portfolio.weights;
  switch (portfolio.goal) {
    case Goal::turnaround:
      return its.turnaround_s;
    case Goal::slowdown:
      return its.slowdown;
    case Goal::longest:
      return its.longest_wait_s;
    case Goal::weighted:
      break;
  }
  const double sum = weights.turnaround_s * ratio(its.turnaround_s, ruling.turnaround_s) +
                     weights.slowdown * its.slowdown / ruling.slowdown +
                     weights.longest_wait_s * ratio(its.longest_wait_s, ruling.longest_wait_s);
  return std::min(sum / (weights.turnaround_s + weights.slowdown + weights.longest_wait_s),
                  kMostOfFigure);
}

LookAheads::Load LookAheads::load_of(const Core& core) {
  const Queue& queue = core.state().queue;
  return {.jobs = queue.size(), .work = queue.area()};
}

std::optional<Occasion> LookAheads::due(const Portfolio& portfolio, const Core& core, Time now) {
  if (portfolio.members.size() < 2) return std::nullopt;
  const bool is_time =
      portfolio.every > Duration{} && last_ && now >= later(*last_, portfolio.every);
  const bool may_shift = portfolio.shift > 0 && now >= later(checked_, portfolio.check);
  if ((last_ && !is_time && !may_shift) || !is_any(core)) return std::nullopt;
  if (!last_) return Occasion::first;
  if (is_time) return Occasion::time;
  checked_ = now;
  const Load load = load_of(core);
  const bool is_another =
      has_shifted(static_cast<double>(load_.jobs), static_cast<double>(load.jobs),
                  portfolio.shift) ||
      has_shifted(static_cast<double>(load_.work), static_cast<double>(load.work), portfolio.shift);
  return is_another ? std::optional(Occasion::queue) : std::nullopt;
}

void LookAheads::begin(const Core& core, Time now) {
  last_ = checked_ = now;
  load_ = load_of(core);
}

Time LookAheads::next(const Portfolio& portfolio, const Core& core) const {
  if (portfolio.members.size() < 2 || !is_any(core)) return kNever;
  if (!last_) return Time::min();
  return portfolio.every > Duration{} ? later(*last_, portfolio.every) : kNever;
}

event::ConfigChanged choose(const Core& core, const Portfolio& portfolio, Time now,
                            Occasion occasion) {
  std::vector<const Policy*> members;
  Choice choice{.occasion = occasion, .goal = portfolio.goal};
  const Core base = followed(core, now, portfolio.most_jobs);
  const Horizon horizon{
      .until = portfolio.horizon > Duration{} ? later(now, portfolio.horizon) : kNever,
      .passes = portfolio.most_passes};
  for (const auto& member : portfolio.members) {
    if (!meets(core.state().capabilities, member->traits.needs)) continue;
    // Who rules is found by name: before the first choice that is the portfolio, as its first
    // member.
    if (member->traits.settings == core.traits().settings) {
      choice.ruled = static_cast<std::uint32_t>(members.size());
    }
    const Lived lived = look_ahead(base, *member, now, horizon);
    choice.jobs = static_cast<std::uint32_t>(lived.jobs.size());
    choice.passes += lived.passes;
    choice.members.push_back({member->traits.settings, outlook_of(lived, base), 0});
    members.push_back(member.get());
  }
  choice.chosen = choice.ruled;
  const Outlook ruling = choice.members.at(choice.ruled).outlook;
  for (Choice::Member& its : choice.members) its.score = score_of(its.outlook, ruling, portfolio);
  const auto best = std::ranges::min_element(choice.members, {}, &Choice::Member::score);
  const double enough = choice.members[choice.ruled].score * (1 - portfolio.hysteresis);
  if (best->score < enough) {
    choice.chosen = static_cast<std::uint32_t>(best - choice.members.begin());
  }
  const Traits& traits = members[choice.chosen]->traits;
  return {traits, std::move(choice)};
}

}  // namespace ductile
