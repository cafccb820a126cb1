#include "scheduling/pass.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "scheduling/invariants.hpp"

namespace ductile {

// Where the nodes of a start or an expansion come from.
struct Pass::Plan {
  struct Promise {
    JobId victim;
    Nodes count;
  };
  Nodes from_idle = 0;
  std::vector<Promise> promises;
  Nodes total = 0;
};

// --- The view
// ----------------------------------------------------------------------------------------

bool Pass::any_resizing() const {
  return std::ranges::any_of(state_.unanswered, [](const Unanswered& u) {
    return u.decision.kind == Decision::Kind::resize;
  });
}

Nodes Pass::incoming_now() const {
  Nodes sum = 0;
  for (const Unanswered& u : state_.unanswered) {
    if (u.decided == now() && u.expected == now()) sum += u.releases - u.pledged;
  }
  return sum;
}

std::vector<Request> Pass::requests() const {
  std::vector<Request> visible;
  std::ranges::copy_if(state_.requests, std::back_inserter(visible),
                       [&](const Request& request) { return state_.is_visible(request); });
  return visible;
}

std::vector<JobId> Pass::started() const {
  std::vector<JobId> jobs;
  for (const Decision& decision : state_.decisions) {
    const bool of_pass = index(decision.id) >= state_.pass_first;
    if (of_pass && decision.kind == Decision::Kind::start) jobs.push_back(decision.job);
  }
  return jobs;
}

bool Pass::startable(JobId id) const {
  const Job& its = job(id);
  return its.status == Status::pending && its.claim == ClaimId::none && now() >= its.not_before;
}

bool Pass::fits(JobId id, Nodes n) const {
  return startable(id) && n <= idle() && state_.fits_power(job(id), n);
}

bool Pass::cut_in_pass(const Job& its) const {
  return state_.in_pass(its) && its.doing == Doing::resizing && its.target < its.holding.count;
}

bool Pass::grown_in_pass(const Job& its) const {
  return state_.in_pass(its) && its.claim == ClaimId::none && its.target == its.holding.count;
}

bool Pass::cuttable(JobId id) const {
  const Job& its = job(id);
  return resizable(id) ||
         (its.status == Status::running && cut_in_pass(its) && sizes_while_running(its.spec.type));
}

bool Pass::growable(JobId id) const {
  const Job& its = job(id);
  if (resizable(id)) return true;
  if (!sizes_at_start(its.spec.type)) return false;
  return its.status == Status::running ? grown_in_pass(its) : waiting_start(its) != nullptr;
}

bool Pass::fresh(JobId id) const {
  const Job& its = job(id);
  return grown_in_pass(its) && its.doing == Doing::nothing && its.ordered == 0 &&
         sizes_while_running(its.spec.type) && state_.world_can_resize(its);
}

Claim* Pass::waiting_start(const Job& its) const {
  Claim* claim = its.claim == ClaimId::none ? nullptr : state_.find(its.claim);
  return claim && claim->start && claim->pass == state_.passes ? claim : nullptr;
}

Nodes Pass::extra(JobId id) const {
  const Job& its = job(id);
  if (its.target == 0 || !sizes_while_running(its.spec.type)) return 0;
  if (its.ordered != 0 || !state_.world_can_resize(its)) return 0;
  const Nodes least = smallest(id);
  if (its.status != Status::running) return its.target > least ? its.target - least : 0;
  // A shrink gives up nodes that are not up first.
  const Nodes sick = its.holding.count - state_.healthy(its.holding);
  const Nodes given = its.holding.count - its.target;
  const Nodes kept = least + (sick > given ? sick - given : 0);
  return its.target > kept ? its.target - kept : 0;
}

Time Pass::expected_end(JobId id) const {
  const Job& its = job(id);
  const bool comes = its.status != Status::running && its.claim != ClaimId::none;
  return comes ? state_.find(its.claim)->release : state_.expected_end(its);
}

Time Pass::expected_end(JobId id, Nodes n) const {
  const Job& its = job(id);
  if (its.spec.type == JobType::rigid) return state_.expected_end(its);
  return later(now(), state_.time_for_work(its, state_.work_left(its), n));
}

Time Pass::expected_end_after(JobId id, Nodes to, const Sources& sources) const {
  const Job& its = job(id);
  Time come = now();
  bool waits = false;
  if (const bool bare = sources.cuts.empty() && !sources.incoming; !bare && to > its.target) {
    const auto from = plan(id, exactly(to - its.target), sources);
    if (!from) return kNever;
    waits = !from->promises.empty();
    for (const Plan::Promise& promise : from->promises) {
      const Unanswered* open = state_.find(job(promise.victim).decision);
      come = std::max(come, open ? open->expected : expected_release(promise.victim));
    }
  }
  if (const Claim* start = waiting_start(its)) {
    return later(std::max(start->expected, come), state_.estimate(its, to));
  }
  const bool starts = state_.in_pass(its) && its.doing != Doing::resizing;
  if (starts && !waits) return later(now(), state_.estimate(its, to));
  const AdaptiveSpec* spec = state_.adaptive_spec(its);
  const Nodes before = state_.settled(its).count;
  const Work work = state_.work_left(its);
  const auto left_at = [&](Nodes n) { return state_.time_for_work(its, work, n); };
  const Duration left = left_at(before);
  const Duration ready = come - now() + (spec ? spec->resize_delay : Duration{});
  if (to == before || left <= ready) return later(now(), left);
  // A share of the time and not of the work: at the same speed it ends at the same microsecond.
  const double share =
      static_cast<double>((left - ready).count()) / static_cast<double>(left.count());
  constexpr double kMost = 9.2e18;  // that still is a time
  const double rest = std::min(static_cast<double>(left_at(to).count()) * share, kMost);
  const Duration cost = spec ? spec->cost.of(before, to) : Duration{};
  return later(later(now(), ready + cost), std::max(Duration{std::llround(rest)}, kTick));
}

Time Pass::expected_release(JobId id) const {
  const AdaptiveSpec* spec = state_.adaptive_spec(job(id));
  return now() + (spec ? spec->resize_delay : Duration{});
}

Duration Pass::expected_cost(JobId id, Nodes to) const {
  const AdaptiveSpec* spec = state_.adaptive_spec(job(id));
  return spec ? spec->cost.of(job(id).size(), to) : Duration{};
}

Pass::WorkLeft Pass::work_left(JobId id) const {
  const Job& its = job(id);
  const Work whole = total_work(its.spec.preferred, its.spec.walltime);
  if (its.status != Status::running || whole == 0) return {};
  if (its.spec.type == JobType::rigid) {
    const Duration left = std::max(its.limit - now(), Duration{});
    return {left.count(), (its.limit - its.started).count()};
  }
  return {state_.work_left(its), whole};
}

double Pass::mtct(JobId id) const {
  const Job& its = job(id);
  return its.adaptive == Job::kNoRow ? 0 : state_.adaptive[its.adaptive].mtct;
}

Duration Pass::delay_of(const Party& party) const {
  const auto at = std::ranges::find(state_.delays, party, &Delays::party);
  return at == state_.delays.end() ? Duration{} : seconds(state_.faded(*at));
}

Timeline Pass::timeline() const {
  std::optional<Profile> power;
  if (state_.budget_mw != State::kNoBudget) {
    power.emplace(state_.power_releases, state_.free_power_mw(), now());
  }
  return Timeline(Profile(state_.releases, idle(), now()), std::move(power), now());
}

LaneMemo* Pass::valid_memo() {
  const bool same = state_.memo.changes == state_.changes && !state_.releases.any_late(now());
  return same ? &state_.memo : nullptr;
}

void Pass::keep_memo() {
  state_.memo.changes = state_.changes;
  state_.memo.jobs = state_.jobs.size();
  state_.memo.at = now();
}

Draws& Pass::draws() {
  if (!random_) random_.emplace(state_.rules.seed, Stream::policy, state_.passes);
  return *random_;
}

// --- The pen
// -----------------------------------------------------------------------------------------

template <class Make>
bool Pass::wrote(Make make) {
  if (state_.rules.record) state_.calls.push_back(make());
  if (state_.rules.check) check_invariants_in_turn(state_);
  return true;
}

bool Pass::can_cut(const Cut& cut) const {
  if (!knows(cut.victim)) return false;
  const Job& victim = job(cut.victim);
  if (victim.status != Status::running) return false;
  const bool again = cut_in_pass(victim);
  if (!again && !resizable(cut.victim)) return false;
  // A shrink of this pass may be named again as it is: its surplus, or a barrier.
  if (again && cut.to == victim.target) return true;
  return cut.to < victim.target && sizes_while_running(victim.spec.type) &&
         state_.allows(victim, cut.to);
}

std::optional<Pass::Plan> Pass::plan(JobId id, SizeRange add, const Sources& sources) const {
  Plan plan;
  Nodes missing = add.max;
  plan.from_idle = std::min(missing, idle());
  missing -= plan.from_idle;
  const auto promise = [&](JobId victim, Nodes most) {
    const Nodes count = std::min(most, missing);
    plan.promises.push_back({victim, count});
    missing -= count;
  };
  for (const Cut& cut : sources.cuts) {
    const bool twice = std::ranges::any_of(
        plan.promises, [&](const Plan::Promise& p) { return p.victim == cut.victim; });
    if (cut.victim == id || twice || !can_cut(cut)) return std::nullopt;
    const Job& victim = job(cut.victim);
    const Unanswered* open = state_.in_pass(victim) ? state_.find(victim.decision) : nullptr;
    const Nodes releases =
        state_.healthy(victim.holding) - state_.healthy(state_.kept(victim, cut.to));
    promise(cut.victim, releases - (open ? open->pledged : 0));
  }
  if (sources.incoming) {
    for (const Unanswered& open : state_.unanswered) {
      const JobId victim = open.decision.job;
      const bool named = std::ranges::any_of(
          plan.promises, [&](const Plan::Promise& p) { return p.victim == victim; });
      if (missing > 0 && open.releases > open.pledged && victim != id && !named) {
        promise(victim, open.releases - open.pledged);
      }
    }
  }
  plan.total = add.max - missing;
  if (plan.total < add.min) return std::nullopt;
  return plan;
}

void Pass::cut(const Cut& cut, JobId beneficiary, Reason reason) {
  if (job(cut.victim).target == cut.to) return;  // cut before in this pass
  const Why why = reason.why == Why::corridor ? Why::corridor : Why::shrunk_for;
  state_.shrink(cut.victim, cut.to, {why, beneficiary});
}

void Pass::make_claim(const Plan& plan, JobId id, RequestId request, bool start, SizeRange add,
                      Reason reason) {
  ++state_.changes;
  Job& its = state_.jobs[id];
  Claim claim;
  claim.id = its.claim = ClaimId{state_.next_claim++};
  claim.job = id;
  claim.request = request;
  claim.start = start;
  claim.add = add;
  claim.reason = reason;
  claim.pass = state_.passes;
  claim.made = claim.expected = now();
  if (start) {
    its.target = std::min(plan.total, add.max);
    state_.queue.remove(id, its.spec);
  }
  promise(claim, plan);
  claim.release = start ? later(claim.expected, state_.estimate(its, its.target)) : its.limit;
  state_.claims.push_back(std::move(claim));
  state_.list(state_.claims.back());
}

void Pass::promise(Claim& claim, const Plan& plan) {
  Holding idle = state_.idle.take(plan.from_idle);
  claim.held.count += idle.count;
  claim.held.nodes.insert(idle.nodes);
  state_.claimed += idle.count;
  for (const Plan::Promise& promise : plan.promises) {
    Unanswered& shrink = *state_.find(job(promise.victim).decision);
    state_.unlist_incoming(shrink);
    shrink.pledged += promise.count;
    state_.list_incoming(shrink);
    const auto older = std::ranges::find(claim.pledges, promise.victim, &Pledge::victim);
    if (older == claim.pledges.end()) {
      claim.pledges.push_back({promise.victim, shrink.decision.id, promise.count});
    } else {
      older->count += promise.count;
    }
    claim.expected = std::max(claim.expected, shrink.expected);
  }
}

bool Pass::start(JobId id, SizeRange range, Reason reason, const Sources& sources) {
  if (!knows(id)) return false;
  const Job& its = job(id);
  if (!startable(id) || range.min == 0 || range.min > range.max) return false;
  const SizeRange allowed =
      sizes_at_start(its.spec.type) ? its.spec.size : exactly(its.spec.preferred);
  if (!allowed.contains(range.min) || !allowed.contains(range.max)) return false;
  if (sources.cuts.empty() && !sources.incoming) {
    const Nodes n = state_.largest(its, std::min(range.max, idle()), 0);
    if (n < range.min) return false;
    state_.queue.remove(id, its.spec);
    state_.start(id, state_.idle.take(n), reason);
  } else {
    const auto from = plan(id, range, sources);
    if (!from || state_.largest_start(its, from->total) < range.min) return false;
    if (from->promises.empty()) return start(id, range, reason);
    for (const Cut& c : sources.cuts) cut(c, id, reason);
    make_claim(*from, id, RequestId::none, true, range, reason);
  }
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::start, .job = id, .size = range, .reason = reason};
    call.cuts.assign(sources.cuts.begin(), sources.cuts.end());
    call.incoming = sources.incoming;
    return call;
  });
}

