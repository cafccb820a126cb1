#include "scheduling/pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "scheduling/invariants.hpp"
#include "scheduling/place.hpp"

namespace ductile {

// Where the nodes of a start or an expansion come from, and their power, if there is a budget.
struct Pass::Plan {
  struct Promise {
    JobId victim;
    Nodes count;
    std::int64_t power_mw;
    NodeSet nodes{};  // which ones, where there are several cells
  };
  Nodes from_idle = 0;
  NodeSet idle{};  // likewise
  std::int64_t from_free_mw = 0;
  std::vector<Promise> promises;
  Nodes total = 0;
};

// What there is to take from, once those who are cut have answered.
struct Pass::Supply {
  Nodes nodes = 0;            // all together
  std::int64_t power_mw = 0;  // likewise; may be negative
  Nodes idle = 0;
  NodeSet idle_nodes{};  // which ones, where there are several cells
  std::int64_t free_mw = 0;
  std::vector<Plan::Promise> others;  // who could give how much
  std::size_t cuts = 0;               // so many of them are cut for this
  // So many of the first have given all their nodes, and all their power.
  std::size_t gave_nodes = 0, gave_mw = 0;
};

// One job of several that get nodes together.
struct Pass::Member {
  JobId job = JobId::none;
  bool start = false;
  Nodes base = 0;  // its size before
  SizeRange add;
  RequestId request = RequestId::none;
  const Spread* in = nullptr;
  Nodes least = 0;  // that its application can use
  Plan plan{};
  Cells where = 0;  // its nodes may be
  std::int64_t booked_mw = 0;
};

namespace {

// How many nodes that are promised to nobody, where nobody tells nodes apart.
Nodes count_given(const State& state, const Cut& cut) {
  const Job& victim = state.jobs[cut.victim];
  const Unanswered* open = state.in_pass(victim) ? state.find(victim.decision) : nullptr;
  const Nodes releases = state.healthy(victim.holding) - state.healthy(state.kept(victim, cut.to));
  return releases - (open ? open->pledged : 0);
}

// No cells said: any.
const Spread* named(const Spread* in) { return in && !in->empty() ? in : nullptr; }

}  // namespace

// --- The view
// ----------------------------------------------------------------------------------------

bool Pass::any_resizing() const {
  return std::ranges::any_of(state_.unanswered, [](const Unanswered& u) {
    return u.decision.kind == Decision::Kind::resize;
  });
}

Nodes Pass::booting() const {
  Nodes count = 0;
  for (const Boot& boot : state_.boots) count += boot.nodes.count();
  return count;
}

namespace {

/// The most of these nodes, in the order in which `take` gives so many of them, that draw no more
/// above what they draw when they are off than this.
template <class Take>
Nodes most_within(const State& state, Nodes most, std::int64_t power_mw, const Take& take) {
  Nodes fit = 0;
  for (Nodes least = 1; least <= most;) {
    const Nodes n = least + (most - least) / 2;
    const NodeSet nodes = take(n);
    const std::int64_t its =
        idle_draw_mw(state, state.cells, {n, nodes}) - off_draw_mw(state, state.cells, nodes);
    if (its <= power_mw) {
      fit = n;
      least = n + 1;
    } else {
      most = n - 1;
    }
  }
  return fit;
}

}  // namespace

Nodes Pass::can_go_off(Nodes n) const {
  if (corridor_low_mw() == 0) return n;
  if (any_resizing()) return 0;
  const NodeSet all = state_.idle.nodes();
  const auto highest = [&](Nodes count) {
    NodeSet left = all;
    return left.take_highest(count);
  };
  return most_within(state_, std::min(n, idle()), power_mw() - corridor_low_mw(), highest);
}

Nodes Pass::needed_on() const {
  const std::int64_t lacks_mw = corridor_low_mw() - power_mw();
  if (lacks_mw <= 0 || off() == 0 || any_resizing()) return 0;
  const NodeSet all = switched_off();
  const auto lowest = [&](Nodes count) {
    NodeSet left = all;
    return left.take_lowest(count);
  };
  return std::min(most_within(state_, off(), lacks_mw - 1, lowest) + 1, off());
}

NodeSet Pass::switched_off() const {
  NodeSet there = state_.switched_off;
  for (const Boot& boot : state_.boots) there.erase(boot.nodes);
  return there;
}

Nodes Pass::off() const { return state_.switched_off.count() - booting(); }

Demand Pass::incoming_now() const {
  Demand sum;
  for (const Unanswered& u : state_.unanswered) {
    if (u.decided != now() || u.expected != now()) continue;
    sum.nodes += u.releases - u.pledged;
    sum.power_mw += u.releases_mw - u.pledged_mw;
  }
  return sum;
}

Spread Pass::incoming_by_cell(bool now_only) const {
  Spread sum;
  for (const Unanswered& u : state_.unanswered) {
    if (u.releases == u.pledged) continue;
    if (now_only && (u.decided != now() || u.expected != now())) continue;
    if (state_.cells.is_one()) {
      sum.add(0, u.releases - u.pledged);
    } else {
      sum.add(state_.cells.spread(state_.unpromised(u)));
    }
  }
  return sum;
}

Nodes Pass::incoming(JobId id) const {
  if (state_.cells.is_one()) return cells_of(id) == 0 ? 0 : incoming();
  Nodes sum = 0;
  for (const Unanswered& u : state_.unanswered) {
    if (u.releases == u.pledged) continue;
    sum += state_.open(job(id), state_.unpromised(u)).count();
  }
  return sum;
}

std::vector<Request> Pass::requests() const {
  std::vector<Request> visible;
  std::ranges::copy_if(state_.requests, std::back_inserter(visible),
                       [&](const Request& request) { return state_.is_visible(request); });
  return visible;
}

FitSearch Pass::fits_behind(std::span<const std::optional<JobId>> behind) const {
  std::vector<Cells> cells;
  std::vector<std::uint32_t> bookings;
  cells.reserve(behind.size());
  bookings.reserve(behind.size());
  for (std::size_t lane = 0; lane < behind.size(); ++lane) {
    const ReachId id{static_cast<std::uint16_t>(lane)};
    cells.push_back(cells_of(id));
    bookings.push_back(state_.cells.booking_of(id));
  }
  return FitSearch(state_.queue, state_.jobs, behind, cells, bookings);
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
  return its.status == Status::pending && its.claim == ClaimId::none && now() >= its.not_before &&
         !state_.awaits_booking(its);
}

bool Pass::fits(JobId id, Nodes n) const {
  const Job& its = job(id);
  return startable(id) && n <= idle(its, end_at(its, exactly(n)), nullptr) &&
         state_.fits_power(its, n);
}

bool Pass::cut_in_pass(const Job& its) const {
  // Who moves off nodes that he shares keeps their number.
  return state_.in_pass(its) && its.doing == Doing::resizing && its.target < its.holding.count &&
         its.holding.parts.empty();
}

bool Pass::grown_in_pass(const Job& its) const {
  if (!state_.in_pass(its) || its.claim != ClaimId::none || its.target != its.holding.count) {
    return false;
  }
  if (!its.holding.parts.empty()) return false;  // who shares nodes keeps their number
  // So does who is to have other cores.
  return its.doing != Doing::resizing || state_.find(its.decision)->before.count < its.target;
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
  const bool is_alone = claim && claim->group == ClaimId::none && claim->inside.empty();
  return is_alone && claim->start && claim->pass == state_.passes ? claim : nullptr;
}

Nodes Pass::extra(JobId id) const {
  const Job& its = job(id);
  if (its.target == 0 || !sizes_while_running(its.spec.type)) return 0;
  if (its.ordered != 0 || !state_.world_can_resize(its)) return 0;
  if (its.status == Status::running && !state_.is_alone(its)) return 0;
  const Nodes least = smallest(id);
  if (its.status != Status::running) return its.target > least ? its.target - least : 0;
  // A shrink gives up nodes that are not up first.
  const Nodes sick = its.holding.count - state_.healthy(its.holding);
  const Nodes given = its.holding.count - its.target;
  const Nodes kept = least + (sick > given ? sick - given : 0);
  return its.target > kept ? its.target - kept : 0;
}

Nodes Pass::extra(JobId id, JobId beneficiary) const {
  const Nodes all = extra(id);
  const Job& its = job(id);
  const Job& other = job(beneficiary);
  if (all == 0) return 0;
  if (state_.cells.is_one()) return cells_of(beneficiary) == 0 ? 0 : all;
  NodeSet nodes = difference(its.holding.nodes, state_.not_up);
  if (its.status == Status::running) {
    if (its.keep != Job::kNoKeep) nodes.erase(NodeSet{{{its.keep, its.keep}}});
    if (its.doing == Doing::resizing && its.target < its.holding.count) {
      nodes.erase(State::given(*state_.find(its.decision)));
    }
  } else if (const Claim* claim = state_.find(its.claim)) {
    nodes = claim->held.nodes;
    for (const Pledge& pledge : claim->pledges) nodes.insert(pledge.nodes);
  }
  return std::min(all, state_.open(other, nodes).count());
}

// In the order of State::kept; with several cells.
NodeSet Pass::nodes_given(const Cut& cut, JobId beneficiary) const {
  const Job& victim = job(cut.victim);
  const Holding kept = state_.kept(victim, cut.to, beneficiary);
  NodeSet nodes = difference(difference(victim.holding.nodes, kept.nodes), state_.not_up);
  const Unanswered* open = state_.in_pass(victim) ? state_.find(victim.decision) : nullptr;
  if (open) nodes.erase(open->promised);
  return nodes;
}

Nodes Pass::gives(const Cut& cut, JobId beneficiary) const {
  if (!can_cut(cut) || cells_of(beneficiary) == 0) return 0;
  if (!state_.cells.is_one()) {
    return state_.open(job(beneficiary), nodes_given(cut, beneficiary)).count();
  }
  return count_given(state_, cut);
}

Spread Pass::gives_by_cell(const Cut& cut, JobId beneficiary) const {
  return state_.cells.spread(nodes_given(cut, beneficiary));
}

Spread Pass::extra_by_cell(JobId id) const {
  const Nodes more = extra(id);
  const Job& its = job(id);
  Spread found;
  if (more == 0) return found;
  if (its.status == Status::running) {
    NodeSet gives = nodes_given({id, its.target - more}, JobId::none);
    const bool shrinks = its.doing == Doing::resizing && its.target < its.holding.count;
    if (shrinks) gives.erase(State::given(*state_.find(its.decision)));
    return state_.cells.spread(gives);
  }
  // A start that waits: what it is promised, those first that it would keep last.
  const Claim* const claim = state_.find(its.claim);
  NodeSet nodes = claim->held.nodes;
  for (const Pledge& pledge : claim->pledges) nodes.insert(pledge.nodes);
  return state_.cells.spread(nodes.take_highest(std::min(more, nodes.count())));
}

Time Pass::expected_end(JobId id) const {
  const Job& its = job(id);
  const bool comes = its.status != Status::running && its.claim != ClaimId::none;
  return comes ? state_.find(its.claim)->release : state_.expected_end(its);
}

Time Pass::expected_end(JobId id, Nodes n) const {
  const Job& its = job(id);
  if (its.spec.type == JobType::rigid) return state_.expected_end(its);
  return later(now(), state_.time_left(its, state_.work_left(its), n));
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
  if (starts && !waits) return later(now(), state_.estimate_held(its, to));
  const AdaptiveSpec* spec = state_.adaptive_spec(its);
  const Nodes before = state_.settled(its).count;
  const Work work = state_.work_left(its);
  const auto left_at = [&](Nodes n) { return state_.time_left(its, work, n); };
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
  const Work whole = its.spec.work_of(its.spec.walltime);
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

Timeline Pass::timeline(bool with_releases) const {
  Timeline plan = timeline_of_releases(with_releases);
  if (has_bookings()) book(plan, with_releases);
  return plan;
}

Timeline Pass::timeline_of_releases(bool with_releases) const {
  std::optional<Profile> power;
  if (state_.budget_mw != State::kNoBudget) {
    power.emplace(state_.power_releases, state_.free_power_mw(), now());
  }
  const auto expected = [&](const Releases& releases) -> const Releases& {
    return with_releases ? releases : Releases::none();
  };
  if (plans_together()) {
    return Timeline(expected(state_.releases), idle(), std::move(power), now());
  }
  std::vector<Profile> cells;
  cells.reserve(cell_count());
  for (std::uint32_t cell = 0; cell < cell_count(); ++cell) {
    cells.emplace_back(expected(releases_of(cell)), idle_of(cell), now());
  }
  return Timeline(std::move(cells), cells_in_order(), with_releases ? &state_.releases : nullptr,
                  std::move(power), now());
}

// What is booked is not there for others, and for its own jobs up to its end.
void Pass::book(Timeline& plan, bool with_releases) const {
  for (std::uint32_t i = 0; i < state_.bookings.size(); ++i) {
    const Booking& its = state_.bookings[i];
    Spread nodes;
    if (!plans_together()) {
      for_each_cell(state_.cells.booked(i),
                    [&](std::uint32_t cell) { nodes.add(cell, state_.cells[cell].count); });
    }
    plan.add(its.from, its.to, nodes, -1, -its.power_mw);
    if (plans_together()) continue;
    std::vector<Profile> own;
    if (its.for_jobs && its.has_begun) {
      for (std::uint32_t cell = 0; cell < cell_count(); ++cell) {
        const Releases& releases = with_releases ? releases_of(cell) : Releases::none();
        own.emplace_back(releases, idle_of(cell), now());
        own.back().add(its.until(now()), kNever, -std::int64_t{state_.cells[cell].count});
      }
    }
    plan.book(i + 1, std::move(own));
  }
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
  if (!knows(cut.victim) || cut.each) return false;
  const Job& victim = job(cut.victim);
  if (victim.status != Status::running) return false;
  const bool again = cut_in_pass(victim);
  if (!again && !resizable(cut.victim)) return false;
  // A shrink of this pass may be named again as it is: its surplus, or a barrier.
  if (again && cut.to == victim.target) return true;
  return cut.to < victim.target && sizes_while_running(victim.spec.type) &&
         state_.allows(victim, cut.to);
}

namespace {

// Above that of an idle node: of the cheapest and of the dearest class that a job may use which
// draws between these.
Pass::NodePower above_idle(const State& state, const Job& job, std::int64_t least_mw,
                           std::uint32_t most_mw, std::uint8_t power_class) {
  Job its;  // without what it holds
  its.spec.lane = job.spec.lane;
  its.spec.cores = job.spec.cores;
  its.power_class = power_class;
  its.step = job.step;
  its.power_mw = most_mw;
  const std::int64_t most = state.extra_power_mw(its, 1);
  its.power_mw = static_cast<std::uint32_t>(least_mw);
  return {std::min(state.least_extra_power_mw(its), most), most};
}

}  // namespace

Pass::NodePower Pass::node_power(JobId id) const {
  const Job& its = job(id);
  return above_idle(state_, its, state_.least_power_mw(its), its.power_mw, its.power_class);
}

Pass::NodePower Pass::said_power(JobId id) const {
  const Job& its = job(id);
  const AdaptiveSpec* const spec = state_.adaptive_spec(its);
  const bool is_said = spec != nullptr && spec->watts_per_node > 0;
  const double most_w = is_said ? spec->watts_per_node : platform().busy_w_with(its.spec.cores);
  const bool is_range = is_said && spec->least_watts_per_node > 0;
  const double least_w = is_range ? spec->least_watts_per_node : most_w;
  return above_idle(state_, its, milliwatts(least_w), milliwatts(most_w), 0);
}

std::int64_t Pass::gives_mw(const Cut& cut, JobId beneficiary) const {
  if (state_.budget_mw == State::kNoBudget) return 0;
  const Job& victim = job(cut.victim);
  const Unanswered* open = state_.in_pass(victim) ? state_.find(victim.decision) : nullptr;
  const std::int64_t power_mw =
      state_.has_classes() ? state_.drawn_mw(victim, victim.holding) -
                                 state_.drawn_mw(victim, state_.kept(victim, cut.to, beneficiary))
                           : state_.budgeted_mw(victim, victim.holding.count - cut.to);
  return power_mw - (open ? open->pledged_mw : 0);
}

std::int64_t Pass::lacks_mw(JobId id, Nodes n) const {
  if (state_.budget_mw == State::kNoBudget || id == JobId::none || n == 0) return 0;
  const Job& its = job(id);
  const Nodes size = its.status == Status::running ? its.size() + n : n;
  std::int64_t there_mw = state_.free_power_mw();
  if (has_bookings()) there_mw -= state_.booked_power_mw(end_at(its, exactly(size)));
  for (const Unanswered& open : state_.unanswered) {
    if (open.decision.job != id) there_mw += open.releases_mw - open.pledged_mw;
  }
  const std::int64_t need_mw = state_.budgeted_mw(its, n);
  return need_mw == 0 ? 0 : std::max<std::int64_t>(need_mw - there_mw, 0);
}

std::optional<Pass::Supply> Pass::supply(std::span<const JobId> spared,
                                         const Sources& sources) const {
  Supply from{.nodes = idle(), .power_mw = state_.free_power_mw()};
  if (!state_.cells.is_one()) from.idle_nodes = state_.idle.nodes();
  from.idle = from.nodes;
  from.free_mw = from.power_mw;
  // Nobody is named twice.
  std::vector<JobId> named(spared.begin(), spared.end());
  for (const Cut& cut : sources.cuts) named.push_back(cut.victim);
  std::ranges::sort(named);
  if (std::ranges::adjacent_find(named) != named.end()) return std::nullopt;
  for (const Cut& cut : sources.cuts) {
    if (!can_cut(cut)) return std::nullopt;
    from.others.push_back({cut.victim, 0, gives_mw(cut, spared[0])});
    Plan::Promise& gives = from.others.back();
    if (state_.cells.is_one()) {
      gives.count = count_given(state_, cut);
    } else {
      gives.nodes = nodes_given(cut, spared[0]);
      gives.count = gives.nodes.count();
    }
  }
  from.cuts = from.others.size();
  if (sources.incoming) {
    for (const Unanswered& open : state_.unanswered) {
      const JobId victim = open.decision.job;
      const bool gives = open.releases > open.pledged || open.releases_mw > open.pledged_mw;
      if (!gives || std::ranges::binary_search(named, victim)) continue;
      from.others.push_back(
          {victim, open.releases - open.pledged, open.releases_mw - open.pledged_mw});
      if (!state_.cells.is_one()) from.others.back().nodes = state_.unpromised(open);
    }
  }
  for (const Plan::Promise& each : from.others) {
    from.nodes += each.count;
    from.power_mw += each.power_mw;
  }
  return from;
}

Nodes Pass::available(const Supply& from, Cells where, const Spread* in) const {
  if (state_.cells.is_one()) return where == 0 ? 0 : from.nodes;
  NodeSet idle = from.idle_nodes;
  // How many there are is not for a placement to say.
  Nodes sum = pick(state_.cells, Placer(), idle, where, from.idle, in).count();
  const NodeSet usable = state_.cells.nodes(where);
  for (const Plan::Promise& other : from.others) sum += intersection(other.nodes, usable).count();
  return sum;
}

void Pass::draw(Supply& from, JobId id, Cells where, Nodes n, bool waits_for_cuts, Plan& plan,
                const Spread* in) const {
  const bool by_name = !state_.cells.is_one();
  std::int64_t missing_mw = state_.budgeted_mw(job(id), n);
  from.nodes -= n;
  from.power_mw -= missing_mw;
  Nodes from_idle = std::min(n, from.idle);
  if (by_name) {
    const NodeSet taken = pick(state_.cells, state_.placer, from.idle_nodes, where, from_idle, in);
    from_idle = taken.count();
    plan.idle.insert(taken);
  }
  const std::int64_t from_free_mw = std::clamp<std::int64_t>(from.free_mw, 0, missing_mw);
  plan.total += n;
  plan.from_idle += from_idle;
  plan.from_free_mw += from_free_mw;
  from.idle -= from_idle;
  from.free_mw -= from_free_mw;
  Nodes missing = n - from_idle;
  missing_mw -= from_free_mw;
  // Those before have given all of it.
  while (from.gave_nodes < from.others.size() && from.others[from.gave_nodes].count == 0) {
    ++from.gave_nodes;
  }
  while (from.gave_mw < from.others.size() && from.others[from.gave_mw].power_mw == 0) {
    ++from.gave_mw;
  }
  std::size_t first = from.others.size();
  if (missing > 0) first = from.gave_nodes;
  if (missing_mw > 0) first = std::min(first, from.gave_mw);
  if (waits_for_cuts) first = 0;
  for (std::size_t i = first; i < from.others.size(); ++i) {
    if (missing == 0 && missing_mw == 0 && !(waits_for_cuts && i < from.cuts)) break;
    Plan::Promise& other = from.others[i];
    Plan::Promise its{other.victim, std::min(other.count, missing),
                      std::min(other.power_mw, missing_mw)};
    if (by_name) {
      its.nodes = pick(state_.cells, state_.placer, other.nodes, where, its.count);
      its.count = its.nodes.count();
    }
    const bool is_barrier = waits_for_cuts && i < from.cuts;
    if (its.count == 0 && its.power_mw == 0 && !is_barrier) continue;
    other.count -= its.count;
    other.power_mw -= its.power_mw;
    missing -= its.count;
    missing_mw -= its.power_mw;
    const auto older = std::ranges::find(plan.promises, other.victim, &Plan::Promise::victim);
    if (older == plan.promises.end()) {
      plan.promises.push_back(std::move(its));
    } else {
      older->count += its.count;
      older->power_mw += its.power_mw;
      older->nodes.insert(its.nodes);
    }
  }
}

Holding Pass::take(const Plan& plan, JobId id) {
  if (state_.cells.is_one()) return state_.idle.take(plan.from_idle, job(id).holding.nodes);
  Holding taken{plan.from_idle, plan.idle};
  state_.idle.take(taken);
  return taken;
}

std::optional<Pass::Plan> Pass::plan(JobId id, SizeRange add, const Sources& sources) const {
  std::optional<Supply> from = supply({&id, 1}, sources);
  if (!from) return std::nullopt;
  const Job& its = job(id);
  const Time end = end_at(its, {its.target + add.min, its.target + add.max});
  const Cells where = state_.open_cells(its, end);
  const Nodes most = available(*from, where, sources.in);
  const Nodes n =
      state_.powered(its, std::min(add.max, most), from->power_mw - state_.booked_power_mw(end));
  if (n < add.min) return std::nullopt;
  Plan plan;
  draw(*from, id, where, n, true, plan, sources.in);
  return plan;
}

void Pass::cut(const Cut& cut, JobId beneficiary, Reason reason) {
  if (job(cut.victim).target == cut.to) return;  // cut before in this pass
  const Why why = reason.why == Why::corridor ? Why::corridor : Why::shrunk_for;
  state_.shrink(cut.victim, cut.to, {why, beneficiary});
}

void Pass::make_claim(const Plan& plan, JobId id, RequestId request, bool start, SizeRange add,
                      Reason reason, ClaimId group, Time expected) {
  ++state_.changes;
  Job& its = state_.jobs[id];
  Claim claim;
  claim.id = its.claim = ClaimId{state_.next_claim++};
  claim.group = group;
  claim.job = id;
  claim.request = request;
  claim.start = start;
  claim.add = add;
  claim.reason = reason;
  claim.pass = state_.passes;
  claim.made = now();
  claim.expected = std::max(now(), expected);
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
  const Holding idle = take(plan, claim.job);
  claim.held.count += idle.count;
  claim.held.nodes.insert(idle.nodes);
  state_.claimed += idle.count;
  claim.held_mw += plan.from_free_mw;
  state_.claimed_mw += plan.from_free_mw;
  for (const Plan::Promise& promise : plan.promises) {
    Unanswered& shrink = *state_.find(job(promise.victim).decision);
    state_.unlist_incoming(shrink);
    shrink.pledged += promise.count;
    shrink.pledged_mw += promise.power_mw;
    shrink.promised.insert(promise.nodes);
    state_.list_incoming(shrink);
    const auto older = std::ranges::find(claim.pledges, promise.victim, &Pledge::victim);
    if (older == claim.pledges.end()) {
      claim.pledges.push_back(
          {promise.victim, shrink.decision.id, promise.count, promise.power_mw, promise.nodes});
    } else {
      older->count += promise.count;
      older->power_mw += promise.power_mw;
      older->nodes.insert(promise.nodes);
    }
    claim.expected = std::max(claim.expected, shrink.expected);
  }
}

bool Pass::can_start_with(JobId id, SizeRange range) const {
  if (!knows(id) || !startable(id) || range.min == 0 || range.min > range.max) return false;
  const JobSpec& spec = job(id).spec;
  const SizeRange allowed = sizes_at_start(spec.type) ? spec.size : exactly(spec.preferred);
  return allowed.contains(range.min) && allowed.contains(range.max);
}

bool Pass::can_take(const Job& its, const NodeSet& nodes, Nodes size, Nodes base, Time end) const {
  if (nodes.count() > idle(its, end, nullptr) || state_.idle.among(nodes) != nodes) return false;
  if (!state_.cells.is_one() && !state_.cells.nodes(room(its, end)).contains(nodes)) return false;
  return size <= base ||
         state_.largest(its, size, base, RequestId::none, -state_.booked_power_mw(end)) == size;
}

bool Pass::start_on(JobId id, const NodeSet& nodes, SizeRange range, Reason reason) {
  const Nodes n = nodes.count();
  if (!state_.rules.identities || n == 0 || nodes.parts.back().last >= platform().nodes)
    return false;
  if (!range.contains(n) || !knows(id)) return false;
  const Job& its = job(id);
  // An evolving job begins with what it is given, if somebody else says so.
  const bool may_have = its.spec.type == JobType::evolving ? startable(id) && state_.allows(its, n)
                                                           : can_start_with(id, exactly(n));
  if (!may_have || !can_take(its, nodes, n, 0, end_at(its, exactly(n)))) return false;
  Holding taken{n, nodes};
  state_.idle.take(taken);
  state_.queue.remove(id, its.spec);
  state_.start(id, std::move(taken), reason);
  return wrote([&] {
    return PenCall{
        .verb = PenCall::Verb::start, .job = id, .size = range, .reason = reason, .on = nodes};
  });
}

Pass::Slowed Pass::slowed(JobId id, Nodes n, std::uint8_t step) const {
  Job its = job(id);
  its.step = step;
  return {state_.estimate(its, n), state_.budgeted_mw(its, n)};
}

bool Pass::start_slowed(JobId id, Nodes n, Reason reason, const Sources& sources) {
  const bool alone = sources.cuts.empty() && !sources.incoming && !sources.on;
  if (!alone || sources.step > frequency_steps() || !can_start_with(id, exactly(n))) return false;
  const Job& its = job(id);
  if (state_.largest_start(its, n) != n) return false;
  const Slowed slow = slowed(id, n, sources.step);
  const Time end = later(now(), slow.length);
  if (n > idle(its, end, sources.in)) return false;
  if (slow.power_mw > state_.free_power_mw() - state_.booked_power_mw(end)) return false;
  state_.queue.remove(id, its.spec);
  Holding nodes = state_.take_idle(its, room(its, end), n, sources.in);
  state_.jobs[id].step = sources.step;
  state_.start(id, std::move(nodes), reason);
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::start, .job = id, .size = exactly(n), .reason = reason};
    if (sources.in) call.in = *sources.in;
    call.step = sources.step;
    return call;
  });
}

