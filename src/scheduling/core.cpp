#include "scheduling/core.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "scheduling/invariants.hpp"
#include "scheduling/place.hpp"

namespace ductile {
namespace {

// What `a` has and `b` has not.
Holding without(const Holding& a, const Holding& b, bool identities) {
  if (!identities) return {a.count > b.count ? a.count - b.count : 0, {}};
  Holding rest{0, difference(a.nodes, b.nodes)};
  rest.count = rest.nodes.count();
  return rest;
}

// A holding a world may report: with identities on it names as many nodes as it counts, without
// them none.
bool is_sound(const State& state, const Holding& holding) {
  if (holding.count == 0 || holding.count > state.platform.nodes) return false;
  if (!state.rules.identities) return holding.nodes.empty() && holding.parts.empty();
  if (holding.nodes.count() != holding.count ||
      holding.nodes.parts.back().last >= state.platform.nodes) {
    return false;
  }
  if (holding.parts.empty()) return true;
  if (!is_sound(holding.parts) || !holding.nodes.contains(nodes_in(holding.parts))) return false;
  bool is_part = true;
  for (const Part& part : holding.parts) {
    for_each_node(part.nodes, [&](std::uint32_t node) {
      const Slice whole = state.whole(node);
      is_part &= whole.covers(part.has) && !(whole == part.has);
    });
  }
  return is_part;
}

// How many nodes a job could use there; none if no such jobs can be told apart from the others.
std::optional<Nodes> nodes_for(const State& state, const Where& where) {
  const std::size_t last = state.lanes.size();
  if (last > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  if (!state.has_room(where, kMostCells)) return std::nullopt;
  std::vector<Lane> lanes = state.lanes;
  lanes.push_back({where, 1});
  const CellTable cells(state.platform, lanes, state.bookings);
  return std::min(cells.count(cells.of(LaneId{static_cast<std::uint16_t>(last)})),
                  most_nodes(state.platform, where));
}

// Can it be made, or become this?
bool can_book(const State& state, const Booking& next) {
  const NodeSet& nodes = next.nodes;
  if (!nodes.empty() &&
      (!state.rules.identities || nodes.parts.back().last >= state.platform.nodes)) {
    return false;
  }
  // Power is for nobody; and what is not booked is none.
  if (!is_booking_name(next.name) || next.from >= next.to) return false;
  if (next.power_mw < 0 || next.power_mw > kMostBookedMw) return false;
  if (next.for_jobs ? nodes.empty() || next.power_mw != 0 : nodes.empty() && next.power_mw == 0) {
    return false;
  }
  std::vector<Booking> all;
  for (const Booking& each : state.bookings) {
    if (each.id == next.id) continue;
    if (each.name == next.name) return false;
    if (each.overlaps(next.from, next.to) && each.nodes.intersects(nodes)) return false;
    all.push_back(each);
  }
  all.push_back(next);
  // Lists of jobs are not asked.
  return all.size() <= kMostBookings && CellTable(state.platform, {}, all).is_whole();
}

bool answers(const Job& job, DecisionId id, Doing doing) {
  return job.status == Status::running && job.doing == doing && job.decision == id;
}

}  // namespace

Core::Core(const Platform& platform, const Capabilities& capabilities, const Rules& rules,
           const Traits& traits)
    : Core(State(platform, capabilities, rules, traits)) {
  if (!is_sound(platform)) {
    throw InputError(
        {"", 0, "platform"},
        "its classes and partitions have nodes that there are not, or tell more than " +
            std::to_string(kMostCells) + " sets of nodes apart",
        "let partitions have the same nodes, or none in common");
  }
  const std::string what = lacks();
  if (what.empty()) return;
  throw InputError({"", 0, "policy " + traits.settings}, "this world lacks " + what,
                   "use another policy or another world");
}

Core::Core(State state) : state_(std::move(state)) {}

// --- Events
// ------------------------------------------------------------------------------------------

namespace {

/// Does it wake the policies that want to hear of such an event?
template <class E>
bool is_news(const E&, const State&) {
  return !std::is_same_v<E, event::Believed> && !std::is_same_v<E, event::ContentionLearned>;
}
bool is_news(const event::ConfigChanged& changed, const State& state) {
  return !changed.choice || changed.traits != state.traits;
}

}  // namespace

template <class E>
bool Core::apply_at(Time now, const E& event) {
  state_.begin_instant();
  state_.now = std::max(state_.now, now);
  const bool wakes = is_news(event, state_);
  if (!happened(event)) {
    ++state_.stale;
    return false;
  }
  for (const JobId id : state_.follow_companies()) state_.unforeseen.push_back(id);
  if (wakes) state_.woken |= kind_of<E>();
  if constexpr (!std::is_same_v<E, event::Submitted>) ++state_.changes;
  if (state_.rules.check) check_invariants_in_turn(state_);
  return true;
}

bool Core::apply(Time now, const event::Submitted& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Eligible& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Started& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::StartFailed& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Resized& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Ended& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::EvolvingRequested& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::EvolvingWithdrawn& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::NodesChanged& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::CorridorChanged& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Believed& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::SizeOrdered& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Altered& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::ConfigChanged& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::MoveOrdered& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Suspended& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::StopOrdered& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::Booked& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::AtPoint& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::ContentionLearned& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::TimerFired& e) { return apply_at(now, e); }
bool Core::apply(Time now, const event::MachineChanged& e) { return apply_at(now, e); }
bool Core::apply(Time now, const Event& event) {
  return std::visit([&](const auto& e) { return apply_at(now, e); }, event);
}

bool Core::happened(const event::Submitted& submitted) {
  const JobId id = state_.jobs.add();
  Job& job = state_.jobs[id];
  job.spec = submitted.job;
  job.spec.size.min = std::max(job.spec.size.min, Nodes{1});
  const std::optional<LaneId> lane =
      submitted.where ? state_.join_lane(*submitted.where) : state_.join_lane();
  job.spec.lane = lane ? *lane : state_.join_lane();
  job.spec.size.max = std::min(job.spec.size.max, lane ? state_.nodes_of(*lane) : 0);
  double watts = state_.platform.busy_w_with(job.spec.cores);
  if (submitted.adaptive) {
    if (state_.free_rows.empty()) {
      state_.free_rows.push_back(static_cast<std::uint32_t>(state_.adaptive.size()));
      state_.adaptive.emplace_back();
    }
    job.adaptive = state_.free_rows.back();
    state_.free_rows.pop_back();
    state_.adaptive[job.adaptive] = {*submitted.adaptive};
    if (submitted.adaptive->watts_per_node > 0) watts = submitted.adaptive->watts_per_node;
  }
  job.power_mw = milliwatts(watts);

  if (!job.spec.size.contains(job.spec.preferred)) {
    state_.decide(Decision::Kind::reject, id, {Why::infeasible});
    state_.retire(id);
    return true;
  }
  state_.enqueue(id, job);
  return true;
}

bool Core::happened(const event::Eligible& eligible) {
  if (!state_.jobs.contains(eligible.job)) return false;
  Job& job = state_.jobs[eligible.job];
  if (job.status != (eligible.yes ? Status::held : Status::pending)) return false;
  if (eligible.yes) {
    job.status = Status::pending;
    state_.enqueue(eligible.job, job);
  } else {
    if (job.claim != ClaimId::none) state_.dissolve(job.claim);
    state_.dequeue(eligible.job, job);
    job.status = Status::held;
    state_.plan_start(eligible.job, kNever);
  }
  return true;
}

bool Core::happened(const event::Started& started) {
  if (!state_.jobs.contains(started.job)) return false;
  Job& job = state_.jobs[started.job];
  const std::uint32_t keep = started.keep.value_or(Job::kNoKeep);
  if (started.answers == DecisionId::none) {  // somebody else started it
    if (job.status != Status::pending || !is_sound(state_, started.now)) return false;
    if (!started.now.parts.empty()) return false;
    if (job.claim != ClaimId::none) state_.dissolve(job.claim);
    state_.seize(started.now);
    state_.dequeue(started.job, job);
    state_.run(started.job, Holding(started.now));
    job.keep = keep;
    state_.list(job, started.job);
  } else {
    if (!answers(job, started.answers, Doing::starting)) return false;
    if (started.now.count != 0 && !is_sound(state_, started.now)) return false;
    const Reason reason = state_.find(started.answers)->decision.reason;
    state_.before_change(job);
    job.keep = keep;
    job.limit = later(job.limit, state_.now - job.started);
    job.started = job.work_at = state_.now;
    if (started.now.count != 0 && !(started.now == job.holding)) {
      const Holding gained = without(started.now, job.holding, state_.rules.identities);
      Holding lost = without(job.holding, started.now, state_.rules.identities);
      state_.seize(gained);
      give_up_shared(started.job, lost);
      state_.free_nodes(lost);
      state_.must_wake |= started.now.count < job.holding.count;
      const double speed = state_.speed(job);
      job.holding = started.now;
      job.pace = state_.pace_of(job, job.holding);
      state_.note_parts(started.job);
      if (job.target != started.now.count || state_.speed(job) != speed) {
        job.target = job.first_size = started.now.count;
        state_.set_limit(job, later(job.started, state_.estimate_held(job, job.target)), reason);
      }
    }
    job.doing = Doing::nothing;
    state_.answer(started.answers);
    state_.after_change(job, started.job);
    check_shared(job);
    if (!job.holding.parts.empty()) state_.foresee(started.job);
  }
  job.not_before = state_.now + kTick;
  state_.settle_delays(started.job);
  return true;
}

bool Core::happened(const event::StartFailed& failed) {
  if (!state_.jobs.contains(failed.job)) return false;
  if (!answers(state_.jobs[failed.job], failed.answers, Doing::starting)) return false;
  drop_requests(failed.job);
  state_.answer(failed.answers);
  requeue(failed.job, failed.retry_at);
  return true;
}

bool Core::happened(const event::Resized& resized) {
  if (!state_.jobs.contains(resized.job)) return false;
  Job& job = state_.jobs[resized.job];
  const bool ours = resized.answers != DecisionId::none;
  if (!(ours ? answers(job, resized.answers, Doing::resizing) ||
                   answers(job, resized.answers, Doing::stopping)
             : job.status == Status::running && job.doing == Doing::nothing)) {
    return false;
  }
  if (!is_sound(state_, resized.now)) return false;
  // What the job was to have more of, it was to have at its former size.
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);