bool Pass::expand(JobId id, SizeRange add, Reason reason, const Sources& sources,
                  RequestId request) {
  const auto from = plan(id, add, sources);
  if (!from) return false;
  if (from->promises.empty()) {
    const Nodes base = job(id).target;
    const Nodes size = state_.largest(job(id), base + from->total, base, request);
    if (size < base + add.min) return false;
    state_.grow(id, state_.idle.take(size - base), reason, request);
  } else {
    for (const Cut& c : sources.cuts) cut(c, id, reason);
    make_claim(*from, id, request, false, add, reason);
  }
  return true;
}

bool Pass::start_larger(JobId id, Claim& claim, Nodes more, Reason reason, const Sources& sources) {
  const auto from = plan(id, exactly(more), sources);
  if (!from) return false;
  ++state_.changes;
  for (const Cut& c : sources.cuts) cut(c, id, reason);
  Job& its = state_.jobs[id];
  state_.unlist(claim);
  promise(claim, *from);
  claim.add.max += more;
  claim.grown += more;
  its.target += more;
  // As if it were started first and grew then.
  claim.release = later(claim.expected,
                        state_.estimate(its, ends_move() ? its.target : its.target - claim.grown));
  state_.list(claim);
  return true;
}

bool Pass::resize(JobId id, Nodes to, Reason reason, const Sources& sources) {
  if (!knows(id)) return false;
  const Job& its = job(id);
  if (its.target == 0 || to == its.target || !state_.allows(its, to)) return false;
  const bool bare = sources.cuts.empty() && !sources.incoming;
  if (to < its.target) {
    if (!bare || !can_cut({id, to})) return false;
    state_.shrink(id, to, reason);
  } else {
    const Nodes more = to - its.target;
    const bool chosen = sizes_at_start(its.spec.type);
    if (Claim* claim = waiting_start(its)) {
      if (!chosen || !start_larger(id, *claim, more, reason, sources)) return false;
    } else if (bare && chosen && grown_in_pass(its)) {  // one start, or one growth
      if (more > idle() || !state_.fits_power(its, more)) return false;
      state_.grow(id, state_.idle.take(more), reason);
    } else if (!(resizable(id) || fresh(id)) ||
               !expand(id, exactly(more), reason, sources, RequestId::none)) {
      return false;
    }
  }
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::resize, .job = id, .size = exactly(to), .reason = reason};
    call.cuts.assign(sources.cuts.begin(), sources.cuts.end());
    call.incoming = sources.incoming;
    return call;
  });
}

