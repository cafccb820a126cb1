#include "simulation/forecast.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace ductile {
namespace {

class BelievedWorld {
 public:
  BelievedWorld(Core core, Time now)
      : core_(std::move(core)), now_(std::max(core_.state().now, now)), began_(now_) {}
  void begin(const WhatIf& change);
  void run(const std::function<bool()>& stop);
  std::vector<Forecast> forecasts() const;

 private:
  struct Answer {
    Time at;
    Decision decision;
    Duration paused{};  // before it the job makes no progress for so long
  };

  void drain(Nodes count);
  void close();
  void carry_out(const Decision& decision);
  void give(const Answer& answer);
  Time end_of(JobId id) const;
  Time end_at_size(const Job& job) const;
  Time next_end() const;

  Core core_;
  Time now_, began_;
  std::vector<Answer> answers_;  // to come
  std::map<JobId, Forecast> jobs_;
};

void BelievedWorld::begin(const WhatIf& change) {
  const State& state = core_.state();
  for (const JobId id : state.running) {
    const Job& job = core_.job(id);
    jobs_[id] = {id, true, job.target, job.started, kNever};
  }
  for (JobId id = state.queue.front(); id != JobId::none;
       id = state.queue.after(id, core_.job(id).spec)) {
    jobs_[id] = {id};
  }
  for (const Claim& claim : state.claims) {
    if (claim.start) jobs_[claim.job] = {claim.job};
  }
  for (const Unanswered& open : state.unanswered) {
    const AdaptiveSpec* spec = state.adaptive_spec(core_.job(open.decision.job));
    const bool is_resize = spec && open.decision.kind == Decision::Kind::resize;
    const Duration cost =
        is_resize ? spec->cost.of(open.before.count, open.decision.after.count) : Duration{};
    answers_.push_back({std::max(later(open.expected, cost), now_), open.decision, cost});
  }
  if (change.fewer_nodes > 0) drain(change.fewer_nodes);
  if (change.policy && !core_.apply(now_, event::ConfigChanged{change.policy})) {
    throw InputError("this world lacks " + change.policy->lacks(state.capabilities),
                     "name another policy");
  }
  if (change.another) {
    const JobId id{state.jobs.size()};
    core_.apply(now_, event::Submitted{*change.another, std::nullopt});
    jobs_[id] = {id};
  }
  close();
}

void BelievedWorld::drain(Nodes count) {
  const State& state = core_.state();
  NodeSet up;
  up.insert(0, state.platform.nodes - 1);
  up.erase(state.not_up);
  core_.apply(now_,
              event::NodesChanged{up.take_highest(std::min(count, up.count())), Health::draining});
}

void BelievedWorld::close() {
  const auto decisions = core_.close_instant(now_);
  for (const Decision& decision : std::vector<Decision>(decisions.begin(), decisions.end())) {
    carry_out(decision);
  }
}

void BelievedWorld::carry_out(const Decision& decision) {
  const State& state = core_.state();
  using Kind = Decision::Kind;
  if (decision.kind == Kind::start) {
    Forecast& its = jobs_[decision.job];
    its.job = decision.job;
    its.nodes = decision.after.count;
    its.start = now_;
    if (!state.capabilities.instant_start) answers_.push_back({now_, decision});
  } else if (decision.kind == Kind::resize) {
    const auto open = std::ranges::find(state.unanswered, decision.id,
                                        [](const Unanswered& u) { return u.decision.id; });
    const Job& job = core_.job(decision.job);
    const AdaptiveSpec* spec = state.adaptive_spec(job);
    const Duration cost =
        spec ? spec->cost.of(open->before.count, decision.after.count) : Duration{};
    const Duration delay = spec ? spec->resize_delay : Duration{};
    answers_.push_back({later(later(now_, delay), cost), decision, cost});
  }
}

/// A job may have ended first: then the core does not want it any more.
void BelievedWorld::give(const Answer& answer) {
  const Decision& decision = answer.decision;
  if (decision.kind == Decision::Kind::resize) {
    core_.apply(now_, event::Resized{decision.job, decision.id, decision.after, {}, answer.paused});
  } else {
    core_.apply(now_, event::Started{decision.job, decision.id, {}, std::nullopt});
  }
}

/// Believed; not before the answer to a resize for which it stops computing first.
Time BelievedWorld::end_of(JobId id) const {
  const Time end = end_at_size(core_.job(id));
  if (core_.job(id).doing != Doing::resizing) return end;
  const auto stops = [&](const Answer& answer) {
    return answer.decision.job == id && answer.paused > Duration{} &&
           answer.at - answer.paused < end;
  };
  return std::ranges::any_of(answers_, stops) ? kNever : end;
}

Time BelievedWorld::end_at_size(const Job& job) const {
  const Time late = began_ + whole_seconds(1);
  if (core_.state().rules.limit == Rules::Limit::scaled || job.spec.type == JobType::rigid) {
    return std::max(job.limit, late);
  }
  // The limit stays whatever the size: what is left of the work tells.
  const State& state = core_.state();
  const Duration left = state.time_for_work(job, state.work_left(job), state.settled(job).count);
  return std::max(later(state.now, left), late);
}

Time BelievedWorld::next_end() const {
  Time next = kNever;
  for (const JobId id : core_.state().running) {
    const Job& job = core_.job(id);
    if (job.doing != Doing::starting) next = std::min(next, end_of(id));
  }
  return next;
}

void BelievedWorld::run(const std::function<bool()>& stop) {
  for (std::uint64_t instants = 0;; ++instants) {
    if (instants % 256 == 255 && stop && stop()) return;
    Time next = next_end();
    for (const Answer& answer : answers_) next = std::min(next, answer.at);
    const bool only_timer = next == kNever;
    next = std::max(std::min(next, core_.next_wake()), now_);
    if (next == kNever) return;
    now_ = next;

    std::vector<JobId> ending;
    for (const JobId id : core_.state().running) {
      const Job& job = core_.job(id);
      if (job.doing != Doing::starting && end_of(id) <= now_) ending.push_back(id);
    }
    std::ranges::sort(ending);
    for (const JobId id : ending) {
      jobs_[id].end = now_;
      core_.apply(now_, event::Ended{id, EndState::completed, false});
    }
    const auto due = std::stable_partition(answers_.begin(), answers_.end(),
                                           [&](const Answer& answer) { return answer.at > now_; });
    const std::vector<Answer> given(due, answers_.end());
    answers_.erase(due, answers_.end());
    for (const Answer& answer : given) give(answer);
    if (core_.next_wake() <= now_) core_.apply(now_, event::TimerFired{});
    const std::uint64_t before = core_.state().next_decision;
    close();
    // Nothing but the timer is left, and what it wakes does nothing: the rest waits for ever.
    if (only_timer && core_.state().next_decision == before && core_.state().retries.empty())
      return;
  }
}

std::vector<Forecast> BelievedWorld::forecasts() const {
  std::vector<Forecast> rows;
  for (const auto& [id, its] : jobs_) rows.push_back(its);
  std::ranges::stable_sort(rows, [](const Forecast& a, const Forecast& b) {
    return a.runs != b.runs ? a.runs : a.start < b.start;
  });
  return rows;
}

}  // namespace

std::vector<Forecast> forecast(Core core, Time now, const WhatIf& change,
                               const std::function<bool()>& stop) {
  BelievedWorld world(std::move(core), now);
  world.begin(change);
  world.run(stop);
  return world.forecasts();
}

}  // namespace ductile