  const std::optional<Unanswered> open =
      ours ? std::optional(*state_.find(resized.answers)) : std::nullopt;
  const Nodes before = state_.settled(job).count;
  const std::int64_t drawn_before = state_.drawn_mw(job, job.holding);
  const Nodes idle_before = state_.idle.count();
  const Reason reason = open ? open->decision.reason : Reason{Why::ordered};
  const RequestId request = open ? open->decision.request : RequestId::none;
  // Of a move it is the nodes that count.
  const bool moves = open && !open->decision.after.nodes.contains(open->before.nodes) &&
                     !open->before.nodes.contains(open->decision.after.nodes);
  const bool as_decided = open && (moves ? resized.now == open->decision.after
                                         : resized.now.count == open->decision.after.count &&
                                               resized.now.parts == open->decision.after.parts);
  const Holding gained = without(resized.now, job.holding, state_.rules.identities);
  Holding lost = without(job.holding, resized.now, state_.rules.identities);
  state_.seize(gained);
  state_.before_change(job);
  // It cannot have stopped for a resize before that was decided.
  const Duration paused = open ? std::min(resized.paused, state_.now - open->decided) : Duration{};
  // Each time that progress is noted it is rounded: only where it has to be.
  const Pace pace = state_.pace_of(job, resized.now);
  const bool is_other_pace = job.pace != pace;
  const bool other_speed =
      is_other_pace || (state_.cells.speeds_differ() &&
                        state_.node_speed(job) != state_.cells.slowest(resized.now.nodes));
  const bool changes = resized.now.count != before || paused > Duration{} || other_speed;
  if (changes) state_.note_progress(job, before, paused);
  const double speed_before = state_.speed(job);
  give_up_shared(resized.job, lost);
  state_.note_spare(job.holding.parts);
  state_.note_spare(resized.now.parts);
  job.holding = resized.now;
  job.pace = pace;
  state_.note_parts(resized.job);
  job.target = resized.now.count;
  job.doing = Doing::nothing;
  const bool has_not_moved = !moves || resized.now == open->before;
  const bool is_refused = ours && !as_decided && job.target == before && has_not_moved;
  const std::uint32_t refusals = is_refused ? job.refusals + 1U : ours ? 0U : job.refusals;
  job.refusals = static_cast<std::uint16_t>(std::min(refusals, state_.rules.counted_refusals));
  // Who refuses again and again is left alone twice as long each time.
  const Duration alone = std::max(resized.retry_at - state_.now, kTick);
  job.not_before = later(state_.now, alone * (1U << std::max<int>(job.refusals - 1, 0)));
  // What is not as it was decided is looked at again as soon as it can be changed: at once, if that
  // is past.
  state_.retry(as_decided ? resized.retry_at : job.not_before);
  if (ours) state_.answer(resized.answers);
  if (job.target != before) {
    ++(job.target > before ? job.expands : job.shrinks);
    job.gain += static_cast<std::int32_t>(job.target) - static_cast<std::int32_t>(before);
    // Paper 003, V-A: after a completed adaptation it is measured anew.
    if (job.adaptive != Job::kNoRow) state_.adaptive[job.adaptive].mtct = 0;
  }
  if (changes) state_.scale_limit(job, reason);
  if (other_speed && !state_.scales_limit(job)) state_.follow_speed(job, speed_before, reason);
  if (request != RequestId::none && job.target <= before) state_.forget_delays(request);
  state_.after_change(job, resized.job);
  const std::int64_t less_mw = drawn_before - state_.drawn_mw(job, job.holding);
  state_.release(resized.job, lost, std::max<std::int64_t>(less_mw, 0));
  check_shared(job);
  // Who keeps the cores that he was to have changed has another end than was foreseen.
  const bool keeps_cores = open && !as_decided && open->decision.after.parts != open->before.parts;
  if (is_other_pace || keeps_cores) state_.foresee(resized.job);
  // What goes to nobody is looked at by every policy. The pass that decided a shrink has seen what
  // it gives back at once.
  const bool foreseen = as_decided && request == RequestId::none && reason.why != Why::ordered &&
                        open->decided == state_.now;
  state_.must_wake |= state_.idle.count() > idle_before && !foreseen;
  return true;
}

bool Core::happened(const event::Ended& ended) {
  if (!state_.jobs.contains(ended.job)) return false;
  Job& job = state_.jobs[ended.job];
  if (job.status == Status::over) return false;
  if (job.status != Status::running) {
    if (ended.requeue) return false;
    if (job.claim != ClaimId::none) state_.dissolve(job.claim);
    if (job.status == Status::pending) state_.dequeue(ended.job, job);
    state_.retire(ended.job);
    return true;
  }
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);
  drop_requests(ended.job);
  if (job.doing != Doing::nothing) state_.answer(job.decision);
  if (ended.requeue) {
    ++job.restarts;
    job.goes_on = false;
    requeue(ended.job, state_.now + kTick);
  } else {
    state_.vacate(ended.job);
    state_.retire(ended.job);
  }
  return true;
}