bool Pass::start(JobId id, SizeRange range, Reason reason, const Sources& sources) {
  if (sources.step != 0 && sources.in == named(sources.in)) {
    return range.min == range.max && start_slowed(id, range.max, reason, sources);
  }
  if (sources.on) {
    const bool alone = sources.cuts.empty() && !sources.incoming && !named(sources.in);
    return alone && start_on(id, *sources.on, range, reason);
  }
  if (sources.in != named(sources.in)) {
    return start(id, range, reason,
                 {.cuts = sources.cuts, .incoming = sources.incoming, .step = sources.step});
  }
  if (!can_start_with(id, range)) return false;
  const Job& its = job(id);
  if (sources.cuts.empty() && !sources.incoming) {
    const auto largest = [&](Time end) {
      return state_.largest(its, std::min(range.max, idle(its, end, sources.in)), 0,
                            RequestId::none, -state_.booked_power_mw(end));
    };
    Time end = end_at(its, exactly(range.max));
    Nodes n = largest(end);
    if (n < range.max && has_bookings()) {  // it takes another time, and may run into a booking
      end = end_at(its, range);
      n = largest(end);
      if (n != 0 && state_.end_at(its, n) > end) return false;
    }
    if (n < range.min) return false;
    state_.queue.remove(id, its.spec);
    state_.start(id, state_.take_idle(its, room(its, end), n, sources.in), reason);
  } else {
    const auto from = plan(id, range, sources);
    if (!from || state_.largest_start(its, from->total) < range.min) return false;
    if (from->promises.empty()) return start(id, range, reason, {.in = sources.in});
    for (const Cut& c : sources.cuts) cut(c, id, reason);
    make_claim(*from, id, RequestId::none, true, range, reason);
  }
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::start, .job = id, .size = range, .reason = reason};
    call.cuts.assign(sources.cuts.begin(), sources.cuts.end());
    call.incoming = sources.incoming;
    if (sources.in) call.in = *sources.in;
    return call;
  });
}

