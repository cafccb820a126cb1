#include "simulation/arrivals.hpp"

#include <algorithm>

namespace ductile {

Arrivals::Arrivals(Workload& workload)
    : workload_(workload),
      jobs_(workload.jobs.size()),
      dependents_(workload.precedences),
      first_(workload.jobs.size() + 1, 0),
      places_(workload.jobs.size()),
      stands_(workload.jobs.size()) {
  for (Place i = 0; i < jobs_.size(); ++i) {
    places_[i] = stands_[i] = i;
    jobs_[i].submit = workload.jobs[i].submit;
  }
  std::ranges::stable_sort(dependents_, {}, &Precedence::on);
  for (const Precedence& each : dependents_) {
    ++first_[each.on + 1];
    Waiting& its = jobs_[each.job];
    ++its.open;
    if (each.sets_submit) its.submit = Time::min();
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  workload.user_submits.resize(jobs_.size());
  for (Place i = 0; i < jobs_.size(); ++i) {
    jobs_[i].from = jobs_[i].submit;
    if (jobs_[i].open == 0) come_at(i, jobs_[i].submit);
  }
}

Time Arrivals::next() const { return due_.empty() ? kNever : due_.top().first; }

void Arrivals::come() {
  const auto [at, place] = due_.top();
  due_.pop();
  const std::uint32_t to = come_++, from = stands_[place];
  std::vector<WorkloadJob>& jobs = workload_.jobs;
  std::swap(jobs[to], jobs[from]);
  std::swap(places_[to], places_[from]);
  stands_[places_[to]] = to;
  stands_[places_[from]] = from;
  jobs[to].submit = at;
  workload_.user_submits[to] = jobs_[place].submit;
}

JobId Arrivals::number(JobId place) const {
  const std::uint32_t stands = stands_[index(place)];
  return stands < come_ ? JobId{stands} : JobId::none;
}

void Arrivals::reach(Place job, Dependency::Stage stage, Time now) {
  const Dependency::Stage before = jobs_[job].stage;
  if (stage <= before) return;
  jobs_[job].stage = stage;
  for (std::uint32_t i = first_[job]; i < first_[job + 1]; ++i) {
    const Precedence& row = dependents_[i];
    if (fulfilled(row.kind, before) != Fulfilled::not_yet) continue;
    const Fulfilled is = fulfilled(row.kind, stage);
    Waiting& its = jobs_[row.job];
    if (is == Fulfilled::never && !its.is_never) {
      its.is_never = true;
      ++never_;
    }
    if (is != Fulfilled::yes) continue;
    const Time at = later(now, row.think);
    if (row.sets_submit) its.submit = std::max(its.submit, at);
    its.from = std::max(its.from, at);
    if (--its.open == 0) come_at(row.job, its.from);
  }
}

}  // namespace ductile