bool Core::happened(const event::EvolvingRequested& requested) {
  if (!state_.jobs.contains(requested.job) || requested.delta == 0) return false;
  const Job& job = state_.jobs[requested.job];
  const bool evolves = job.spec.type == JobType::evolving || job.spec.type == JobType::adaptive;
  const bool known =
      std::ranges::find(state_.requests, requested.id, &Request::id) != state_.requests.end();
  if (job.status != Status::running || !evolves || known) return false;
  state_.requests.push_back({requested.id, requested.job, requested.delta, requested.at_least});
  return true;
}

bool Core::happened(const event::EvolvingWithdrawn& withdrawn) {
  const auto at = std::ranges::find(state_.requests, withdrawn.id, &Request::id);
  if (at == state_.requests.end()) return false;
  const Claim* claim = state_.find(state_.jobs[at->job].claim);
  if (claim && claim->request == withdrawn.id) state_.dissolve(claim->id);
  state_.requests.erase(at);
  return true;
}

bool Core::happened(const event::NodesChanged& changed) {
  if (!state_.rules.identities || changed.nodes.empty() ||
      changed.nodes.parts.back().last >= state_.platform.nodes) {
    return false;
  }
  bool any = false;
  for (const Interval& part : changed.nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      any |= state_.health[node] != changed.health;
    }
  }
  if (!any) return false;
  for (Boot& boot : state_.boots) {
    state_.unlist(boot);
    boot.nodes.erase(changed.nodes);
    if (boot.nodes.empty()) continue;
    state_.list(boot);
  }
  std::erase_if(state_.boots, [](const Boot& boot) { return boot.nodes.empty(); });
  state_.change_health(changed.nodes, changed.health);
  return true;
}