std::optional<Pass::Plan> Pass::plan_growth(JobId id, SizeRange add, const Sources& sources,
                                            RequestId request) const {
  std::optional<Plan> from = plan(id, add, sources);
  // As many as the application can use: a claim keeps no others.
  if (from && add.min < from->total && request == RequestId::none) {
    const Nodes base = job(id).target;
    const Nodes size = state_.usable(job(id), base + from->total, base);
    if (size < base + add.min) return std::nullopt;
    if (size < base + from->total) from = plan(id, {add.min, size - base}, sources);
  }
  return from;
}

bool Pass::expand(JobId id, SizeRange add, Reason reason, const Sources& sources,
                  RequestId request) {
  const auto from = plan_growth(id, add, sources, request);
  if (!from) return false;
  if (from->promises.empty()) {
    const Nodes base = job(id).target;
    const Time end = end_at(job(id), {base + add.min, base + add.max});
    const Nodes size =
        state_.largest(job(id), base + from->total, base, request, -state_.booked_power_mw(end));
    if (size < base + add.min) return false;
    state_.grow(id, state_.take_idle(job(id), room(job(id), end), size - base, sources.in), reason,
                request);
  } else {
    for (const Cut& c : sources.cuts) cut(c, id, reason);
    make_claim(*from, id, request, false, add, reason);
  }
  return true;
}