bool Pass::grant(RequestId id, Reason reason, const Sources& sources,
                 std::span<const Delay> delays) {
  const auto open = requests();
  const auto at = std::ranges::find(open, id, &Request::id);
  if (at == open.end()) return false;
  const Job& its = job(at->job);
  if (now() < its.not_before || its.ordered != 0 || !state_.world_can_resize(its)) return false;
  const auto unknown = [&](const Delay& delay) { return !knows(delay.job); };
  if (std::ranges::any_of(delays, unknown)) return false;
  if (at->delta > 0) {
    const auto delta = static_cast<Nodes>(at->delta);
    const SizeRange add{at->at_least == 0 ? delta : std::min(at->at_least, delta), delta};
    if (its.target + delta > its.spec.size.max) return false;
    if (!expand(at->job, add, reason, sources, id)) return false;
  } else {
    const auto less = static_cast<Nodes>(-std::int64_t{at->delta});
    if (less >= its.target || !sources.cuts.empty()) return false;
    state_.shrink(at->job, its.target - less, reason, id);
  }
  if (its.claim == ClaimId::none) {
    std::erase_if(state_.requests, [&](const Request& request) { return request.id == id; });
  }
  for (const Delay& delay : delays) state_.delay(delay, *at);
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::grant, .request = id, .reason = reason};
    call.cuts.assign(sources.cuts.begin(), sources.cuts.end());
    call.incoming = sources.incoming;
    call.delays.assign(delays.begin(), delays.end());
    return call;
  });
}