std::vector<ComingCorridor> coming_corridors(const event::CorridorChanged& changed) {
  std::vector<ComingCorridor> coming;
  for (const event::ComingBounds& its : changed.coming) {
    coming.push_back(
        {its.at, std::llround(its.low_w * 1000),
         std::isfinite(its.high_w) ? std::llround(its.high_w * 1000) : State::kNoBudget});
  }
  return coming;
}

bool Core::happened(const event::CorridorChanged& changed) {
  state_.budget(changed.low_w, changed.high_w);
  state_.coming_corridors = coming_corridors(changed);
  return true;
}

bool Core::happened(const event::Believed& believed) {
  if (!state_.jobs.contains(believed.job)) return false;
  Job& job = state_.jobs[believed.job];
  if (job.status == Status::over) return false;
  if (believed.watts_per_node > 0) state_.believe_power(believed.job, believed.watts_per_node);
  if (believed.walltime > Duration{}) state_.believe_walltime(believed.job, believed.walltime);
  if (job.adaptive != Job::kNoRow) {
    const bool other_progress = believed.rate > 0 || believed.model;
    if (other_progress && job.status == Status::running && job.doing != Doing::starting) {
      state_.note_progress(job, state_.settled(job).count);
    }
    Adaptive& row = state_.adaptive[job.adaptive];
    if (believed.mtct > 0) row.mtct = believed.mtct;
    if (believed.rate > 0) row.rate = believed.rate;
    if (believed.model) state_.believe_model(believed.job, *believed.model);
  }
  return true;
}

bool Core::happened(const event::SizeOrdered& ordered) {
  if (!state_.jobs.contains(ordered.job)) return false;
  Job& job = state_.jobs[ordered.job];
  if (job.status == Status::over || job.ordered == ordered.size) return false;
  if (ordered.size != 0 &&
      !(sizes_while_running(job.spec.type) && state_.allows(job, ordered.size) &&
        state_.capabilities.resizes_per_job > 0)) {
    return false;
  }
  // An operator does not wait for what refusals have brought.
  if (std::exchange(job.refusals, 0) > 0) job.not_before = state_.now;
  if (job.claim != ClaimId::none && ordered.size != 0) state_.dissolve(job.claim);
  if (job.ordered == 0) state_.ordered.push_back(ordered.job);
  job.ordered = ordered.size;
  if (job.ordered == 0) std::erase(state_.ordered, ordered.job);
  return true;
}

bool Core::happened(const event::Altered& altered) {
  if (!state_.jobs.contains(altered.job)) return false;
  Job& job = state_.jobs[altered.job];
  if (job.status != Status::held && job.status != Status::pending) return false;
  JobSpec spec = job.spec;
  spec.priority = altered.priority;
  spec.walltime = altered.walltime;
  spec.preferred = altered.preferred;
  spec.account = altered.account.value_or(spec.account);
  if (altered.adaptive && job.adaptive == Job::kNoRow) return false;
  const std::optional<Nodes> most =
      altered.where ? nodes_for(state_, *altered.where) : std::optional(state_.nodes_of(spec.lane));
  if (!most) return false;
  spec.size = {std::max(altered.size.min, Nodes{1}), std::min(altered.size.max, *most)};
  const bool has_one_size = spec.size.min == spec.size.max;
  if (!spec.size.contains(spec.preferred)) return false;
  if (spec.type == JobType::rigid && !has_one_size) return false;
  if (altered.where) {
    const std::optional<LaneId> its = state_.join_lane(*altered.where);
    if (!its) return false;
    spec.lane = *its;
  }
  const LaneId lane = job.spec.lane;
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);
  if (job.status == Status::pending) state_.dequeue(altered.job, job);
  if (job.goes_on) job.work_left = state_.work_left_of(job, spec);
  job.spec = spec;
  state_.plan_start(altered.job, kNever);
  if (altered.adaptive) {
    Adaptive& row = state_.adaptive[job.adaptive];
    std::vector<TimeHad> had;
    if (job.goes_on) had = std::move(row.had);
    row = {*altered.adaptive};
    row.had = std::move(had);
    const double watts = altered.adaptive->watts_per_node;
    job.power_mw = milliwatts(watts > 0 ? watts : state_.platform.busy_w_with(spec.cores));
    job.power_class = 0;
    job.is_power_measured = false;
  }
  if (job.status == Status::pending) state_.enqueue(altered.job, job);
  if (altered.where) state_.leave_lane(lane);
  if (job.ordered != 0 && !state_.allows(job, job.ordered)) {
    job.ordered = 0;
    std::erase(state_.ordered, altered.job);
  }
  state_.must_wake = true;
  return true;
}