bool Pass::start_larger(JobId id, Claim& claim, SizeRange add, Reason reason,
                        const Sources& sources) {
  const auto from = plan_growth(id, add, sources, RequestId::none);
  if (!from) return false;
  const Nodes more = from->total;
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

bool Pass::resize_on(JobId id, const NodeSet& nodes, Reason reason, RequestId request) {
  if (!state_.rules.identities || nodes.empty() || nodes.parts.back().last >= platform().nodes)
    return false;
  const Job& its = job(id);
  const Nodes n = nodes.count();
  if (its.doing != Doing::nothing || state_.in_pass(its)) return false;
  if (its.holding.nodes == nodes || !state_.allows(its, n)) return false;
  if (its.keep != Job::kNoKeep && !nodes.contains(its.keep)) return false;
  const NodeSet join = difference(nodes, its.holding.nodes);
  if (!join.empty() && !can_take(its, join, n, its.target, end_at(its, exactly(n)))) return false;
  state_.resettle(id, nodes, reason, request);
  return true;
}

NodeSet Pass::not_alone(JobId id) const {
  const Job& its = job(id);
  return united(state_.shared_of(its), nodes_in(its.holding.parts));
}

Time Pass::end_alone(JobId id) const {
  const Job& its = job(id);
  const Duration left = state_.time_left(its, state_.work_left(its), its.size(), Pace{});
  return later(later(now(), expected_cost(id, its.size())), left);
}

bool Pass::leaves_shared(JobId id, const NodeSet& on) const {
  return state_.can_leave_shared(id) && on.count() == job(id).size() &&
         !on.intersects(not_alone(id));
}

bool Pass::move_on(JobId id, Reason reason, const Spread* in) {
  if (!state_.rules.identities || !knows(id) || !state_.can_leave_shared(id)) return false;
  const Job& its = job(id);
  const NodeSet stay = difference(its.holding.nodes, not_alone(id));
  const Nodes fresh = its.size() - stay.count();
  const Time end = expected_end(id);
  if (fresh > idle(its, end, named(in))) return false;
  NodeSet idle = state_.idle.nodes();
  const NodeSet found = cell_count() == 1
                            ? state_.placer.take(idle, fresh, stay)
                            : pick(state_.cells, state_.placer, idle, room(its, end), fresh, in);
  if (found.count() < fresh) return false;
  const NodeSet on = united(stay, found);
  return resize(id, exactly(its.size()), reason, {.on = &on});
}

bool Pass::resize(JobId id, SizeRange to, Reason reason, const Sources& sources) {
  if (sources.on) {
    const bool alone = sources.cuts.empty() && !sources.incoming && !named(sources.in);
    if (!alone || !knows(id) || !to.contains(sources.on->count())) return false;
    if (!resizable(id) && !leaves_shared(id, *sources.on)) return false;
    if (!resize_on(id, *sources.on, reason, RequestId::none)) return false;
    return wrote([&] {
      return PenCall{.verb = PenCall::Verb::resize,
                     .job = id,
                     .size = to,
                     .reason = reason,
                     .on = *sources.on};
    });
  }
  if (sources.in != named(sources.in)) {
    return resize(id, to, reason, {sources.cuts, sources.incoming});
  }
  if (!knows(id)) return false;
  const Job& its = job(id);
  if (its.target == 0 || to.min > to.max) return false;
  if (!its.spec.size.contains(to.min) || !its.spec.size.contains(to.max)) return false;
  const bool bare = sources.cuts.empty() && !sources.incoming;
  if (to.max < its.target) {
    if (to.min < to.max || !state_.allows(its, to.max)) return false;
    if (!bare || !can_cut({id, to.max})) return false;
    state_.shrink(id, to.max, reason);
  } else {
    const Nodes most = state_.constraint(its).at_most(to.max);
    if (to.min <= its.target || most < to.min) return false;
    const SizeRange add{to.min - its.target, most - its.target};
    const bool chosen = sizes_at_start(its.spec.type);
    if (Claim* claim = waiting_start(its)) {
      if (!chosen || !start_larger(id, *claim, add, reason, sources)) return false;
    } else if (bare && chosen && grown_in_pass(its)) {  // one start, or one growth
      const Nodes base = its.target;
      const Time end = end_at(its, {to.min, base + add.max});
      const Nodes size = state_.largest(its, base + std::min(add.max, idle(its, end, sources.in)),
                                        base, RequestId::none, -state_.booked_power_mw(end));
      if (size < to.min) return false;
      state_.grow(id, state_.take_idle(its, room(its, end), size - base, sources.in), reason);
    } else if (!(resizable(id) || fresh(id)) ||
               !expand(id, add, reason, sources, RequestId::none)) {
      return false;
    }
  }
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::resize, .job = id, .size = to, .reason = reason};
    call.cuts.assign(sources.cuts.begin(), sources.cuts.end());
    call.incoming = sources.incoming;
    if (sources.in) call.in = *sources.in;
    return call;
  });
}