bool Pass::deny(RequestId id, Reason reason) {
  const auto open = requests();
  const auto at = std::ranges::find(open, id, &Request::id);
  if (at == open.end()) return false;
  state_.decide(Decision::Kind::deny, at->job, reason, id);
  std::erase_if(state_.requests, [&](const Request& request) { return request.id == id; });
  return wrote(
      [&] { return PenCall{.verb = PenCall::Verb::deny, .request = id, .reason = reason}; });
}

bool Pass::withdraw(ClaimId id, Reason reason) {
  if (!state_.find(id)) return false;
  const bool woken = state_.must_wake;
  state_.dissolve(id);
  state_.must_wake = woken;  // the policy knows
  return wrote(
      [&] { return PenCall{.verb = PenCall::Verb::withdraw, .claim = id, .reason = reason}; });
}

bool Pass::reserve(JobId id, Time planned, Reason reason) {
  if (!knows(id)) return false;
  Job& its = state_.jobs[id];
  if (its.status != Status::pending) return false;
  if (its.reserved == planned) return true;
  its.reserved = planned;
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::reserve, .job = id, .reason = reason, .time = planned};
  });
}

bool Pass::tag(JobId id, JobId value) {
  if (!knows(id)) return false;
  state_.jobs[id].tag = value;
  return wrote([&] { return PenCall{.verb = PenCall::Verb::tag, .job = id, .other = value}; });
}