bool Core::happened(const event::MoveOrdered& ordered) {
  if (!state_.jobs.contains(ordered.job)) return false;
  Job& job = state_.jobs[ordered.job];
  const auto at = std::ranges::lower_bound(state_.moves, ordered.job, {}, &MoveOrder::job);
  const bool has_one = at != state_.moves.end() && at->job == ordered.job;
  if (ordered.off.empty()) {
    if (has_one) state_.moves.erase(at);
    return has_one;
  }
  if (job.status != Status::running || !state_.capabilities.moves || !state_.rules.identities ||
      ordered.off.parts.back().last >= state_.platform.nodes ||
      state_.can_leave(job, ordered.off).empty()) {
    return false;
  }
  // An operator does not wait for what refusals have brought.
  if (std::exchange(job.refusals, 0) > 0) job.not_before = state_.now;
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);
  if (has_one) {
    at->off = ordered.off;
  } else {
    state_.moves.insert(at, {ordered.job, ordered.off});
  }
  return true;
}

bool Core::happened(const event::Suspended& suspended) {
  if (!state_.jobs.contains(suspended.job)) return false;
  Job& job = state_.jobs[suspended.job];
  const Unanswered* const open = state_.find(suspended.answers);
  const bool ours = suspended.answers != DecisionId::none;
  if (!(ours ? answers(job, suspended.answers, Doing::stopping) &&
                   open->decision.kind == Decision::Kind::suspend
             : job.status == Status::running && job.doing == Doing::nothing)) {
    return false;
  }
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);
  drop_requests(suspended.job);
  // It cannot have stopped for this before it was decided.
  state_.keep_work(job, open ? std::min(suspended.paused, state_.now - open->decided) : Duration{});
  if (ours) state_.answer(suspended.answers);
  requeue(suspended.job, state_.now + kTick);
  state_.must_wake = true;
  return true;
}

bool Core::happened(const event::AtPoint& at_point) {
  return state_.jobs.contains(at_point.job) && state_.jobs[at_point.job].status == Status::running;
}

bool Core::happened(const event::ContentionLearned& learned) {
  if (learned.contention == state_.rules.contention) return false;
  for (const JobId id : state_.believe_contention(learned.contention)) {
    state_.unforeseen.push_back(id);
  }
  return true;
}

bool Core::happened(const event::StopOrdered& ordered) {
  if (!state_.jobs.contains(ordered.job)) return false;
  Job& job = state_.jobs[ordered.job];
  const auto at = std::ranges::lower_bound(state_.stops, ordered.job, {}, &StopOrder::job);
  const bool has_one = at != state_.stops.end() && at->job == ordered.job;
  if (!ordered.how) {
    if (has_one) state_.stops.erase(at);
    return has_one;
  }
  if (job.status != Status::running || !state_.world_can_stop(job, *ordered.how)) return false;
  if (has_one && at->how == *ordered.how) return false;
  // An operator does not wait for what refusals have brought.
  if (std::exchange(job.refusals, 0) > 0) job.not_before = state_.now;
  if (job.claim != ClaimId::none) state_.dissolve(job.claim);
  if (has_one) {
    at->how = *ordered.how;
  } else {
    state_.stops.insert(at, {ordered.job, *ordered.how});
  }
  return true;
}

bool Core::happened(const event::Booked& booked) {
  const Booking& next = booked.booking;
  const bool is_known = state_.find(next.id) != nullptr;
  if (next.id != BookingId::none && !is_known) return false;
  if (next.to <= state_.now) {
    if (!is_known) return false;
  } else if (!can_book(state_, next)) {
    return false;
  }
  state_.book(next);
  state_.must_wake = true;
  return true;
}

bool Core::happened(const event::ConfigChanged& changed) {
  if (!meets(state_.capabilities, changed.traits.needs)) return false;
  if (!is_news(changed, state_)) return true;  // it goes on
  if (changed.traits != state_.traits) {       // what was planned was the plan of another policy
    while (!state_.reserving.empty()) state_.plan_start(state_.reserving.back(), kNever);
  }
  state_.traits = changed.traits;
  state_.resort();
  state_.must_wake = true;
  return true;
}

bool Core::happened(const event::TimerFired&) const {
  return next_wake() <= state_.now;  // the close sees to it
}

bool Core::happened(const event::MachineChanged& changed) {
  const bool is_same =
      changed.platform == state_.platform && changed.capabilities == state_.capabilities;
  if (is_same || changed.platform.nodes < state_.platform.nodes) return false;
  if (!is_sound(changed.platform)) return false;
  if (!has_room_for_shared(changed.platform)) return false;
  if (!state_.rules.identities && !CellTable(changed.platform, {}).is_one()) return false;
  state_.change_machine(changed.platform, changed.capabilities);
  state_.must_wake = true;
  return true;
}

// What belongs to one run begins anew; what belongs to the job (restarts, use, reservations) stays.
void Core::requeue(JobId id, Time not_before) {
  Job& job = state_.jobs[id];
  const bool is_held = state_.is_to_be_suspended(id);
  state_.vacate(id);
  job.status = is_held ? Status::held : Status::pending;
  job.not_before = std::max(not_before, state_.now + kTick);
  job.started = job.limit = {};
  job.expands = job.shrinks = job.refusals = 0;
  job.gain = 0;
  job.tag = JobId::none;
  if (job.adaptive != Job::kNoRow) state_.adaptive[job.adaptive].mtct = 0;
  // While it was to start it may have been believed to be nearly done.
  if (job.goes_on) job.work_left = std::max(job.work_left, least_work(job.spec));
  if (!is_held) state_.enqueue(id, job);
  state_.retry(job.not_before);
}