std::optional<SizeRange> Pass::growth_of(const Request& request) const {
  const Job& its = job(request.job);
  const auto delta = static_cast<Nodes>(request.delta);
  if (its.target + delta > its.spec.size.max) return std::nullopt;
  return SizeRange{request.at_least == 0 ? delta : std::min(request.at_least, delta), delta};
}

bool Pass::can_grant(const Request& request) const {
  const Job& its = job(request.job);
  return now() >= its.not_before && its.ordered == 0 && state_.world_can_resize(its) &&
         state_.is_alone(its);
}

bool Pass::grant(RequestId id, Reason reason, const Sources& sources,
                 std::span<const Delay> delays) {
  if (sources.in != named(sources.in)) {
    return grant(id, reason, {sources.cuts, sources.incoming}, delays);
  }
  const auto open = requests();
  const auto at = std::ranges::find(open, id, &Request::id);
  if (at == open.end()) return false;
  const Job& its = job(at->job);
  if (!can_grant(*at)) return false;
  const auto unknown = [&](const Delay& delay) { return !knows(delay.job); };
  if (std::ranges::any_of(delays, unknown)) return false;
  if (sources.on) {
    const bool alone = sources.cuts.empty() && !sources.incoming && !named(sources.in);
    if (!alone || !resize_on(at->job, *sources.on, reason, id)) return false;
  } else if (at->delta > 0) {
    const std::optional<SizeRange> add = growth_of(*at);
    if (!add || !expand(at->job, *add, reason, sources, id)) return false;
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
    if (sources.in) call.in = *sources.in;
    if (sources.on) call.on = *sources.on;
    call.delays.assign(delays.begin(), delays.end());
    return call;
  });
}