bool Pass::wake_by(Time time) {
  if (time <= now()) return false;
  if (state_.timer <= time) return true;
  state_.timer = time;
  return wrote([&] { return PenCall{.verb = PenCall::Verb::wake_by, .time = time}; });
}

bool Pass::power_off(Nodes n, Reason reason) {
  if (!state_.capabilities.power_control || !state_.rules.identities) return false;
  if (n == 0 || n > idle()) return false;
  NodeSet all = state_.idle.nodes();
  const NodeSet nodes = all.take_highest(n);
  state_.decide(Decision::Kind::power_off, JobId::none, reason).after = {n, nodes};
  state_.change_health(nodes, Health::off);
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::power_off, .size = exactly(n), .reason = reason};
  });
}

bool Pass::power_on(Nodes n, Reason reason) {
  if (!state_.capabilities.power_control || n == 0) return false;
  // Not those that this pass switched off: its decisions may be carried out in any order.
  NodeSet off;
  for (const Decision& decision : state_.decisions) {
    if (index(decision.id) >= state_.pass_first && decision.kind == Decision::Kind::power_off) {
      off.insert(decision.after.nodes);
    }
  }
  NodeSet nodes;
  for (const Interval& part : difference(state_.not_up, off).parts) {
    for (std::uint32_t node = part.first; node <= part.last && nodes.count() < n; ++node) {
      const bool boots = std::ranges::any_of(
          state_.boots, [&](const Boot& boot) { return boot.nodes.contains(node); });
      if (state_.health[node] == Health::off && !boots) nodes.insert(node, node);
    }
  }
  if (nodes.count() < n) return false;
  state_.decide(Decision::Kind::power_on, JobId::none, reason).after = {n, nodes};
  const Boot boot{state_.next_boot++, nodes, now() + platform().boot_time};
  state_.releases.insert(boot.ready, ReleaseTag::boot(boot.batch), n);
  state_.boots.push_back(boot);
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::power_on, .size = exactly(n), .reason = reason};
  });
}

bool Pass::call(const PenCall& c) {
  const Sources sources{c.cuts, c.incoming};
  switch (c.verb) {
    case PenCall::Verb::start:
      return start(c.job, c.size, c.reason, sources);
    case PenCall::Verb::resize:
      return resize(c.job, c.size.max, c.reason, sources);
    case PenCall::Verb::grant:
      return grant(c.request, c.reason, sources, c.delays);
    case PenCall::Verb::deny:
      return deny(c.request, c.reason);
    case PenCall::Verb::withdraw:
      return withdraw(c.claim, c.reason);
    case PenCall::Verb::reserve:
      return reserve(c.job, c.time, c.reason);
    case PenCall::Verb::tag:
      return tag(c.job, c.other);
    case PenCall::Verb::wake_by:
      return wake_by(c.time);
    case PenCall::Verb::power_off:
      return power_off(c.size.max, c.reason);
    case PenCall::Verb::power_on:
      return power_on(c.size.max, c.reason);
  }
  return false;
}

}  // namespace ductile