/// What it holds no more and others do is theirs.
void Core::give_up_shared(JobId id, Holding& lost) {
  if (state_.sharers.empty()) return;
  lost.nodes = state_.give_up(id, lost.nodes);
  lost.count = lost.nodes.count();
}

/// It has other parts, as the world says: nobody may have more than there is, and claims what there
/// is no more.
void Core::check_shared(const Job& job) {
  if (state_.sharers.empty()) return;
  if (state_.is_over(state_.shared_of(job))) {
    throw std::logic_error("the world gave a job cores that others hold");
  }
  state_.drop_lost_inside();
}

/// Nodes of which somebody has a part have no less on another machine.
bool Core::has_room_for_shared(const Platform& machine) const {
  NodeSet nodes;
  for (const JobId id : state_.parted) nodes.insert(nodes_in(state_.jobs[id].holding.parts));
  for (const Claim& claim : state_.claims) nodes.insert(nodes_in(claim.inside));
  for (const Unanswered& open : state_.unanswered) {
    nodes.insert(nodes_in(open.before.parts));
    nodes.insert(nodes_in(open.decision.after.parts));
  }
  if (nodes.empty()) return true;
  const CellTable cells(machine, {});
  bool has_room = true;
  for_each_node(nodes, [&](std::uint32_t node) {
    has_room &= whole_of(machine, cells, node).covers(state_.whole(node));
  });
  return has_room;
}

void Core::drop_requests(JobId id) {
  if (state_.requests.empty()) return;
  std::erase_if(state_.requests, [&](const Request& request) { return request.job == id; });
}

// --- Closing an instant
// ------------------------------------------------------------------------------

std::span<const Decision> Core::close(Time now, FunctionRef<void(Pass&)> write,
                                      std::optional<bool> asks) {
  begin_close(now);
  const bool wakes = (state_.must_wake || (state_.woken & traits().wakes) != 0) &&
                     meets(state_.capabilities, traits().needs);
  state_.must_wake = false;
  state_.was_asked = asks.value_or(wakes);
  if (state_.was_asked) {
    ++state_.passes;
    if (changes_with_time(traits().order) &&
        state_.now >= later(state_.sorting.at, traits().priority_period)) {
      state_.refresh_order();
    }
    state_.reserved.clear();
    Pass pass(state_);
    write(pass);
    state_.woken = 0;
  }
  if (!state_.unanswered.empty()) {
    for (const Decision& decision : state_.decisions) {
      if (!decision.answered()) continue;
      if (Unanswered* open = state_.find(decision.id)) open->decision = decision;
    }
  }
  if (state_.rules.node_off_after > Duration{}) state_.note_idle();
  state_.pass_first = state_.next_decision;
  state_.handed_out = true;
  if (state_.rules.check) check_invariants_in_turn(state_);
  return state_.decisions;
}

std::span<const Decision> follow(Core& core, Time now, bool asked, std::span<const PenCall> calls) {
  if (!asked && !calls.empty()) {
    throw std::logic_error("recorded pen calls of a policy that was not asked");
  }
  const auto write = [&](Pass& pass) {
    for (const PenCall& call : calls) {
      if (!pass.call(call)) throw std::logic_error("a recorded pen call is not possible");
    }
  };
  return core.close(now, write, asked);
}

void Core::begin_close(Time now) {
  state_.begin_instant();
  state_.now = std::max(state_.now, now);
  if (!state_.bookings.empty()) state_.turn_bookings();
  if (!state_.claims.empty()) settle_claims();
  if (!state_.parted.empty()) give_spare_cores();
  for (const JobId id : std::exchange(state_.unforeseen, {})) {
    if (state_.jobs.contains(id) && state_.runs(id)) state_.foresee(id);
  }
  if (!state_.stops.empty()) carry_out_stops();
  if (!state_.ordered.empty()) carry_out_orders();
  if (!state_.moves.empty()) carry_out_moves();
  if (!state_.leaving.empty()) leave_draining_nodes();
  if (state_.timer <= state_.now) {
    state_.timer = kNever;
    state_.must_wake = true;
    ++state_.changes;
  }
  while (!state_.retries.empty() && state_.retries.front() <= state_.now) {
    state_.retries.erase(state_.retries.begin());
    state_.must_wake = true;
    ++state_.changes;
  }
  state_.pass_first = state_.next_decision;
  if (!state_.requests.empty() && requests_wake()) state_.must_wake = true;
}

// Requests that no pass has shown: those of jobs that were busy until an answer came, and, of a
// policy that does not answer requests itself, new ones: `Policy` does that before its pass.
bool Core::requests_wake() {
  EventKinds kinds = kind_of<event::Started>() | kind_of<event::Resized>();
  if (!traits().answers_requests) kinds |= kind_of<event::EvolvingRequested>();
  if ((state_.woken & kinds) == 0) return false;
  bool any = false;
  for (const Request& request : state_.requests) {
    if (!state_.is_visible(request)) continue;
    const Time not_before = state_.jobs[request.job].not_before;
    any |= not_before <= state_.now;
    state_.retry(not_before);
  }
  return any;
}