std::optional<Pass::Member> Pass::member(const Gain& gain) const {
  const Spread* const in = gain.in.empty() ? nullptr : &gain.in;
  if (gain.request != RequestId::none) {
    const auto open = requests();
    const auto at = std::ranges::find(open, gain.request, &Request::id);
    if (at == open.end() || at->delta < 0 || !can_grant(*at)) return std::nullopt;
    const std::optional<SizeRange> add = growth_of(*at);
    if (!add) return std::nullopt;
    return Member{at->job, false, job(at->job).target, *add, gain.request, in};
  }
  if (can_start_with(gain.job, gain.size)) {
    return Member{gain.job, true, 0, gain.size, RequestId::none, in};
  }
  if (!knows(gain.job) || !resizable(gain.job)) return std::nullopt;
  const SizeRange size = gain.size, allowed = job(gain.job).spec.size;
  const Nodes base = job(gain.job).target;
  if (size.min <= base || size.min > size.max) return std::nullopt;
  if (!allowed.contains(size.min) || !allowed.contains(size.max)) return std::nullopt;
  return Member{gain.job, false, base, {size.min - base, size.max - base}, RequestId::none, in};
}

bool Pass::share(Supply from, std::span<Member> group) const {
  for (Member& each : group) {
    const Job& its = job(each.job);
    const Nodes least =
        state_.least_usable(its, each.base + each.add.min, each.base, each.request) - each.base;
    const Time end = end_at(its, {each.base + each.add.min, each.base + each.add.max});
    each.where = state_.open_cells(its, end);
    each.booked_mw = state_.booked_power_mw(end);
    if (least > each.add.max || least > available(from, each.where, each.in)) return false;
    if (state_.powered(its, least, from.power_mw - each.booked_mw) < least) return false;
    each.least = least;
    draw(from, each.job, each.where, least, false, each.plan, each.in);
  }
  for (Member& each : group) {
    const Job& its = job(each.job);
    // What its least took of a cell is not there again.
    Spread left;
    if (each.in) {
      const Spread taken = state_.cells.spread(each.plan.idle);
      for (const Spread::Part& part : each.in->parts) {
        left.add(part.cell, part.count - std::min(part.count, taken.of(part.cell)));
      }
      each.in = &left;
    }
    const Nodes room = std::min(each.add.max - each.least, available(from, each.where, each.in));
    const Nodes most =
        each.base + each.least + state_.powered(its, room, from.power_mw - each.booked_mw);
    const Nodes more = state_.usable(its, most, each.base, each.request) - each.base - each.least;
    draw(from, each.job, each.where, more, false, each.plan, each.in);
  }
  // Who is cut and owes nothing is waited for as well.
  std::vector<JobId> owing;
  for (const Member& each : group) {
    for (const Plan::Promise& promise : each.plan.promises) owing.push_back(promise.victim);
  }
  std::ranges::sort(owing);
  for (std::size_t i = 0; i < from.cuts; ++i) {
    const JobId victim = from.others[i].victim;
    if (std::ranges::binary_search(owing, victim)) continue;
    group[0].plan.promises.push_back({victim, 0, 0});
  }
  return true;
}

std::vector<Part> Pass::kept_by(const Cut& cut) const {
  if (!cut.each || cut.each->cores == 0 || !knows(cut.victim) || !can_share(cut.victim)) return {};
  const Job& victim = job(cut.victim);
  if (cut.to != victim.target) return {};
  if (!has_room(*cut.each, state_.lanes[index(victim.spec.lane)].where.each)) return {};
  bool is_less = true;
  for_each_node(victim.holding.nodes, [&](std::uint32_t node) {
    const Slice* const part = find(victim.holding.parts, node);
    const Slice has = part ? *part : whole(node);
    is_less &= has.covers(*cut.each) && cut.each->cores < has.cores;
  });
  if (!is_less) return {};
  return {{victim.holding.nodes, *cut.each}};
}

