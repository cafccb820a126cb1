#include "scheduling/runtime_prediction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ductile {
namespace {

/// What a running job has had of its walltime, at speed 1.
Duration had(const State& state, const Job& job, Time now) {
  if (state.has_walltime_of_any_size(job)) {
    // As if it had begun then at its present speed.
    const Time began = state.end_with(job, Duration{});
    return at_speed(std::max(now, job.started) - began, 1 / state.speed(job));
  }
  const double rate = job.adaptive == Job::kNoRow ? 1 : state.adaptive[job.adaptive].rate;
  const Duration since =
      at_speed(std::max(now, job.work_at) - job.work_at, 1 / (rate * state.node_speed(job)));
  const Work done = job.spec.work_of(job.spec.walltime) - job.work_left +
                    work_done(state.speedup(job), job.spec.preferred,
                              State::crew(job, state.settled(job).count, job.pace), since);
  const Work most = Duration::max().count();
  return Duration{static_cast<std::int64_t>(std::min(done / job.spec.work_of(kTick), most))};
}

}  // namespace

Duration RuntimePrediction::walltime(std::uint32_t user, Duration requested) const {
  const auto at = users_.find(user);
  if (at == users_.end() || at->second.known < 2) return requested;
  const Duration mean = (at->second.last + at->second.before) / 2;
  return std::min(std::max(mean, kTick), requested);
}

void RuntimePrediction::took(std::uint32_t user, Duration runtime) {
  History& history = users_[user];
  history.before = history.last;
  history.last = runtime;
  history.known = std::min(history.known + 1, 2U);
}

std::vector<Duration> RuntimePrediction::last_of(std::uint32_t user) const {
  const auto at = users_.find(user);
  if (at == users_.end()) return {};
  const History& its = at->second;
  return its.known < 2 ? std::vector{its.last} : std::vector{its.before, its.last};
}

void RuntimePrediction::submitted(JobId id, Duration requested, Duration predicted,
                                  std::uint32_t raised) {
  if (predicted < requested) open_[id] = {requested, raised};
}

Duration RuntimePrediction::requested(const State& state, JobId id) const {
  const auto at = open_.find(id);
  return at == open_.end() ? state.jobs[id].spec.walltime : at->second.requested;
}

std::optional<event::Believed> RuntimePrediction::asked(const State& state, JobId id,
                                                        Duration requested) {
  const Duration believed = state.jobs[id].spec.walltime;
  const bool is_predicted = believed < this->requested(state, id);
  if (is_predicted && believed < requested) {
    open_.at(id).requested = requested;
    return std::nullopt;
  }
  forget(id);
  if (believed == requested) return std::nullopt;
  event::Believed now{id, 0, 0, 0};
  now.walltime = requested;
  return now;
}

void RuntimePrediction::ending(const State& state, JobId id, Time now) {
  const Job& job = state.jobs[id];
  if (job.status == Status::running && job.doing != Doing::starting) {
    took(job.spec.user, had(state, job, now));
  }
  forget(id);
}

void RuntimePrediction::forget(JobId id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  ends_.erase({at->second.end, id});
  open_.erase(at);
}

std::optional<event::Believed> RuntimePrediction::outlived(const State& state, JobId id, Time now) {
  constexpr std::array<std::int64_t, 11> kMinutes{1,   5,   15,   30,   60,  120,
                                                  300, 600, 1200, 3000, 6000};
  const auto at = open_.find(id);
  if (at == open_.end()) return std::nullopt;
  const Job& job = state.jobs[id];
  Open& open = at->second;
  if (job.status != Status::running || job.doing == Doing::starting || job.limit > now ||
      job.spec.walltime >= open.requested) {
    return std::nullopt;
  }
  const std::size_t step = std::min<std::size_t>(open.raised++, kMinutes.size() - 1);
  const Duration more = whole_seconds(60 * kMinutes[step]);
  event::Believed believed{id, 0, 0, 0};
  believed.walltime =
      std::min(std::max(had(state, job, now), job.spec.walltime) + more, open.requested);
  return believed;
}

void RuntimePrediction::watch(const State& state, JobId id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  const Job& job = state.jobs[id];
  Open& open = at->second;
  ends_.erase({open.end, id});
  const bool can_be_outlived = job.status == Status::running && job.doing != Doing::starting &&
                               job.spec.walltime < open.requested;
  open.end = can_be_outlived ? job.limit : kNever;
  if (can_be_outlived) ends_.emplace(open.end, id);
}

JobId RuntimePrediction::due(Time now) const {
  return next() <= now ? ends_.begin()->second : JobId::none;
}

}  // namespace ductile