void Core::settle_claims() {
  do {
    for (std::size_t i = 0; i < state_.claims.size();) {
      Claim& claim = state_.claims[i];
      const std::size_t of_group = claim.group == ClaimId::none ? i : 0;  // others may go as well
      if (claim.held.count + claim.inside_count() + claim.pledged() < claim.add.min) {
        state_.dissolve(claim.id);
        i = of_group;
      } else if (state_.is_due(claim)) {
        carry_out(claim.id);
        i = of_group;
      } else {
        ++i;
      }
    }
  } while (state_.rules.claims_take_idle && std::exchange(state_.idle_grew, false) &&
           state_.feed_claims());
}

namespace {

// At which size a claim starts its job, of all that it gets: what was added to the claim later is
// an expansion in the pass that starts it.
Nodes first_size(const Claim& start, Nodes size) {
  return std::min(size, start.add.max - start.grown);
}

}  // namespace

Nodes Core::due_size(const Claim& due, std::int64_t taken_mw) const {
  const Job& job = state_.jobs[due.job];
  // The world may be another one than when the claim was made.
  if (!due.start && !state_.world_can_resize(job)) return 0;
  const Nodes base = due.start ? 0 : job.holding.count;
  const Nodes most = base + std::min(due.held.count + due.inside_count(), due.add.max);
  const Time end = state_.believed_end(job);
  const Nodes size = state_.largest(job, most, base, due.request,
                                    due.held_mw - taken_mw - state_.booked_power_mw(end));
  if (size < base + due.add.min) return 0;
  // It may have waited so long that it would run into what was booked. A start that grows has the
  // limit of its first size, where limits are fixed.
  const NodeSet nodes = united(due.held.nodes, nodes_in(due.inside));
  const Nodes first = due.start ? first_size(due, size) : size;
  const Time latest = std::max(state_.end_at(job, size), state_.end_at(job, first));
  if (state_.runs_into_booking(job, nodes, latest)) return 0;
  return size;
}

// Power for the least of each comes first, then in order up to the most. What one holds too much
// fills what is lacking, and goes to no other.
std::vector<Nodes> Core::due_sizes(std::span<const Claim> group) const {
  const auto least_mw = [&](const Claim& claim) {
    const Job& job = state_.jobs[claim.job];
    const Nodes base = claim.start ? 0 : job.holding.count;
    const Nodes least = state_.least_usable(job, base + claim.add.min, base, claim.request) - base;
    return std::max<std::int64_t>(state_.budgeted_mw(job, least) - claim.held_mw, 0);
  };
  const bool is_bound = state_.budget_mw != State::kNoBudget;
  const std::int64_t free_mw = is_bound ? state_.free_power_mw() : 0;
  std::int64_t left_mw = free_mw, later_mw = 0;
  for (const Claim& claim : group) later_mw += least_mw(claim);
  std::vector<Nodes> sizes;
  for (const Claim& claim : group) {
    later_mw -= least_mw(claim);
    const Nodes size = due_size(claim, free_mw - left_mw + later_mw);
    if (size == 0) return {};
    sizes.push_back(size);
    const Job& job = state_.jobs[claim.job];
    const Nodes more = size - (claim.start ? 0 : job.holding.count);
    const std::int64_t after_mw = left_mw + claim.held_mw - state_.budgeted_mw(job, more);
    left_mw = std::min(after_mw, std::max<std::int64_t>(left_mw, 0));
  }
  return sizes;
}

void Core::carry_out(ClaimId id) {
  Claim& due = *state_.find(id);
  if (due.group == ClaimId::none) {
    const Nodes size = due_size(due, 0);
    if (size == 0) return state_.dissolve(id);
    return carry_out(id, size);
  }
  const std::span<const Claim> group = state_.group_of(due);
  const std::vector<Nodes> sizes = due_sizes(group);
  if (sizes.empty()) return state_.dissolve(id);
  std::vector<ClaimId> ids;
  for (const Claim& claim : group) ids.push_back(claim.id);
  for (std::size_t i = 0; i < ids.size(); ++i) carry_out(ids[i], sizes[i]);
}

void Core::carry_out(ClaimId id, Nodes size) {
  Claim& due = *state_.find(id);
  Job& job = state_.jobs[due.job];
  const Nodes base = due.start ? 0 : job.holding.count;
  if (const Nodes inside = due.inside_count(); inside > size) {
    state_.forget_inside(due, nodes_in(due.inside).take_highest(inside - size));
  }
  state_.unlist(due);
  Claim claim = std::move(due);
  state_.remove_claim(id);
  state_.claimed -= claim.held.count;
  state_.claimed_mw -= claim.held_mw;
  state_.power_grew();  // what it holds too much
  job.claim = ClaimId::none;
  const auto take = [&](Nodes count) {
    claim.held.count -= count;
    if (!state_.cells.is_one()) {
      return Holding{count, pick(state_.cells, state_.placer, claim.held.nodes, kEveryCell, count)};
    }
    if (!state_.rules.identities) return Holding{count, {}};
    const NodeSet& has = state_.jobs[claim.job].holding.nodes;
    return Holding{count, state_.placer.take(claim.held.nodes, count, has)};
  };
  if (claim.start) {
    const Nodes first = first_size(claim, size);
    const NodeSet inside = nodes_in(claim.inside);
    Holding nodes = take(first - inside.count());
    nodes.count += inside.count();
    nodes.nodes.insert(inside);
    nodes.parts = std::move(claim.inside);
    const bool is_guest = !nodes.parts.empty();
    state_.start(claim.job, std::move(nodes), claim.reason);
    if (is_guest) state_.foresee(claim.job);
    if (size > first) state_.grow(claim.job, take(size - first), claim.reason);
    // Those whom the policy let wait behind it.
    state_.must_wake |= claim.made < state_.now && state_.idle.count() > 0;
  } else {
    state_.grow(claim.job, take(size - base), claim.reason, claim.request);
    std::erase_if(state_.requests, [&](const Request& r) { return r.id == claim.request; });
  }
  if (claim.held.count > 0) {
    state_.free_nodes(claim.held);
    state_.must_wake = true;
  }
}