std::vector<Part> Pass::left_by(std::span<const Cut> cuts, const Gain& gain) const {
  const Job& guest = job(gain.job);
  const Platform& machine = platform();
  if (gain.on.parts.back().last >= machine.nodes || gain.on.intersects(state_.not_up)) return {};
  if (!(state_.usable(guest, gain.on) == gain.on) || cells_of(gain.job) == 0) return {};
  std::vector<Part> taken;  // of each node, by all who stay there
  NodeSet held, full;
  for (const JobId id : running()) {
    const Job& its = job(id);
    const NodeSet there = intersection(its.holding.nodes, gain.on);
    if (there.empty()) continue;
    const bool stays = its.doing != Doing::starting && its.doing != Doing::stopping;
    if (!stays || its.started >= now()) return {};
    const auto at = std::ranges::find(cuts, id, &Cut::victim);
    for_each_node(there, [&](std::uint32_t node) {
      const Slice* const part = find(its.holding.parts, node);
      Slice has = at != cuts.end() ? *at->each : part ? *part : whole(node);
      if (const Slice* const others = find(taken, node)) has = plus(has, *others);
      if (has.cores >= whole(node).cores) full.insert(node, node);
      put(taken, {{{node, node}}}, has);
    });
    held.insert(there);
  }
  if (!(held == gain.on) || !full.empty()) return {};
  for (const Claim& claim : claims()) {
    if (nodes_in(claim.inside).intersects(gain.on)) return {};
  }
  const Slice& asked = state_.lanes[index(guest.spec.lane)].where.each;
  std::vector<Part> left;
  bool is_enough = true;
  for (const Part& part : taken) {
    for_each_node(part.nodes, [&](std::uint32_t node) {
      const Slice rest = minus(whole(node), part.has);
      is_enough &= has_room(rest, asked);
      put(left, {{{node, node}}}, rest);
    });
  }
  return is_enough ? left : std::vector<Part>{};
}

std::vector<JobId> Pass::all_pending() const {
  std::vector<JobId> all;
  all.reserve(pending());
  state_.queue.for_each([&](JobId id) { all.push_back(id); });
  return all;
}

bool Pass::start_inside(std::span<const Cut> cuts, const Gain& gain, Reason reason) {
  const JobId id = gain.job;
  if (!state_.capabilities.parts || !state_.rules.identities) return false;
  if (state_.budget_mw != State::kNoBudget || gain.request != RequestId::none) return false;
  if (!can_start_with(id, gain.size) || !sizes_while_running(job(id).spec.type)) return false;
  std::vector<std::vector<Part>> kept;
  NodeSet of_victims;
  for (const Cut& cut : cuts) {
    kept.push_back(kept_by(cut));
    if (kept.back().empty()) return false;
    const NodeSet& nodes = job(cut.victim).holding.nodes;
    if (!gain.on.contains(nodes) || of_victims.intersects(nodes)) return false;
    of_victims.insert(nodes);
  }
  std::vector<Part> inside = left_by(cuts, gain);
  if (inside.empty()) return false;
  const Spread* const in = gain.in.empty() ? nullptr : &gain.in;
  const Nodes shared = gain.on.count();
  // Its end moves as others come and go: it keeps off all that is booked.
  if (state_.runs_into_booking(job(id), gain.on, kNever)) return false;
  const Nodes most = shared + idle(job(id), kNever, in);
  const Nodes n = state_.largest_start(job(id), std::min(gain.size.max, most));
  if (n < gain.size.min || n < shared) return false;

  for (std::size_t i = 0; i < cuts.size(); ++i) {
    state_.change_cores(cuts[i].victim, std::move(kept[i]), false, {Why::guest, id});
  }
  ++state_.changes;
  Job& its = state_.jobs[id];
  state_.queue.remove(id, its.spec);
  Holding nodes = state_.take_idle(its, room(its, kNever), n - shared, in);
  if (cuts.empty() || state_.capabilities.instant_cores) {
    nodes.count = n;
    nodes.nodes.insert(gain.on);
    nodes.parts = std::move(inside);
    state_.start(id, std::move(nodes), reason);
    state_.foresee(id);
    return true;
  }
  Claim claim;
  claim.id = its.claim = ClaimId{state_.next_claim++};
  claim.job = id;
  claim.start = true;
  claim.add = gain.size;
  claim.reason = reason;
  claim.pass = state_.passes;
  claim.made = claim.expected = now();
  claim.inside = std::move(inside);
  claim.held = std::move(nodes);
  state_.claimed += claim.held.count;
  its.target = n;
  for (const Cut& cut : cuts) {
    const Job& victim = job(cut.victim);
    claim.pledges.push_back({cut.victim, victim.decision, 0, 0, {}, victim.holding.nodes});
    claim.expected = std::max(claim.expected, state_.find(victim.decision)->expected);
  }
  Holding all = claim.held;
  all.count = n;
  all.nodes.insert(gain.on);
  all.parts = claim.inside;
  state_.join(id, gain.on);
  claim.release = later(claim.expected, state_.estimate_on(its, all));
  state_.claims.push_back(std::move(claim));
  state_.list(state_.claims.back());
  state_.foresee(id);
  return true;
}

bool Pass::carry_out(std::span<const Cut> cuts, std::span<const Gain> gains, Reason reason,
                     bool incoming) {
  Sources sources{cuts, incoming};
  const auto is_inside = [](const Gain& gain) { return !gain.on.empty(); };
  if (std::ranges::any_of(gains, is_inside)) {
    if (gains.size() > 1 || incoming || !start_inside(cuts, gains[0], reason)) return false;
    return wrote([&] {
      PenCall call{.verb = PenCall::Verb::carry_out, .reason = reason};
      call.cuts.assign(cuts.begin(), cuts.end());
      call.gains.assign(gains.begin(), gains.end());
      return call;
    });
  }
  if (gains.size() == 1) {
    const auto& [id, size, request, in, on] = gains[0];
    if (!in.empty()) sources.in = &in;
    if (request != RequestId::none) return grant(request, reason, sources);
    const bool starts = knows(id) && job(id).status == Status::pending && job(id).target == 0;
    return starts ? start(id, size, reason, sources) : resize(id, size, reason, sources);
  }
  std::vector<Member> group;
  std::vector<JobId> jobs;
  for (const Gain& gain : gains) {
    std::optional<Member> each = member(gain);
    if (!each) return false;
    jobs.push_back(each->job);
    group.push_back(std::move(*each));
  }
  if (group.empty()) return false;
  std::optional<Supply> from = supply(jobs, sources);  // nothing if a job is there twice
  if (!from || !share(std::move(*from), group)) return false;

  const bool waits =
      std::ranges::any_of(group, [](const Member& each) { return !each.plan.promises.empty(); });
  for (const Cut& c : cuts) cut(c, jobs[0], reason);
  Time expected = now();
  for (const Member& each : group) {
    for (const Plan::Promise& promise : each.plan.promises) {
      expected = std::max(expected, state_.find(job(promise.victim).decision)->expected);
    }
  }
  const ClaimId first{state_.next_claim};
  for (const Member& each : group) {
    if (waits) {
      make_claim(each.plan, each.job, each.request, each.start, each.add, reason, first, expected);
    } else if (each.start) {
      state_.queue.remove(each.job, job(each.job).spec);
      state_.start(each.job, take(each.plan, each.job), reason);
    } else {
      state_.grow(each.job, take(each.plan, each.job), reason, each.request);
      std::erase_if(state_.requests, [&](const Request& open) { return open.id == each.request; });
    }
  }
  return wrote([&] {
    PenCall call{.verb = PenCall::Verb::carry_out, .reason = reason};
    call.cuts.assign(cuts.begin(), cuts.end());
    call.gains.assign(gains.begin(), gains.end());
    call.incoming = incoming;
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

bool Pass::stop(JobId id, Stop how, Reason reason) {
  if (!stoppable(id, how)) return false;
  state_.stop(id, how, reason);
  return wrote([&] {
    constexpr std::array kVerbs{PenCall::Verb::cancel, PenCall::Verb::requeue,
                                PenCall::Verb::suspend};
    return PenCall{.verb = kVerbs[static_cast<std::size_t>(how)], .job = id, .reason = reason};
  });
}

bool Pass::withdraw(ClaimId id, Reason reason) {
  Claim* const claim = state_.find(id);
  if (!claim) return false;
  // Its job may leave nodes now, and others may for those that idle: that is looked at before a
  // pass.
  const bool waits = !claim->inside.empty() ||
                     (state_.capabilities.moves
                          ? !state_.leaving.empty() || !state_.moves.empty()
                          : std::ranges::any_of(state_.group_of(*claim), [&](const Claim& each) {
                              return job(each.job).leaves;
                            }));
  if (waits) state_.retry(now() + kTick);
  const bool woken = state_.must_wake;
  state_.dissolve(id);
  state_.must_wake = woken;  // the policy knows
  return wrote(
      [&] { return PenCall{.verb = PenCall::Verb::withdraw, .claim = id, .reason = reason}; });
}

bool Pass::reject(JobId id, Reason reason) {
  if (!knows(id)) return false;
  const Job& its = job(id);
  if (its.status != Status::pending || its.claim != ClaimId::none) return false;
  state_.dequeue(id, its);
  state_.decide(Decision::Kind::reject, id, reason);
  state_.retire(id);
  return wrote([&] { return PenCall{.verb = PenCall::Verb::reject, .job = id, .reason = reason}; });
}

bool Pass::reserve(JobId id, Time planned, Reason reason) {
  if (!knows(id)) return false;
  Job& its = state_.jobs[id];
  if (its.status != Status::pending) return false;
  if (planned != kNever) state_.reserved.push_back(id);
  if (its.reserved == planned) return true;
  state_.plan_start(id, planned);
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::reserve, .job = id, .reason = reason, .time = planned};
  });
}

