#include "simulation/forecast.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/error.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/pass.hpp"

namespace ductile {
namespace {

class BelievedWorld {
 public:
  BelievedWorld(Core core, const Policy& policy, Time now)
      : core_(std::move(core)),
        policy_(&policy),
        now_(std::max(core_.state().now, now)),
        began_(now_) {}
  void begin(const WhatIf& change);
  void run(const Horizon& horizon, const std::function<bool()>& stop = {});
  void plan_rest();
  std::vector<Forecast> forecasts() const;
  Time now() const { return now_; }
  const Core& core() const { return core_; }

 private:
  struct Answer {
    Decision decision;
    Duration paused{};  // before it the job makes no progress for so long
  };

  void drain(Nodes count);
  void close();
  void carry_out(const Decision& decision);
  void give(const Answer& answer);
  Time end_of(JobId id) const;
  Time end_at_size(const Job& job) const;
  bool ends_at_limit(const Job& job) const;
  void expect_end(JobId id);
  bool is_true(const std::pair<Time, JobId>& end) const;
  Time next_at_limit();
  Time next_end();
  std::vector<JobId> due();

  Core core_;
  const Policy* policy_;
  Time now_, began_;
  std::multimap<Time, Answer> answers_;  // to come
  std::map<JobId, Forecast> jobs_;
  // When jobs end, the next one first; with what was believed before and is not true any more.
  std::priority_queue<std::pair<Time, JobId>, std::vector<std::pair<Time, JobId>>, std::greater<>>
      ends_;
  std::vector<JobId> by_work_;  // running jobs whose end is asked anew at each instant
};

Duration cost_of(const AdaptiveSpec& spec, const Holding& before, const Holding& after) {
  return spec.cost.of(before.count, after.count, replaced(before, after));
}

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
  if (!state.bookings.empty()) {  // who waits for one is not in the queue
    state.jobs.for_each([&](JobId id) {
      if (core_.job(id).status == Status::pending) jobs_[id].job = id;
    });
  }
  for (const Unanswered& open : state.unanswered) {
    const AdaptiveSpec* spec = state.adaptive_spec(core_.job(open.decision.job));
    const bool is_resize = spec && open.decision.kind == Decision::Kind::resize;
    const Duration cost = is_resize ? cost_of(*spec, open.before, open.decision.after) : Duration{};
    answers_.emplace(std::max(later(open.expected, cost), now_), Answer{open.decision, cost});
  }
  if (change.fewer_nodes > 0) drain(change.fewer_nodes);
  if (change.policy) {
    policy_ = change.policy.get();
    if (!core_.apply(now_, event::ConfigChanged{policy_->traits})) {
      throw InputError("this world lacks " + lacking(state.capabilities, policy_->traits.needs),
                       "name another policy");
    }
  }
  if (change.another) {
    const JobId id{state.jobs.size()};
    core_.apply(now_, event::Submitted{*change.another, std::nullopt});
    jobs_[id] = {id};
  }
  for (const JobId id : state.running) expect_end(id);
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
  const auto decisions = core_.close(now_, *policy_);
  for (const Decision& decision : std::vector<Decision>(decisions.begin(), decisions.end())) {
    carry_out(decision);
    expect_end(decision.job);
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
    if (!state.capabilities.instant_start) answers_.emplace(now_, Answer{decision});
  } else if (decision.kind == Kind::resize) {
    const auto open = std::ranges::find(state.unanswered, decision.id,
                                        [](const Unanswered& u) { return u.decision.id; });
    const Job& job = core_.job(decision.job);
    const AdaptiveSpec* spec = state.adaptive_spec(job);
    const Duration cost = spec ? cost_of(*spec, open->before, decision.after) : Duration{};
    const Duration delay = spec ? spec->resize_delay : Duration{};
    answers_.emplace(later(later(now_, delay), cost), Answer{decision, cost});
  } else if (decision.stops()) {
    answers_.emplace(core_.state().find(decision.id)->expected, Answer{decision});
  }
}

/// A job may have ended first: then the core does not want it any more.
void BelievedWorld::give(const Answer& answer) {
  const Decision& decision = answer.decision;
  if (decision.kind == Decision::Kind::resize) {
    core_.apply(now_, event::Resized{decision.job, decision.id, decision.after, {}, answer.paused});
  } else if (decision.kind == Decision::Kind::suspend) {
    core_.apply(now_, event::Suspended{decision.job, decision.id});
  } else if (decision.stops()) {
    if (!core_.state().find(decision.id)) return;  // it ended first
    const bool requeue = decision.kind == Decision::Kind::requeue;
    core_.apply(now_, event::Ended{decision.job, EndState::cancelled, requeue});
    if (!requeue) jobs_[decision.job].end = now_;
  } else {
    core_.apply(now_, event::Started{decision.job, decision.id, {}, std::nullopt});
  }
  expect_end(decision.job);
}

/// Believed; not before the answer to a resize for which it stops computing first.
Time BelievedWorld::end_of(JobId id) const {
  const Time end = end_at_size(core_.job(id));
  if (core_.job(id).doing != Doing::resizing) return end;
  const auto stops = [&](const auto& to_come) {
    const auto& [at, answer] = to_come;
    return answer.decision.job == id && answer.paused > Duration{} && at - answer.paused < end;
  };
  return std::ranges::any_of(answers_, stops) ? kNever : end;
}

Time BelievedWorld::end_at_size(const Job& job) const {
  const Time late = began_ + whole_seconds(1);
  if (ends_at_limit(job)) return job.limit > began_ ? job.limit : late;
  // The limit stays whatever the size: what is left of the work tells.
  const State& state = core_.state();
  const Duration left = state.time_for_work(job, state.work_left(job), state.settled(job).count);
  return std::max(later(state.now, left), late);
}

/// Its end moves only when its limit does.
bool BelievedWorld::ends_at_limit(const Job& job) const {
  return core_.state().rules.limit == Rules::Limit::scaled || job.spec.type == JobType::rigid;
}

/// Something was decided about the job, or has come of it.
void BelievedWorld::expect_end(JobId id) {
  if (id == JobId::none || !core_.state().jobs.contains(id)) return;
  const Job& job = core_.job(id);
  if (job.status != Status::running) return;
  if (ends_at_limit(job)) {
    ends_.emplace(end_at_size(job), id);
  } else if (std::ranges::find(by_work_, id) == by_work_.end()) {
    by_work_.push_back(id);
  }
}

bool BelievedWorld::is_true(const std::pair<Time, JobId>& end) const {
  if (!core_.state().jobs.contains(end.second)) return false;
  const Job& job = core_.job(end.second);
  return job.status == Status::running && job.doing != Doing::starting &&
         end_of(end.second) == end.first;
}

Time BelievedWorld::next_at_limit() {
  while (!ends_.empty() && !is_true(ends_.top())) ends_.pop();
  return ends_.empty() ? kNever : ends_.top().first;
}

Time BelievedWorld::next_end() {
  Time next = next_at_limit();
  // Some were stopped, and may run again.
  std::erase_if(by_work_, [&](JobId id) {
    return !core_.state().jobs.contains(id) || core_.job(id).status != Status::running;
  });
  for (const JobId id : by_work_) {
    if (core_.job(id).doing != Doing::starting) next = std::min(next, end_of(id));
  }
  return next;
}

/// The jobs that end now.
std::vector<JobId> BelievedWorld::due() {
  std::vector<JobId> ending;
  for (; next_at_limit() <= now_; ends_.pop()) {
    ending.push_back(ends_.top().second);
  }
  std::erase_if(by_work_, [&](JobId id) {
    const bool ends = core_.job(id).doing != Doing::starting && end_of(id) <= now_;
    if (ends) ending.push_back(id);
    return ends;
  });
  std::ranges::sort(ending);
  ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
  return ending;
}

void BelievedWorld::run(const Horizon& horizon, const std::function<bool()>& stop) {
  const std::uint64_t passed = core_.state().passes;
  std::optional<Time> idles_since;
  for (std::uint64_t instants = 0;; ++instants) {
    if (instants % 16 == 15 && stop && stop()) return plan_rest();
    Time next = next_end();
    if (!answers_.empty()) next = std::min(next, answers_.begin()->first);
    for (const Booking& each : core_.state().bookings) next = std::min(next, each.turns());
    const bool only_timer = next == kNever;
    next = std::max(std::min(next, core_.next_wake()), now_);
    if (next == kNever) return;
    const bool is_enough = core_.state().passes - passed >= horizon.passes;
    if (next > horizon.until || is_enough) return plan_rest();
    now_ = next;

    for (const JobId id : due()) {
      jobs_[id].end = now_;
      core_.apply(now_, event::Ended{id, EndState::completed, false});
    }
    while (!answers_.empty() && answers_.begin()->first <= now_) {
      const Answer answer = std::move(answers_.extract(answers_.begin()).mapped());
      give(answer);
    }
    if (core_.next_wake() <= now_) core_.apply(now_, event::TimerFired{});
    const std::uint64_t before = core_.state().next_decision;
    close();
    // Nothing but the timer is left, and what it wakes does nothing: the rest waits for ever.
    const bool idles =
        only_timer && core_.state().next_decision == before && core_.state().retries.empty();
    if (!idles) {
      idles_since.reset();
      continue;
    }
    if (!idles_since) idles_since = now_;
    if (now_ - *idles_since >= policy_->slowest_clock) return;
  }
}

/// No pass of the policy: one plan, in the order of the queue. The core is good for nothing else
/// afterwards.
void BelievedWorld::plan_rest() {
  const State& state = core_.state();
  for (const JobId id : state.running) {
    jobs_[id].end = state.expected_end(core_.job(id));
    jobs_[id].planned = true;
  }
  const auto plan = [&](JobId id, Nodes nodes, Time start, Time end) {
    jobs_[id] = {.job = id, .nodes = nodes, .start = start, .end = end, .planned = true};
  };
  const auto write = [&](Pass& pass) {
    for (const Claim& claim : pass.claims()) {
      if (claim.start) plan(claim.job, core_.job(claim.job).size(), claim.expected, claim.release);
    }
    Timeline timeline = timeline_for(pass, {.reservation_depth = Backfill::kUnlimited});
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) {
      const Queue::Need need = pass.start_need(id);
      const Time start = reserve_earliest(pass, timeline, id);
      if (start != kNever) plan(id, need.nodes, start, later(start, need.walltime));
    }
  };
  core_.close(now_, write, true);
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

std::vector<Forecast> forecast(Core core, const Policy& policy, Time now, const WhatIf& change,
                               const std::function<bool()>& stop) {
  BelievedWorld world(std::move(core), policy, now);
  world.begin(change);
  world.run({}, stop);
  return world.forecasts();
}

Lived look_ahead(Core core, const Policy& policy, Time now, const Horizon& horizon) {
  const std::uint64_t passed = core.state().passes;
  WhatIf change;
  // Not owned: it outlives the world.
  if (core.traits() != policy.traits) change.policy = {std::shared_ptr<const Policy>(), &policy};
  BelievedWorld world(std::move(core), policy, now);
  world.begin(change);
  world.run(horizon);
  return {world.forecasts(), world.now(), world.core().state().passes - passed};
}

}  // namespace ductile