/// The spare rule: what nobody holds of a shared node, or is promised, goes to its holders, the
/// first one first. Nobody gets what one before him is to have, who is busy.
void Core::give_spare_cores() {
  if (state_.spare_nodes.empty()) return;
  const NodeSet where = std::exchange(state_.spare_nodes, {});
  std::vector<JobId> jobs = state_.parted, changed;
  std::erase_if(jobs, [&](JobId id) { return !state_.jobs[id].holding.nodes.intersects(where); });
  std::ranges::sort(jobs, {}, [&](JobId id) { return std::pair(state_.jobs[id].started, id); });
  NodeSet given;
  for (const JobId id : jobs) {
    const Job& job = state_.jobs[id];
    const NodeSet its = intersection(nodes_in(job.holding.parts), where);
    const std::vector<Part> spare = state_.spare(difference(its, given));
    if (spare.empty()) continue;
    given.insert(nodes_in(spare));
    if (!state_.can_be_given_cores(job)) {
      state_.note_spare(spare);
      state_.retry(job.not_before);
      continue;
    }
    std::vector<Part> parts = job.holding.parts;
    for (const Part& more : spare) {
      for_each_node(more.nodes, [&](std::uint32_t node) {
        const NodeSet one{{{node, node}}};
        const Slice has = plus(*find(job.holding.parts, node), more.has);
        erase(parts, one);
        if (!(has == state_.whole(node))) put(parts, one, has);
      });
    }
    state_.change_cores(id, std::move(parts), true, {Why::guest});
    changed.push_back(id);
  }
  for (const JobId id : changed) state_.foresee(id);
}

void Core::carry_out_orders() {
  state_.pass_first = state_.next_decision;
  for (const JobId id : state_.ordered) {
    Job& job = state_.jobs[id];
    if (job.status != Status::running || job.doing != Doing::nothing) continue;
    if (job.target == job.ordered || !state_.world_can_resize(job)) continue;
    if (!state_.is_alone(job)) continue;
    if (state_.now < job.not_before) {
      state_.retry(job.not_before);
    } else if (job.ordered < job.target) {
      state_.shrink(id, job.ordered, {Why::ordered});
    } else if (const Nodes more = job.ordered - job.target;
               more <= state_.idle_for(job) && state_.fits_power(job, more)) {
      state_.grow(id, state_.take_idle(job, more), {Why::ordered});
    }
  }
}

/// An order is done when its job leaves its nodes, however that comes.
void Core::carry_out_stops() {
  state_.pass_first = state_.next_decision;
  for (const StopOrder& order : state_.stops) {
    const Job& job = state_.jobs[order.job];  // which runs
    if (job.doing != Doing::nothing || !state_.world_can_stop(job, order.how)) continue;
    if (state_.now < job.not_before) {
      state_.retry(job.not_before);
    } else {
      state_.stop(order.job, order.how, {Why::ordered});
    }
  }
}

/// An order is done when the job holds none of those nodes that it can leave.
void Core::carry_out_moves() {
  std::erase_if(state_.moves, [&](const MoveOrder& order) {
    const Job& job = state_.jobs[order.job];  // which runs
    if (job.doing != Doing::nothing) return false;
    if (state_.can_leave(job, order.off).empty()) return true;
    const State::Way way = state_.way_off(job, order.off, false);
    if (way.size != 0) {
      state_.leave(order.job, order.off, way, {Why::ordered});
    } else {
      state_.retry(job.not_before);
    }
    return false;
  });
}

/// Jobs whose size can change leave the nodes that drain or are booked: for others, or else they
/// are smaller. One that could not leave all of them would only be slower: it waits for idle nodes.
void Core::leave_draining_nodes() {
  std::vector<JobId> jobs = std::exchange(state_.leaving, {});
  std::ranges::sort(jobs, {}, [&](JobId id) { return state_.jobs[id].running_at; });
  for (const JobId id : jobs) {
    Job& job = state_.jobs[id];
    job.leaves = false;
    if (job.doing != Doing::nothing) continue;  // its answer brings it back
    if (!state_.is_alone(job)) {                // until then it is looked at at each close
      job.leaves = true;
      state_.leaving.push_back(id);
      continue;
    }
    const NodeSet off = state_.to_leave(job, state_.draining);
    const State::Way way = state_.way_off(job, off, state_.resizable(id));
    if (way.size != 0) {
      const bool drains = job.holding.nodes.intersects(state_.draining);
      state_.leave(id, off, way, {drains ? Why::draining : Why::booked});
    } else if (state_.may_leave(job, off)) {
      job.leaves = true;
      state_.leaving.push_back(id);
      state_.retry(job.not_before);
    }
  }
}

Time Core::next_wake() const {
  Time next = state_.timer;
  if (!state_.retries.empty()) next = std::min(next, state_.retries.front());
  for (const Booking& each : state_.bookings) next = std::min(next, each.turns());
  return next;
}

std::vector<Decision> Core::unanswered() const {
  std::vector<Decision> open;
  open.reserve(state_.unanswered.size());
  for (const Unanswered& u : state_.unanswered) open.push_back(u.decision);
  return open;
}

}  // namespace ductile