void Pass::drop_old_reservations() {
  std::vector<JobId>& kept = state_.reserved;
  if (kept.empty()) return;
  std::ranges::sort(kept);
  std::vector<JobId> old;
  for (const JobId id : state_.reserving) {
    if (!std::ranges::binary_search(kept, id)) old.push_back(id);
  }
  kept.clear();
  std::ranges::sort(old);
  for (const JobId id : old) reserve(id, kNever, {Why::resources});
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

std::vector<JobId> Pass::slowed_jobs() const {
  std::vector<JobId> slow;
  if (!state_.rules.slow_for_power) return slow;
  std::ranges::copy_if(state_.running, std::back_inserter(slow),
                       [&](JobId id) { return job(id).step > 0; });
  std::ranges::sort(slow, {}, [&](JobId id) { return std::pair(job(id).started, id); });
  return slow;
}

std::int64_t Pass::raise_mw(JobId id, std::uint8_t step) const {
  Job raised = job(id);
  raised.step = step;
  return state_.drawn_mw(raised, raised.holding) - state_.drawn_mw(job(id), raised.holding);
}

std::int64_t Pass::spare_power_mw(JobId id) const {
  if (state_.budget_mw == State::kNoBudget) return State::kNoBudget;
  std::int64_t spare_mw = state_.free_power_mw() - state_.booked_power_mw(expected_end(id));
  // Who would need more than all of it at full frequency needs what he starts with at the lowest.
  const auto keep_for = [&](JobId other) {
    const Nodes n = start_need(other).nodes;
    const std::int64_t full_mw = slowed(other, n, 0).power_mw;
    const std::int64_t least_mw = slowed(other, n, frequency_steps()).power_mw;
    spare_mw -= full_mw <= state_.power_alone_mw() ? full_mw : least_mw;
  };
  for (const JobId other : state_.reserving) keep_for(other);
  const JobId first = first_pending();
  if (first != JobId::none && job(first).reserved == kNever) keep_for(first);
  return spare_mw;
}

bool Pass::raise_frequency(JobId id, std::uint8_t step, Reason reason) {
  if (!state_.rules.slow_for_power || !knows(id)) return false;
  const Job& its = job(id);
  const bool is_free = its.doing == Doing::nothing && its.claim == ClaimId::none;
  if (its.status != Status::running || !is_free || step >= its.step) return false;
  const std::int64_t free_mw =
      state_.budget_mw == State::kNoBudget
          ? State::kNoBudget
          : state_.free_power_mw() - state_.booked_power_mw(expected_end(id));
  if (raise_mw(id, step) > free_mw) return false;
  state_.change_frequency(id, step, reason);
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::frequency, .job = id, .reason = reason, .step = step};
  });
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
  NodeSet there = difference(switched_off(), off);
  if (there.count() < n) return false;
  const NodeSet nodes = there.take_lowest(n);
  if (state_.budget_mw != State::kNoBudget &&
      ductile::idle_draw_mw(state_, state_.cells, {n, nodes}) >
          std::max<std::int64_t>(state_.free_power_mw(), 0)) {
    return false;
  }
  state_.decide(Decision::Kind::power_on, JobId::none, reason).after = {n, nodes};
  Duration time = platform().classes.empty() ? platform().boot_time : Duration{};
  for (const NodeClass& each : platform().classes) {
    if (each.nodes.intersects(nodes)) time = std::max(time, each.boot_time);
  }
  const Boot boot{state_.next_boot++, nodes, now() + time};
  state_.list(boot);
  state_.boots.push_back(boot);
  return wrote([&] {
    return PenCall{.verb = PenCall::Verb::power_on, .size = exactly(n), .reason = reason};
  });
}

bool Pass::call(const PenCall& c) {
  const Sources sources{c.cuts, c.incoming, c.in.empty() ? nullptr : &c.in,
                        c.on.empty() ? nullptr : &c.on, c.step};
  switch (c.verb) {
    case PenCall::Verb::start:
      return start(c.job, c.size, c.reason, sources);
    case PenCall::Verb::resize:
      return resize(c.job, c.size, c.reason, sources);
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
    case PenCall::Verb::carry_out:
      return carry_out(c.cuts, c.gains, c.reason, c.incoming);
    case PenCall::Verb::cancel:
      return stop(c.job, Stop::cancel, c.reason);
    case PenCall::Verb::requeue:
      return stop(c.job, Stop::requeue, c.reason);
    case PenCall::Verb::suspend:
      return stop(c.job, Stop::suspend, c.reason);
    case PenCall::Verb::reject:
      return reject(c.job, c.reason);
    case PenCall::Verb::frequency:
      return raise_frequency(c.job, c.step, c.reason);
  }
  return false;
}

}  // namespace ductile
