#include "scheduling/state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/decimal.hpp"
#include "scheduling/place.hpp"

namespace ductile {
namespace {

// Rows of the releases by cell: in each cell in which these nodes are, as many as there are.
void list_of(Indices& its, Time at, ReleaseTag who, const NodeSet& nodes) {
  its.cells.for_each_count(nodes, [&](std::uint32_t cell, Nodes count) {
    its.releases_of[cell].insert(at, who, count);
  });
}

// As many as are counted.
void list_of(Indices& its, Time at, ReleaseTag who, const NodeSet& nodes, const NodeSet& counted) {
  const Spread amounts = its.cells.spread(counted);
  its.cells.for_each_count(nodes, [&](std::uint32_t cell, Nodes) {
    its.releases_of[cell].insert(at, who, amounts.of(cell));
  });
}

void unlist_of(Indices& its, Time at, ReleaseTag who, const NodeSet& nodes) {
  its.cells.for_each_count(
      nodes, [&](std::uint32_t cell, Nodes) { its.releases_of[cell].erase(at, who); });
}

using Sharers = std::map<std::uint32_t, std::vector<JobId>>;

// Those of these nodes that several hold and of whose holders this is true.
template <class Is>
NodeSet shared_where(const Sharers& sharers, const NodeSet& nodes, Is is) {
  NodeSet found;
  if (sharers.empty()) return found;
  for (const Interval& part : nodes.parts) {
    for (auto at = sharers.lower_bound(part.first); at != sharers.end() && at->first <= part.last;
         ++at) {
      if (is(at->second)) found.insert(at->first, at->first);
    }
  }
  return found;
}

// Others count them.
NodeSet lent_to(const Sharers& sharers, JobId id, const NodeSet& nodes) {
  return shared_where(sharers, nodes,
                      [&](const std::vector<JobId>& who) { return who.front() != id; });
}

// When somebody leaves the nodes that he holds, or that his claim waits for, as believed.
Time end_of(const Facts& facts, JobId id) {
  const Job& job = facts.jobs[id];
  return job.status == Status::running ? job.limit : facts.find(job.claim)->release;
}

// Others leave them later: then they come free.
NodeSet left_to(const Facts& facts, const Sharers& sharers, JobId id, const NodeSet& nodes) {
  return shared_where(sharers, nodes, [&](const std::vector<JobId>& who) {
    JobId last = who.front();
    for (const JobId other : who) {
      if (end_of(facts, other) > end_of(facts, last)) last = other;
    }
    return last != id;
  });
}

// What a running job gives back at its end: not what it gives back before, nor what others have
// longer.
NodeSet sound_nodes(const Facts& facts, const Sharers& sharers, JobId id, const NodeSet& not_up) {
  const Job& job = facts.jobs[id];
  NodeSet nodes = not_up.empty() ? job.holding.nodes : difference(job.holding.nodes, not_up);
  if (facts.gives(job)) {
    nodes.erase(State::given(*facts.find(job.decision)));
  }
  nodes.erase(left_to(facts, sharers, id, nodes));
  return nodes;
}

// A running job's row, by cell.
void list_job_of(const Facts& facts, Indices& its, JobId id, Time at) {
  const Job& job = facts.jobs[id];
  const NodeSet& nodes = job.holding.nodes;
  if (its.not_up.empty() && its.sharers.empty() && !facts.gives(job)) {
    list_of(its, at, ReleaseTag::of(id), nodes);
  } else {
    list_of(its, at, ReleaseTag::of(id), nodes, sound_nodes(facts, its.sharers, id, its.not_up));
  }
}

// What it holds and is promised.
NodeSet all_of(const Claim& claim) {
  NodeSet nodes = claim.held.nodes;
  for (const Pledge& pledge : claim.pledges) nodes.insert(pledge.nodes);
  return nodes;
}

// Of the nodes that it will share, those that its job has longest.
NodeSet kept_inside(const Facts& facts, const Sharers& sharers, const Claim& claim) {
  if (claim.inside.empty()) return {};
  NodeSet nodes = nodes_in(claim.inside);
  nodes.erase(left_to(facts, sharers, claim.job, nodes));
  return nodes;
}

Nodes releases_of_claim(const Facts& facts, const Sharers& sharers, const Claim& claim) {
  return claim.held.count + claim.pledged() + kept_inside(facts, sharers, claim).count();
}

void list_claim_of(const Facts& facts, Indices& its, const Claim& claim) {
  const NodeSet nodes = all_of(claim);
  list_of(its, claim.release, ReleaseTag::of(claim.id), united(nodes, nodes_in(claim.inside)),
          united(nodes, kept_inside(facts, its.sharers, claim)));
}

// How much of its work per core a job does on a node, per mille.
using Efficiency = FunctionRef<std::uint16_t(std::uint32_t node)>;

// Of a job that can use so many cores of each node; 0: all. Where something may be lost each core
// is a thousand `units`, else it is one, and nobody asks for the efficiency.
Pace pace_on(const Platform& platform, const Holding& holding, ShareModel model,
             std::uint32_t cores, std::uint16_t units, Efficiency efficiency) {
  if (holding.parts.empty()) return {};
  Pace least{};
  std::uint64_t each = 0, has = 0;  // how many cores it can use of a node, and how many it has
  bool is_even = true;              // it can use as many of all its nodes
  double shares = 0;
  Nodes parted = 0;
  const auto add_alike = [&](const Part& part, std::uint32_t whole, Nodes count,
                             std::uint16_t left) {
    if (count == 0) return;
    const std::uint64_t can_use = std::max(cores == 0 ? whole : std::min(cores, whole), 1u);
    const std::uint64_t of = can_use * units;
    const Pace its{std::min<std::uint64_t>(part.has.cores, can_use) * left, of};
    least = std::min(least, its);
    is_even &= each == 0 || each == of;
    each = of;
    has += its.has * count;
    shares += its.share() * count;
    parted += count;
  };
  const auto add = [&](const Part& part, std::uint32_t whole, const NodeSet& nodes) {
    if (units == 1) return add_alike(part, whole, nodes.count(), 1);
    std::map<std::uint16_t, Nodes> alike;  // by what is left
    for_each_node(nodes, [&](std::uint32_t node) { ++alike[efficiency(node)]; });
    for (const auto& [left, count] : alike) add_alike(part, whole, count, left);
  };
  for (const Part& part : holding.parts) {
    if (platform.classes.empty()) add(part, platform.cores_per_node, part.nodes);
    for (const NodeClass& its : platform.classes) {
      add(part, its.has.cores, intersection(part.nodes, its.nodes));
    }
  }
  const Nodes count = std::max(holding.count, parted);
  if (model == ShareModel::worst) {
    return least == Pace{} ? Pace{} : Pace{least.has * count, least.of * count};
  }
  if (!is_even) {  // a mean of shares that have nothing in common
    constexpr std::uint64_t kOf = std::uint64_t{1} << 40;
    const double mean = (shares + (count - parted)) / count;
    return {static_cast<std::uint64_t>(std::llround(mean * static_cast<double>(kOf))), kOf};
  }
  const Pace all{has + each * (count - parted), each * count};
  return all == Pace{} ? Pace{} : all;
}

void index_sharers(const Facts& facts, Indices& found) {
  NodeSet shared;
  for (const JobId id : facts.running) {
    const Holding& its = facts.jobs[id].holding;
    if (its.parts.empty()) continue;
    found.parted.push_back(id);
    shared.insert(nodes_in(its.parts));
  }
  std::ranges::sort(found.parted);
  for (const Claim& claim : facts.claims) shared.insert(nodes_in(claim.inside));
  if (shared.empty()) return;
  std::vector<JobId> by_start = facts.running;
  std::ranges::sort(by_start, {}, [&](JobId id) { return std::pair(facts.jobs[id].started, id); });
  for (const JobId id : by_start) {
    for_each_node(intersection(facts.jobs[id].holding.nodes, shared),
                  [&](std::uint32_t node) { found.sharers[node].push_back(id); });
  }
  for (const Claim& claim : facts.claims) {
    for_each_node(nodes_in(claim.inside),
                  [&](std::uint32_t node) { found.sharers[node].push_back(claim.job); });
  }
  std::erase_if(found.sharers, [](const auto& entry) { return entry.second.size() < 2; });
}

NodeSet unpromised_of(const Unanswered& open, const NodeSet& not_up) {
  return difference(difference(State::given(open), not_up), open.promised);
}

void index_releases_of(const Facts& facts, Indices& found) {
  found.releases_of.clear();
  if (found.cells.is_one()) return;
  found.releases_of.resize(found.cells.size());
  for (const JobId id : facts.running) list_job_of(facts, found, id, facts.jobs[id].limit);
  for (const Claim& claim : facts.claims) list_claim_of(facts, found, claim);
  for (const Unanswered& open : facts.unanswered) {
    if (open.releases == 0) continue;
    list_of(found, open.expected, ReleaseTag::incoming(open.decision.job), State::given(open),
            unpromised_of(open, found.not_up));
  }
  for (const Boot& boot : facts.boots) {
    list_of(found, boot.ready, ReleaseTag::boot(boot.batch), boot.nodes);
  }
}

std::vector<ReachId> reaches(const CellTable& cells, std::size_t lanes) {
  std::vector<ReachId> found;
  for (std::size_t i = 0; i < lanes; ++i) {
    found.push_back(cells.reach_of(LaneId{static_cast<std::uint16_t>(i)}));
  }
  return found;
}

// What follows from the platform.
void describe(Lane& lane, const CellTable& cells, Cells its) {
  lane.speed = cells.slowest(its);
  lane.classes = cells.classes_of(its);
}

Facts with_speeds(Facts facts) {
  const CellTable cells(facts.platform, facts.lanes, facts.bookings);
  for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
    describe(facts.lanes[i], cells, cells.of(LaneId{static_cast<std::uint16_t>(i)}));
  }
  return facts;
}

// What the order of its policy goes by besides jobs and users.
Ranking ranking(const Facts& facts) {
  if (facts.traits.order != QueueOrder::multifactor) return {};
  Ranking found{facts.traits.multifactor, facts.platform.nodes, {}};
  for (const Lane& lane : facts.lanes) {
    found.lanes.push_back(lane_factors(facts.platform, lane.where));
  }
  return found;
}

/// The place of a class on another machine; the first one if it is gone.
std::uint8_t same_class(const Platform& before, std::uint8_t its, const Platform& after) {
  if (its == 0) return 0;
  const auto at = std::ranges::find(after.classes, before.classes[its].name, &NodeClass::name);
  return at == after.classes.end() ? std::uint8_t{0}
                                   : static_cast<std::uint8_t>(at - after.classes.begin());
}

}  // namespace

Slice whole_of(const Platform& platform, const CellTable& cells, std::uint32_t node) {
  if (!platform.classes.empty()) return platform.classes[cells[cells.cell_of(node)].cls].has;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  return {.cores = static_cast<std::uint16_t>(std::min(platform.cores_per_node, kMost))};
}

Indices index(const Facts& facts) {
  Indices found;
  found.cells = CellTable(facts.platform, facts.lanes, facts.bookings);
  found.queue = Queue(facts.traits.order, facts.sorting, ranking(facts));
  found.queue.set_reaches(reaches(found.cells, facts.lanes.size()), facts.jobs);
  facts.jobs.for_each([&](JobId id) {
    const Job& job = facts.jobs[id];
    if (job.status != Status::pending || job.claim != ClaimId::none) return;
    if (facts.awaits_booking(job)) return;
    found.queue.add(id, job.spec, facts.start_need(job));
  });
  for (std::uint32_t node = 0; node < facts.health.size(); ++node) {
    if (facts.health[node] != Health::up) found.not_up.insert(node, node);
    if (facts.health[node] == Health::draining) found.draining.insert(node, node);
    if (facts.health[node] == Health::off) found.switched_off.insert(node, node);
  }
  found.idle = IdleNodes(facts.platform.nodes, facts.rules.identities);
  found.idle.tell_apart(found.cells.by_node(), found.cells.size());
  if (facts.rules.identities) {
    found.placer = Placer(facts.rules.placement, facts.platform);
    found.idle.choose_by(found.placer);
  }
  index_sharers(facts, found);
  NodeSet nobodys = found.not_up;
  const bool any_to_leave = !found.draining.empty() || facts.any_booking_has_begun();
  const bool has_budget = facts.budget_mw != Facts::kNoBudget;
  for (const JobId id : facts.running) {
    const Job& job = facts.jobs[id];
    if (sizes_while_running(job.spec.type)) ++found.running_malleable;
    if (const NodeSet lent = lent_to(found.sharers, id, job.holding.nodes); lent.empty()) {
      found.held += job.holding.count;
      found.idle.take(job.holding);
    } else {
      const Nodes own = job.holding.count - lent.count();
      found.held += own;
      found.idle.take({own, difference(job.holding.nodes, lent)});
    }
    if (!nobodys.empty()) nobodys.erase(job.holding.nodes);
    const std::int64_t its_mw = drawn_mw(facts, found.cells, job, job.holding);
    found.jobs_mw += its_mw;
    if (has_budget) {
      const std::int64_t less_mw =
          facts.gives(job)
              ? releases_mw(facts, found.cells, job, facts.find(job.decision)->decision.after)
              : 0;
      found.power_releases.insert(job.limit, ReleaseTag::of(id), its_mw - less_mw);
    }
    Nodes sound = healthy(job.holding, found.not_up);
    if (facts.gives(job)) sound -= facts.find(job.decision)->releases;
    if (!found.sharers.empty()) {
      sound = sound_nodes(facts, found.sharers, id, found.not_up).count();
    }
    found.releases.insert(job.limit, ReleaseTag::of(id), sound);
    const bool leaves = any_to_leave && job.doing == Doing::nothing &&
                        facts.may_leave(job, facts.to_leave(job, found.draining));
    if (leaves) found.leaving.push_back(id);
  }
  for (const Claim& claim : facts.claims) {
    found.claimed += claim.held.count;
    found.idle.take(claim.held);
    found.claimed_mw += claim.held_mw;
    found.releases.insert(claim.release, ReleaseTag::of(claim.id),
                          releases_of_claim(facts, found.sharers, claim));
    if (has_budget) {
      found.power_releases.insert(claim.release, ReleaseTag::of(claim.id),
                                  claim.held_mw + claim.pledged_mw());
    }
  }
  for (const Unanswered& open : facts.unanswered) {
    const ReleaseTag tag = ReleaseTag::incoming(open.decision.job);
    if (open.releases > 0) {
      found.releases.insert(open.expected, tag, open.releases - open.pledged);
    }
    if (open.releases_mw > 0) {
      found.power_releases.insert(open.expected, tag, open.releases_mw - open.pledged_mw);
    }
  }
  for (const Boot& boot : facts.boots) {
    found.releases.insert(boot.ready, ReleaseTag::boot(boot.batch), boot.nodes.count());
  }
  found.out_of_service = nobodys.count();
  const auto draw = [&](const NodeSet& nodes) {
    return idle_draw_mw(facts, found.cells, {nodes.count(), nodes});
  };
  for (std::uint32_t cell = 0; cell < found.cells.size(); ++cell) {
    found.on_mw += std::int64_t{found.cells[cell].count} * facts.idle_mw(found.cells[cell].cls);
  }
  found.on_mw -= draw(difference(nobodys, found.draining));
  NodeSet off = found.switched_off;
  for (const Boot& boot : facts.boots) {
    found.on_mw += draw(boot.nodes);
    off.erase(boot.nodes);
  }
  found.on_mw += off_draw_mw(facts, found.cells, off);
  found.idle.take({found.out_of_service, nobodys});
  found.answered = facts.asked - facts.unanswered.size();
  index_releases_of(facts, found);
  return found;
}

State::State(const Platform& machine, const Capabilities& can, const Rules& run, const Traits& its)
    : State([&] {
        Facts facts;
        facts.platform = machine;
        facts.capabilities = can;
        facts.rules = run;
        facts.rules.identities |= can.parts || !CellTable(machine, {}).is_one();
        facts.traits = its;
        if (facts.rules.identities) facts.health.assign(machine.nodes, Health::up);
        return facts;
      }()) {}

State::State(Facts facts)
    : Facts(with_speeds(std::move(facts))),
      Indices(ductile::index(static_cast<const Facts&>(*this))) {
  pass_first = next_decision;
  index_jobs();
  jobs.for_each([&](JobId id) {
    if (const Time at = std::exchange(jobs[id].reserved, kNever); at != kNever) plan_start(id, at);
  });
  for (const JobId id : parted) note_spare(jobs[id].holding.parts);
}

void State::index_jobs() {
  for (std::size_t i = 0; i < running.size(); ++i) {
    put_running(running[i], i);
    Job& job = jobs[running[i]];
    job.release = job.limit;
    job.leaves = false;
    job.pace = believed_pace(job);
  }
  for (const JobId id : leaving) jobs[id].leaves = true;
}

Duration at_another_speed(Duration time, double speed) {
  constexpr double kMost = 9.2e18;  // that still is a time
  const double at_it = std::min(static_cast<double>(time.count()) / speed, kMost);
  return std::max(Duration{std::llround(at_it)}, time > Duration{} ? kTick : time);
}

Duration at_pace(Duration time, const Pace& pace) {
  if (pace == Pace{}) return time;
  constexpr Wide kMost = Duration::max().count();
  const Wide twice = Wide{2} * time.count() * pace.of;
  const Wide its = std::min((twice + pace.has) / (Wide{2} * pace.has), kMost);
  return std::max(Duration{static_cast<std::int64_t>(its)}, time > Duration{} ? kTick : time);
}

Pace Facts::frequency(const Job& job) const {
  constexpr std::uint64_t kParts = 1'000'000;
  if (job.step == 0) return {};
  const double parts = platform.steps[job.step - 1U].speed * static_cast<double>(kParts);
  return {static_cast<std::uint64_t>(std::llround(parts)), kParts};
}

std::int64_t Facts::slowed_mw(const Job& job, std::int64_t full_mw) const {
  return std::llround(static_cast<double>(full_mw) * platform.steps[job.step - 1U].power);
}

std::int64_t Facts::least_power_mw(const Job& job) const {
  const AdaptiveSpec* const spec = adaptive_spec(job);
  const bool is_said = spec != nullptr && spec->least_watts_per_node > 0 && !job.is_power_measured;
  return is_said ? milliwatts(spec->least_watts_per_node) : job.power_mw;
}

std::int64_t Facts::scaled_power_mw(const Job& job, std::size_t cls) const {
  const auto span = [&](std::size_t of) {
    const NodeClass& its = platform.classes[of];
    return static_cast<std::int64_t>(its.busy_w * 1000 + 0.5) - idle_mw(of);
  };
  const std::size_t its = job.power_class;
  const std::int64_t extra = std::max<std::int64_t>(job.power_mw - idle_mw(its), 0);
  if (its == cls || span(its) <= 0 || span(cls) <= 0) return extra;
  // On each of them its cores are busy, so far as they are known.
  const Wide busy = Wide{span(cls)} * used_cores(job, cls) * cores_of(its);
  const Wide of = Wide{span(its)} * used_cores(job, its) * cores_of(cls);
  return static_cast<std::int64_t>((extra * busy + of / 2) / of);
}

std::uint32_t Facts::cores_of(std::size_t cls) const {
  if (platform.classes.empty()) return std::max(platform.cores_per_node, 1u);
  return std::max<std::uint32_t>(platform.classes[cls].has.cores, 1);
}

std::uint32_t Facts::used_cores(const Job& job, std::size_t cls) const {
  const std::uint32_t all = cores_of(cls);
  return job.spec.cores == 0 ? all : std::min<std::uint32_t>(job.spec.cores, all);
}

std::int64_t Facts::dearest_mw(const Job& job) const {
  std::int64_t most = 0;
  for (std::uint64_t its = lanes[index(job.spec.lane)].classes; its != 0; its &= its - 1) {
    most = std::max(most, extra_power_on_mw(job, static_cast<std::size_t>(std::countr_zero(its))));
  }
  return most;
}

std::int64_t Facts::cheapest_mw(const Job& job) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t classes = lanes[index(job.spec.lane)].classes;
  for (std::uint64_t its = classes; its != 0; its &= its - 1) {
    least =
        std::min(least, extra_power_on_mw(job, static_cast<std::size_t>(std::countr_zero(its))));
  }
  return classes == 0 ? 0 : least;
}

std::int64_t drawn_by_node_mw(const Facts& facts, const CellTable& cells, const Job& job,
                              const Holding& on) {
  std::int64_t sum = 0;
  cells.for_each_count(on.nodes, [&](std::uint32_t cell, Nodes count) {
    sum += std::int64_t{count} * facts.extra_power_on_mw(job, cells[cell].cls);
  });
  // On shared nodes only the cores that it has there are busy. Rounded for each node, so that the
  // sum is the same however nodes are dealt to cells.
  for (const Part& part : on.parts) {
    cells.for_each_count(part.nodes, [&](std::uint32_t cell, Nodes count) {
      const std::size_t cls = cells[cell].cls;
      const Wide uses = facts.used_cores(job, cls);
      const Wide idle = std::max<Wide>(uses - part.has.cores, 0);
      const Wide less = (idle * facts.extra_power_on_mw(job, cls) + uses / 2) / uses;
      sum -= static_cast<std::int64_t>(less * count);
    });
  }
  return sum;
}

double State::slowest_held(const Job& job) const { return cells.slowest(settled(job).nodes); }

std::int64_t off_draw_mw(const Facts& facts, const CellTable& cells, const NodeSet& nodes) {
  if (nodes.empty()) return 0;
  if (!cells.draws_differ()) return std::int64_t{nodes.count()} * facts.off_mw(cells[0].cls);
  std::int64_t sum = 0;
  for (const auto& [cell, count] : cells.spread(nodes).parts) {
    sum += std::int64_t{count} * facts.off_mw(cells[cell].cls);
  }
  return sum;
}

std::int64_t idle_draw_mw(const Facts& facts, const CellTable& cells, const Holding& nodes) {
  if (!cells.draws_differ()) return std::int64_t{nodes.count} * facts.idle_mw(cells[0].cls);
  std::int64_t sum = 0;
  for (const auto& [cell, count] : cells.spread(nodes.nodes).parts) {
    sum += std::int64_t{count} * facts.idle_mw(cells[cell].cls);
  }
  return sum;
}

std::int64_t releases_mw(const Facts& facts, const CellTable& cells, const Job& job,
                         const Holding& after) {
  if (facts.budget_mw == Facts::kNoBudget || job.target == job.holding.count) return 0;
  // Where it is not known which nodes it will hold it is no matter, either.
  if (job.holding.parts.empty() && !cells.draws_differ()) {
    return std::int64_t{job.holding.count - job.target} *
           facts.extra_power_on_mw(job, cells[0].cls);
  }
  return drawn_mw(facts, cells, job, job.holding) - drawn_mw(facts, cells, job, after);
}

Duration Facts::estimate_of_work(const Job& job, Nodes n) const {
  if (job.goes_on) {
    return time_for_work(job, job.work_left,
                         has_walltime_of_any_size(job) ? job.spec.preferred : n);
  }
  if (has_walltime_of_any_size(job)) return job.spec.walltime;
  return time_for_work(job, job.spec.work_of(job.spec.walltime), n);
}

Work Facts::work_left_of(const Job& job, const JobSpec& other) const {
  const Duration more = other.walltime - job.spec.walltime;
  const Work left =
      other.preferred == job.spec.preferred
          ? job.work_left + job.spec.work_of(more)
          : other.work_of(kTick) * (job.work_left / job.spec.work_of(kTick) + more.count());
  return std::max(left, least_work(other));
}

Queue::Need Facts::believed_start_need(const Job& job) const {
  return traits.start_size == StartSize::smallest && sizes_at_start(job.spec.type)
             ? smallest_need(job)
             : need_at(job, job.spec.preferred, estimate(job, job.spec.preferred));
}

Queue::Need Facts::smallest_need(const Job& job) const {
  const Nodes n = smallest(job);
  return need_at(job, n, estimate(job, n));
}

std::uint32_t Facts::power_units(const Job& job, Nodes n) const {
  return Queue::Need::units(extra_power_mw(job, n));
}

Nodes Facts::smallest(const Job& job) const {
  if (!sizes_at_start(job.spec.type)) return job.spec.preferred;
  const SizeConstraint usable = constraint(job);
  Nodes n = usable.at_least(job.spec.size.min);
  if (n > job.spec.size.max) return job.spec.preferred;
  if (bookings.empty() || job.status == Status::running) return n;
  const Booking* const own = find(lanes[index(job.spec.lane)].where.booking);
  if (own == nullptr || own->to == kNever) return n;
  // In its booking no smaller than it needs to be to end with it.
  while (n < job.spec.preferred && estimate(job, n) > own->to - own->from) {
    n = std::min(usable.at_least(n + 1), job.spec.preferred);
  }
  return n;
}

Nodes Facts::smallest_start(const Job& job) const {
  const Nodes first = start_need(job).nodes;
  return traits.start_size == StartSize::either ? std::min(smallest(job), first) : first;
}

std::int64_t State::power_mw() const { return on_mw + jobs_mw; }

std::int64_t State::least_start_mw(const Job& job) const {
  const std::int64_t least = extra_power_mw(job, smallest_start(job));
  if (!rules.slow_for_power || platform.steps.empty()) return least;
  Job slowed = job;
  slowed.step = static_cast<std::uint8_t>(platform.steps.size());
  return std::min(least, extra_power_mw(slowed, start_need(job).nodes));
}

std::int64_t State::free_power_mw() const {
  return budget_mw == kNoBudget ? kNoBudget : budget_mw - power_mw() - claimed_mw;
}

Nodes State::powered_by(const Job& job, Nodes n, std::int64_t power_mw) const {
  if (power_mw < 0) return 0;
  const std::int64_t each = extra_power_mw(job, 1);
  return each == 0 ? n : static_cast<Nodes>(std::min<std::int64_t>(n, power_mw / each));
}

Nodes State::usable_growth(const Job& job, Nodes most, Nodes base, RequestId request) const {
  const bool bound = sizes_at_start(job.spec.type) && request == RequestId::none;
  const Nodes size = bound ? constraint(job).at_most(most) : most;
  return size > base ? size : 0;
}

Nodes State::least_usable(const Job& job, Nodes least, Nodes base, RequestId request) const {
  if (!sizes_at_start(job.spec.type) || request != RequestId::none) return least;
  const Nodes size = constraint(job).at_least(least);
  const Nodes preferred = job.spec.preferred;
  return base == 0 && preferred >= least ? std::min(size, preferred) : size;
}

Nodes State::largest_chosen(const Job& job, Nodes most) const {
  const Nodes size = constraint(job).at_most(most);
  return job.spec.preferred <= most ? std::max(size, job.spec.preferred) : size;
}

Cells State::usable_cells(const Job& job, const CellTable& table) const {
  Cells its = table.of(job.spec.lane);
  if (!table.speeds_differ() || job.status != Status::running) return its;
  const double least = table.slowest(job.holding.nodes);
  for_each_cell(its, [&](std::uint32_t cell) {
    if (table[cell].speed < least) its &= ~(Cells{1} << cell);
  });
  return its;
}

Cells State::unbooked_cells(const Job& job, Time end) const {
  Cells free = kEveryCell;
  const std::uint32_t own = cells.booking_of(job.spec.lane);
  for (std::size_t i = 0; i < bookings.size(); ++i) {
    const Booking& its = bookings[i];
    if (i + 1 != own) continue;
    const Time began = job.status == Status::running ? job.started : now;
    if (now < its.from || end > its.until(began)) return 0;
    end = std::min(end, its.to);  // who comes after it waits a moment
  }
  for (std::size_t i = 0; i < bookings.size(); ++i) {
    if (i + 1 != own && bookings[i].overlaps(now, end)) free &= ~cells.booked(i);
  }
  return free;
}

// Each cap, when it begins, has what is free by then to itself: of a job that ends later it leaves
// the rest.
std::int64_t State::power_booked_by(Time end) const {
  const auto booked_at = [&](Time at) {
    std::int64_t sum = 0;
    for (const Booking& its : bookings)
      sum += its.overlaps(at, later(at, kTick)) ? its.power_mw : 0;
    return sum;
  };
  std::int64_t most = booked_at(now);
  for (const Booking& its : bookings) {
    if (its.power_mw == 0 || its.from <= now || its.from >= end) continue;
    most =
        std::max(most, booked_at(its.from) - Releases::Cursor(power_releases, now).until(its.from));
  }
  return most;
}

Nodes State::idle_in(Cells where, const Spread* in) const {
  Nodes sum = 0;
  if (in) {
    for (const Spread::Part& part : in->parts) {
      if ((where >> part.cell & 1) != 0) sum += std::min(part.count, idle.of(part.cell));
    }
  } else {
    for_each_cell(where, [&](std::uint32_t cell) { sum += idle.of(cell); });
  }
  return sum;
}

NodeSet State::usable(const Job& job, const NodeSet& nodes) const {
  if (cells.is_one()) return nodes;
  return intersection(nodes, cells.nodes(usable_cells(job)));
}

NodeSet State::unpromised(const Unanswered& open) const { return unpromised_of(open, not_up); }

bool State::has_room(const Where& where, std::size_t most) const {
  if (!where.has_list()) return true;
  if (!rules.identities) return false;
  const auto has_its_lists = [&](const Lane& lane) {
    return lane.jobs > 0 && lane.where.only == where.only && lane.where.never == where.never;
  };
  if (std::ranges::any_of(lanes, has_its_lists)) return true;
  if (!cells.is_whole()) return false;
  std::vector<Lane> all = lanes;
  all.push_back({where, 1});
  const CellTable table(platform, all, bookings);
  return table.is_whole() && table.size() <= std::max(cells.size(), most);
}

std::optional<LaneId> State::join_lane(const Where& where) {
  const auto same = std::ranges::find(lanes, where, &Lane::where);
  const bool has_list = where.has_list();
  // An unused lane is as the default one.
  const auto free =
      std::find_if(lanes.begin() + 1, lanes.end(), [](const Lane& lane) { return lane.jobs == 0; });
  const auto at = static_cast<std::size_t>((same != lanes.end() ? same : free) - lanes.begin());
  constexpr std::size_t kMostLanes = 1u << 16;
  if (at == kMostLanes) return std::nullopt;
  const LaneId id{static_cast<std::uint16_t>(at)};
  if (!has_room(where, kMostCells)) return std::nullopt;
  if (same != lanes.end()) {
    if (lanes[at].jobs++ == 0) want(id);
    return id;
  }
  ++changes;
  if (at == lanes.size()) lanes.emplace_back();
  lanes[at] = {where, 1};
  if (!has_list) {
    put_lane(id, lanes[at]);
  } else {
    change_cells(CellTable(platform, lanes, bookings));
  }
  queue.set_factors(id, lane_factors(platform, where));
  describe(lanes[at], cells, cells.of(id));
  return id;
}

void State::forget_lane(LaneId id) {
  if (id == LaneId{}) return cells.want(id, false);
  Lane& lane = lanes[index(id)];
  const bool had_list = lane.where.has_list();
  lane = {};
  if (had_list && !cells.is_whole()) {
    // Others may be told apart now, and be others than those before.
    dissolve_claims_outside(CellTable(platform, lanes, bookings));
    reindex();
    must_wake = true;
  } else if (had_list) {
    change_cells(CellTable(platform, lanes, bookings));
  } else {
    put_lane(id, lane);
  }
  describe(lane, cells, cells.of(id));
}

void State::put_lane(LaneId id, const Lane& lane) {
  cells.put(id, lane);
  queue.set_reach(id, cells.reach_of(id));
}

void State::change_cells(CellTable table) {
  const bool was_one = cells.is_one();
  cells = std::move(table);
  queue.set_reaches(reaches(cells, lanes.size()), jobs);
  ++changes;
  idle.tell_apart(cells.by_node(), cells.size());
  if (was_one != cells.is_one()) {
    for (Unanswered& open : unanswered) deal_pledges(open);
  }
  index_releases_of(*this, *this);
}

Holding State::take_idle_by_cell(const Job& job, Cells among, Nodes n, const Spread* in) {
  return {n, pick(cells, idle, among, n, in, job.holding.nodes)};
}

Nodes State::incoming() const {
  Nodes sum = 0;
  for (const Unanswered& u : unanswered) sum += u.releases - u.pledged;
  return sum;
}

NodeSet Facts::can_leave(const Job& job, const NodeSet& nodes) const {
  if (!sizes_while_running(job.spec.type)) return {};
  NodeSet leaves = intersection(job.holding.nodes, nodes);
  if (job.keep != Job::kNoKeep) leaves.erase(NodeSet{{{job.keep, job.keep}}});
  return leaves;
}

Nodes Facts::size_without(const Job& job, Nodes nodes) const {
  const Nodes size =
      constraint(job).at_most(std::min(job.holding.count - nodes, job.spec.size.max));
  return size >= job.spec.size.min ? size : 0;
}

Booking* Facts::find(BookingId id) {
  const auto at = std::ranges::lower_bound(bookings, id, {}, &Booking::id);
  return at != bookings.end() && at->id == id ? &*at : nullptr;
}

bool Facts::any_booking_has_begun() const {
  return std::ranges::any_of(bookings, &Booking::has_begun);
}

NodeSet Facts::to_leave(const Job& job, const NodeSet& draining) const {
  NodeSet all = draining;
  const BookingId own = lanes[index(job.spec.lane)].where.booking;
  for (const Booking& each : bookings) {
    if (each.has_begun && each.id != own) all.insert(each.nodes);
  }
  return all;
}

bool Facts::may_leave(const Job& job, const NodeSet& nodes) const {
  const NodeSet leaves = can_leave(job, nodes);
  return !leaves.empty() && (capabilities.moves || size_without(job, leaves.count()) != 0);
}

NodeSet State::avoided(const Job& job, const NodeSet& nodes) const {
  const JobId id = running[job.running_at];
  const auto order = std::ranges::lower_bound(moves, id, {}, &MoveOrder::job);
  const bool has_one = order != moves.end() && order->job == id;
  return has_one ? united(nodes, order->off) : nodes;
}

State::Way State::way_off(const Job& job, const NodeSet& nodes, bool may_shrink) const {
  const Nodes leaves = can_leave(job, nodes).count();
  if (leaves == 0) return {};
  Nodes fresh = 0;
  if (movable(job) && idle_for(job) > 0) {
    const NodeSet among = idle.among(avoided(job, nodes));
    const Nodes there = idle_for(job) - open(job, among).count();
    const std::int64_t free_mw = free_power_mw() - booked_power_mw(expected_end(job));
    fresh = powered(job, std::min(leaves, there), free_mw);
  }
  if (fresh == leaves) return {job.holding.count, fresh};
  if (!may_shrink) return {};
  const Nodes size = size_without(job, leaves - fresh);
  const Nodes stay = job.holding.count - leaves;
  return {size, size > stay ? size - stay : 0};
}

bool State::is_free(const Job& job) const {
  return job.status == Status::running && job.doing == Doing::nothing &&
         job.claim == ClaimId::none && now >= job.not_before;
}

bool State::resizable(JobId id) const {
  const Job& job = jobs[id];
  return is_free(job) && job.ordered == 0 && sizes_while_running(job.spec.type) &&
         world_can_resize(job) && is_alone(job);
}

bool State::can_leave_shared(JobId id) const {
  const Job& job = jobs[id];
  return capabilities.moves && is_free(job) && job.ordered == 0 &&
         sizes_while_running(job.spec.type) && world_can_resize(job) && !job.holding.parts.empty();
}

Claim* Facts::find(ClaimId id) {
  const auto at = std::ranges::lower_bound(claims, id, {}, &Claim::id);
  return at != claims.end() && at->id == id ? &*at : nullptr;
}

Unanswered* Facts::find(DecisionId id) {
  const auto at = std::ranges::lower_bound(unanswered, id, {},
                                           [](const Unanswered& u) { return u.decision.id; });
  return at != unanswered.end() && at->decision.id == id ? &*at : nullptr;
}

std::vector<Standing> State::standings() const {
  if (!traits.goes_by_uses()) return {};
  return traits.order == QueueOrder::fairshare
             ? uses.standings(now, traits.fair_share)
             : uses.factors(now, traits.fair_share, traits.multifactor);
}

void State::resort() {
  sorting = {now, standings(), JobId{}};
  queue.resort(
      traits.order, now, jobs, [this](JobId id) { return start_need(jobs[id]); }, sorting.standings,
      ranking(*this));
}

Duration State::backlog_of(Wide node_us) const {
  constexpr Wide kMost = Duration::max().count() / 4;
  const Nodes nodes = std::max<Nodes>(held + claimed + idle.count(), 1);
  return Duration{static_cast<std::int64_t>(std::min(node_us / nodes, kMost))};
}

Duration State::backlog() const {
  Wide node_us = waiting_work();
  releases.for_each([&](Time at, ReleaseTag who, std::int64_t nodes) {
    if (who.kind() == ReleaseTag::Kind::boot || at <= now) return;
    node_us += Wide{nodes} * (at - now).count();
  });
  return backlog_of(node_us);
}

JobId State::overdue_before() const {
  const auto waited_too_long = [&](JobId id, Duration backlog) {
    const Wide bound = Decimal(traits.overdue.slack).floor_of(backlog.count());
    return id != JobId::none &&
           (now - jobs[id].spec.submitted - traits.overdue.grace).count() > bound;
  };
  JobId first = queue.submitted_from(sorting.overdue);
  // Most times nobody has, by what waits alone.
  if (!waited_too_long(first, backlog_of(waiting_work()))) return sorting.overdue;
  const Duration all = backlog();
  JobId before = sorting.overdue;
  for (; waited_too_long(first, all); first = queue.submitted_from(before)) {
    before = JobId{index(first) + 1};
  }
  return before;
}

void State::refresh_order() {
  if (traits.order == QueueOrder::area) {
    sorting.at = now;
    sorting.overdue = overdue_before();
    const auto need = [this](JobId id) { return start_need(jobs[id]); };
    if (queue.set_overdue(sorting.overdue, now, jobs, need)) ++changes;
    return;
  }
  sorting.at = now;
  sorting.standings = standings();
  if (queue.advance(now, jobs, sorting.standings)) ++changes;
}

Decision& State::decide(Decision::Kind kind, JobId job, Reason reason, RequestId request) {
  ++changes;
  Decision& decision = decisions.emplace_back();
  decision.id = DecisionId{next_decision++};
  decision.kind = kind;
  decision.job = job;
  decision.reason = reason;
  decision.request = request;
  if (decision.answered()) {
    ++asked;
    if (kind == Decision::Kind::start && capabilities.instant_start) {
      ++answered;
    } else {
      unanswered.emplace_back().decision = decision;
    }
  }
  return decision;
}

Decision& State::decision_of_pass(DecisionId id) {
  return decisions[decisions.size() - (next_decision - index(id))];
}

void State::run(JobId id, Holding&& nodes) {
  Job& job = jobs[id];
  job.status = Status::running;
  job.target = job.first_size = nodes.count;
  job.holding = std::move(nodes);
  job.started = job.work_at = now;
  job.pace = pace_of(job, job.holding);
  job.limit = later(now, estimate_held(job, job.target));
  job.not_before = now + kTick;
  plan_start(id, kNever);
  if (job.spec.type != JobType::rigid && !job.goes_on) {
    job.work_left = job.spec.work_of(job.spec.walltime);
    if (job.adaptive != Job::kNoRow) adaptive[job.adaptive].had.clear();
  }
  job.running_at = static_cast<std::uint32_t>(running.size());
  running.push_back(id);
  if (sizes_while_running(job.spec.type)) {
    put_running(running[running_malleable], running.size() - 1);
    put_running(id, running_malleable++);
  }
}

void State::put_running(JobId id, std::size_t place) {
  running[place] = id;
  jobs[id].running_at = static_cast<std::uint32_t>(place);
}

void State::start(JobId id, Holding&& nodes, Reason reason) {
  Job& job = jobs[id];
  if (!nodes.parts.empty()) join(id, nodes_in(nodes.parts));
  run(id, std::move(nodes));
  Decision& decision = decide(Decision::Kind::start, id, reason);
  decision.after.count = job.holding.count;
  if (rules.identities) decision.after.nodes = job.holding.nodes;
  decision.limit = job.limit;
  decision.step = job.step;
  job.doing = capabilities.instant_start ? Doing::nothing : Doing::starting;
  job.decision = decision.id;
  if (!job.holding.parts.empty()) {
    decision.after.parts = job.holding.parts;
    note_parts(id);
  }
  list(job, id);
  if (capabilities.instant_start && !planned_delays.empty()) settle_delays(id);
  follow_companies();  // who starts somebody inside foresees all there
}

void State::grow(JobId id, const Holding& more, Reason reason, RequestId request) {
  Job& job = jobs[id];
  const bool merges = in_pass(job);
  ++changes;
  before_change(job);
  Holding before = merges ? Holding{} : job.holding;
  job.holding.count += more.count;
  job.holding.nodes.insert(more.nodes);
  job.target = job.holding.count;
  if (!job.holding.parts.empty()) job.pace = pace_of(job, job.holding);
  if (merges) {
    Decision& decision = decision_of_pass(job.decision);
    decision.after = job.holding;
    if (decision.kind == Decision::Kind::start) {
      job.first_size = job.target;
      if (scales_limit(job)) {
        job.limit = decision.limit = later(job.started, estimate_held(job, job.target));
      }
    }
  } else {
    Decision& decision = decide(Decision::Kind::resize, id, reason, request);
    decision.after = job.holding;
    job.doing = Doing::resizing;
    job.decision = decision.id;
    unanswered.back().before = std::move(before);
    unanswered.back().expected = unanswered.back().decided = now;
  }
  after_change(job, id);
}

void State::shrink(JobId id, Nodes to, Reason reason, RequestId request) {
  Job& job = jobs[id];
  ++changes;
  Holding after = kept(job, to, reason.job);
  before_change(job);
  if (!in_pass(job)) {
    job.decision = decide(Decision::Kind::resize, id, reason, request).id;
    job.doing = Doing::resizing;
    const AdaptiveSpec* spec = adaptive_spec(job);
    unanswered.back().before = job.holding;
    unanswered.back().decided = now;
    unanswered.back().expected = now + (spec ? spec->resize_delay : Duration{});
  } else {
    unlist_incoming(*find(job.decision));
  }
  job.target = to;
  Unanswered& u = *find(job.decision);
  u.releases = healthy(job.holding) - healthy(after);
  u.releases_mw = releases_mw(job, after);
  if (by_name()) u.decision.after = after;
  decision_of_pass(job.decision).after = std::move(after);
  after_change(job, id);
  list_incoming(u);
}

void State::stop(JobId id, Stop how, Reason reason) {
  Job& job = jobs[id];
  ++changes;
  before_change(job);
  job.decision = decide(kind_of(how), id, reason).id;
  job.doing = Doing::stopping;
  job.target = 0;
  const AdaptiveSpec* spec = adaptive_spec(job);
  Unanswered& open = unanswered.back();
  open.before = job.holding;
  open.decided = now;
  open.expected = now + (spec && how == Stop::suspend ? spec->resize_delay : Duration{});
  open.stays = shared_of(job);
  open.releases = healthy(job.holding) - difference(open.stays, not_up).count();
  open.releases_mw = drawn_mw(job, job.holding);
  after_change(job, id);
  list_incoming(open);
}

// --- Shared nodes
// ------------------------------------------------------------------------------------

Slice State::whole(std::uint32_t node) const { return whole_of(platform, cells, node); }

Pace State::pace_beside(const Job& job, const Holding& holding, ShareModel model,
                        const Contention& contention, IsThere is_there) const {
  const std::uint16_t units = contention.is_off() ? std::uint16_t{1} : kPerMille;
  const Pace its =
      pace_on(platform, holding, model, job.spec.cores, units,
              [&](std::uint32_t node) { return efficiency_on(node, job, contention, is_there); });
  if (job.step == 0) return its;
  const Pace frequency = this->frequency(job);
  return {its.has * frequency.has, its.of * frequency.of};
}

std::uint16_t State::efficiency_on(std::uint32_t node, const Job& job, const Contention& contention,
                                   IsThere is_there) const {
  std::uint16_t least = kPerMille;
  const auto at = sharers.find(node);
  if (at == sharers.end()) return least;
  for (const JobId id : at->second) {
    const Job& other = jobs[id];
    if (&other == &job || !is_there(id)) continue;
    least = std::min(least, contention.of(job.spec.bound, other.spec.bound));
  }
  return least;
}

std::optional<Bound> State::bound_beside(const Job& job) const {
  std::optional<Bound> bound;
  bool is_one = true;
  for_each_node(settled(job).nodes, [&](std::uint32_t node) {
    bool is_alone_there = true;
    const auto at = sharers.find(node);
    if (at == sharers.end()) {
      is_one = false;
      return;
    }
    for (const JobId id : at->second) {
      if (&jobs[id] == &job || !runs(id)) continue;
      is_one &= !bound || *bound == jobs[id].spec.bound;
      bound = jobs[id].spec.bound;
      is_alone_there = false;
    }
    is_one &= !is_alone_there;
  });
  return is_one ? bound : std::nullopt;
}

Pace State::believed_pace(const Job& job, IsThere is_there) const {
  const auto pace = [&](const Holding& holding) {
    return pace_beside(job, holding, rules.share, rules.contention, is_there);
  };
  if (job.doing != Doing::resizing) return pace(job.holding);
  const Unanswered& open = *find(job.decision);
  return std::min(pace(open.before), pace(open.decision.after));
}

NodeSet State::shared_of(const Job& job) const {
  return shared_where(sharers, job.holding.nodes, [](const std::vector<JobId>&) { return true; });
}

bool State::is_alone(const Job& job) const {
  if (!job.holding.parts.empty() || sharers.empty()) return job.holding.parts.empty();
  // Who has his nodes whole shares them only with a guest to come.
  const auto comes = [](const Claim& claim) { return !claim.inside.empty(); };
  return std::ranges::none_of(claims, comes) || shared_of(job).empty();
}

std::optional<std::vector<JobId>> State::guests_of(JobId id) const {
  const NodeSet& its = jobs[id].holding.nodes;
  const auto comes = [&](const Claim& claim) { return nodes_in(claim.inside).intersects(its); };
  if (std::ranges::any_of(claims, comes)) return std::nullopt;
  std::vector<JobId> guests;
  const NodeSet after_others = shared_where(sharers, its, [&](const std::vector<JobId>& who) {
    for (const JobId other : who) {
      if (other == id || std::ranges::find(guests, other) != guests.end()) continue;
      guests.push_back(other);
    }
    return who.front() != id;
  });
  if (!after_others.empty()) return std::nullopt;
  return guests;
}

bool State::is_over(const NodeSet& nodes) const {
  const auto there = rooms(nodes, false);
  return std::ranges::any_of(there, [](const auto& entry) { return entry.second.is_over; });
}

std::map<std::uint32_t, State::Room> State::rooms(const NodeSet& nodes, bool promised) const {
  std::map<std::uint32_t, Room> found;
  for_each_node(nodes, [&](std::uint32_t node) { found[node].left = whole(node); });
  const auto take = [](Room& room, const Slice& slice) {
    room.is_over |= !room.left.covers(slice);
    room.left = minus(room.left, slice);
  };
  for (const JobId id : running) {
    const Holding& its = jobs[id].holding;
    for_each_node(intersection(its.nodes, nodes), [&](std::uint32_t node) {
      const Slice* const part = ductile::find(its.parts, node);
      take(found[node], part ? *part : whole(node));
    });
  }
  if (!promised) return found;
  for (const Claim& claim : claims) {
    for (const Part& part : claim.inside) {
      for_each_node(intersection(part.nodes, nodes),
                    [&](std::uint32_t node) { take(found[node], part.has); });
    }
  }
  return found;
}

std::vector<Part> State::spare(const NodeSet& nodes) const {
  std::vector<Part> parts;
  for (const auto& [node, room] : rooms(nodes)) {
    if (!room.is_over && room.left.cores > 0) put(parts, NodeSet{{{node, node}}}, room.left);
  }
  return parts;
}

void State::change_cores(JobId id, std::vector<Part>&& parts, bool more, Reason reason) {
  Job& job = jobs[id];
  ++changes;
  Holding after = job.holding;
  after.parts = std::move(parts);
  before_change(job);
  // As at a resize: what is more counts when it is there.
  const bool is_instant = capabilities.instant_cores;
  const Pace its = pace_of(job, after);
  const Pace pace = is_instant ? its : std::min(job.pace, its);
  const bool is_other = pace != job.pace;
  const double speed_before = speed(job);
  if (is_other) note_progress(job, job.holding.count);
  job.pace = pace;
  Decision& decision =
      decide(is_instant ? Decision::Kind::cores : Decision::Kind::resize, id, reason);
  decision.after = after;
  if (is_instant) {
    job.holding = std::move(after);
  } else {
    job.decision = decision.id;
    job.doing = Doing::resizing;
    const AdaptiveSpec* spec = adaptive_spec(job);
    Unanswered& open = unanswered.back();
    open.before = job.holding;
    open.decided = now;
    open.expected = now + (spec ? spec->resize_delay : Duration{});
    open.decision.after = after;
    if (more) job.holding = std::move(after);
  }
  note_parts(id);
  // An end that moves with the work is foreseen by the caller.
  if (is_other && !scales_limit(job)) follow_speed(job, speed_before, reason);
  after_change(job, id);
}

void State::change_frequency(JobId id, std::uint8_t step, Reason reason) {
  Job& job = jobs[id];
  ++changes;
  before_change(job);
  const double speed_before = speed(job);
  note_progress(job, job.holding.count);
  job.step = step;
  job.pace = believed_pace(job);
  decide(Decision::Kind::frequency, id, reason).step = step;
  follow_speed(job, speed_before, reason);
  after_change(job, id);
}

// Paper 004 leaves open what is believed of mates when their guest ends; docs/architecture.md
// says it.
void State::foresee(JobId id) {
  struct Player {
    JobId id;
    const Job* job;
    bool moves = true;  // its end follows its speed
    Holding holding{};
    Pace pace{};
    Time at{};      // since then it has this pace,
    Work left = 0;  //   and so much was left then
    Time end{};
    bool is_over = false;
    bool has_gained = false;  // cores of others
  };
  std::vector<Player> players;
  const auto add = [&](JobId its) {
    const auto is_it = [&](const Player& player) { return player.id == its; };
    if (std::ranges::any_of(players, is_it)) return;
    const Job& job = jobs[its];
    Player& player = players.emplace_back(Player{.id = its, .job = &job});
    if (job.status != Status::running) {  // its claim waits to be a guest
      const Claim& claim = *find(job.claim);
      player.moves = false;
      player.holding.nodes = nodes_in(claim.inside);
      player.holding.parts = claim.inside;
      player.end = std::max(claim.release, now + kTick);
      return;
    }
    player.moves = scales_limit(job) && job.spec.type != JobType::rigid;
    player.holding = job.holding;
    player.pace = job.pace;
    player.at = job.work_at;
    player.left = job.work_left;
    const Time end = later(player.at, time_left(job, player.left, settled(job).count));
    player.end = !player.moves ? expected_end(job) : end > now ? end : now + whole_seconds(1);
  };
  add(id);
  for (std::size_t i = 0; i < players.size(); ++i) {
    const NodeSet nodes = players[i].holding.nodes;
    shared_where(sharers, nodes, [&](const std::vector<JobId>& who) {
      for (const JobId other : who) add(other);
      return false;
    });
  }
  // Who holds nodes first is given what others leave of them. What is left of a job is found out
  // where its pace changes, as when that happens: nothing is rounded more often.
  std::ranges::sort(players, {}, [](const Player& player) {
    const bool runs = player.job->status == Status::running;
    return std::tuple(!runs, runs ? player.job->started : Time{}, player.id);
  });
  const auto is_there = [&](JobId its) {
    const auto at = std::ranges::find(players, its, &Player::id);
    return at != players.end() && !at->is_over && runs(its);
  };
  const auto pace = [&](const Player& player) {
    if (!player.has_gained) return believed_pace(*player.job, is_there);
    return pace_beside(*player.job, player.holding, rules.share, rules.contention, is_there);
  };
  for (std::size_t going = players.size(); going > 1;) {
    Time first = kNever;
    for (const Player& player : players) {
      if (!player.is_over) first = std::min(first, player.end);
    }
    std::vector<Part> given;
    for (Player& player : players) {
      if (player.is_over || player.end != first) continue;
      player.is_over = true;
      --going;
      for (const Part& part : player.holding.parts) given.push_back(part);
    }
    for (Player& player : players) {
      if (player.is_over || !player.moves) continue;
      // Who is left alone is given nothing, and what is kept for it goes to nobody else.
      const bool is_left_alone = !capabilities.instant_cores && first < player.job->not_before;
      Holding kept;
      if (is_left_alone) kept = player.holding;
      const bool gains = take_given(is_left_alone ? kept : player.holding, given) && !is_left_alone;
      player.has_gained |= gains;
      if (!gains && rules.contention.is_off()) continue;
      const Pace its = pace(player);
      if (its == player.pace) continue;
      const Nodes count = settled(*player.job).count;
      player.left = left_after(*player.job, player.left, count, player.pace, first - player.at);
      player.at = first;
      player.pace = its;
      if (player.left <= 0) continue;
      player.end = later(first, time_left(*player.job, player.left, count, player.pace));
    }
  }
  for (const Player& player : players) {
    if (!player.moves || player.end == player.job->limit) continue;
    Job& job = jobs[player.id];
    before_change(job);
    set_limit(job, player.end, {Why::guest});
    after_change(job, player.id);
  }
}

std::vector<JobId> State::follow_companies() {
  if (std::exchange(companies_followed, companies) == companies) return {};
  if (rules.contention.is_off()) return {};
  return find_paces();
}

std::vector<JobId> State::believe_contention(const Contention& contention) {
  rules.contention = contention;
  return find_paces();
}

std::vector<JobId> State::find_paces() {
  std::vector<JobId> others;
  for (const JobId id : parted) {
    Job& job = jobs[id];
    const Pace its = believed_pace(job);
    if (its == job.pace) {
      job.pace = its;  // as it is found out anew
      continue;
    }
    before_change(job);
    const bool starts = job.doing == Doing::starting;
    if (!starts) note_progress(job, settled(job).count);
    const double speed_before = speed(job);
    job.pace = its;
    if (starts || !scales_limit(job)) follow_speed(job, speed_before, {Why::guest});
    after_change(job, id);
    others.push_back(id);
  }
  return others;
}

bool State::take_given(Holding& holding, std::vector<Part>& given) const {
  bool any = false;
  const auto take = [&](const NodeSet& nodes, const Slice& has) {
    if (nodes.empty()) return;
    erase(holding.parts, nodes);
    if (!(has == whole(nodes.parts.front().first))) put(holding.parts, nodes, has);
  };
  for (Part& gift : given) {
    std::vector<Part> gained;
    for (const Part& its : holding.parts) {
      NodeSet both = intersection(its.nodes, gift.nodes);
      if (!both.empty()) gained.push_back({std::move(both), plus(its.has, gift.has)});
    }
    for (const Part& more : gained) {
      any = true;
      gift.nodes.erase(more.nodes);
      if (platform.classes.empty()) take(more.nodes, more.has);
      for (const NodeClass& its : platform.classes) {
        take(intersection(more.nodes, its.nodes), more.has);
      }
    }
  }
  return any;
}

void State::note_parts(JobId id) {
  const auto at = std::ranges::lower_bound(parted, id);
  const bool is_there = at != parted.end() && *at == id;
  const bool has_some = !jobs[id].holding.parts.empty();
  if (has_some && !is_there) parted.insert(at, id);
  if (!has_some && is_there) parted.erase(at);
}

void State::join(JobId id, const NodeSet& nodes) {
  ++companies;
  for (const JobId other : running) {
    if (other == id) continue;
    for_each_node(intersection(jobs[other].holding.nodes, nodes), [&](std::uint32_t node) {
      std::vector<JobId>& who = sharers[node];
      if (who.empty()) who.push_back(other);
    });
  }
  for_each_node(nodes, [&](std::uint32_t node) {
    const auto at = sharers.find(node);
    if (at == sharers.end()) return;
    if (std::ranges::find(at->second, id) == at->second.end()) at->second.push_back(id);
  });
}

NodeSet State::give_up(JobId id, const NodeSet& nodes) {
  NodeSet rest = nodes, waited;
  const NodeSet shared =
      shared_where(sharers, nodes, [](const std::vector<JobId>&) { return true; });
  if (shared.empty()) return rest;
  ++companies;
  std::vector<JobId> others;
  for_each_node(shared, [&](std::uint32_t node) {
    for (const JobId other : sharers[node]) {
      if (other != id && std::ranges::find(others, other) == others.end()) others.push_back(other);
    }
  });
  const auto count_others = [&](int sign) {
    for (const JobId other : others) {
      if (runs(other)) count_nodes(jobs[other], sign);
    }
  };
  count_others(-1);
  for_each_node(shared, [&](std::uint32_t node) {
    std::vector<JobId>& who = sharers[node];
    std::erase(who, id);
    spare_nodes.insert(node, node);
    (runs(who.front()) ? rest.erase({{{node, node}}}) : waited.insert(node, node));
    if (who.size() < 2) sharers.erase(node);
  });
  count_others(1);
  // A claim has those whole, as far as they are up, that nobody else holds.
  for (Claim& claim : claims) {
    const NodeSet whole = intersection(nodes_in(claim.inside), waited);
    if (whole.empty()) continue;
    unlist(claim);
    erase(claim.inside, whole);
    for (Pledge& pledge : claim.pledges) pledge.inside.erase(whole);
    const NodeSet up = difference(whole, not_up);
    claim.held.nodes.insert(up);
    claim.held.count += up.count();
    claimed += up.count();
    rest.erase(up);
    list_row(claim);
  }
  for (const JobId other : others) refresh_row(other);
  return rest;
}

void State::leave_inside(JobId id, const NodeSet& nodes) {
  spare_nodes.insert(nodes);
  std::vector<JobId> others;
  for_each_node(nodes, [&](std::uint32_t node) {
    const auto at = sharers.find(node);
    if (at == sharers.end()) return;
    std::erase(at->second, id);
    for (const JobId other : at->second) {
      if (std::ranges::find(others, other) == others.end()) others.push_back(other);
    }
    if (at->second.size() < 2) sharers.erase(at);
  });
  for (const JobId other : others) refresh_row(other);
}

void State::forget_inside(Claim& claim, const NodeSet& nodes) {
  if (nodes.empty()) return;
  unlist(claim);
  erase(claim.inside, nodes);
  for (Pledge& pledge : claim.pledges) pledge.inside.erase(nodes);
  leave_inside(claim.job, nodes);
  list(claim);
}

void State::drop_lost_inside() {
  for (Claim& claim : claims) {
    if (claim.inside.empty()) continue;
    NodeSet lost;
    for (const auto& [node, room] : rooms(difference(nodes_in(claim.inside), claim.awaited()))) {
      if (room.is_over) lost.insert(node, node);
    }
    forget_inside(claim, lost);
  }
}

void State::refresh_mates_on(JobId id, const NodeSet& nodes) {
  std::vector<JobId> others;
  shared_where(sharers, nodes, [&](const std::vector<JobId>& who) {
    for (const JobId other : who) {
      if (other != id && std::ranges::find(others, other) == others.end()) others.push_back(other);
    }
    return false;
  });
  for (const JobId other : others) refresh_row(other);
}

void State::refresh_row(JobId id) {
  const Job& job = jobs[id];
  if (job.status != Status::running) {
    const Claim& claim = *find(job.claim);
    unlist(claim);
    return list_row(claim);
  }
  releases.move(job.release, job.release, ReleaseTag::of(id), sound_release(job));
  if (cells.is_one()) return;
  unlist_of(*this, job.release, ReleaseTag::of(id), job.holding.nodes);
  list_of(*this, job.release, ReleaseTag::of(id), job.holding.nodes,
          sound_nodes(*this, sharers, id, not_up));
}

// Where a limit holds at any size, what is left is time; else it is work.
void State::keep_work(Job& job, Duration paused) {
  note_progress(job, settled(job).count, paused);
  if (has_walltime_of_any_size(job)) {
    job.work_left = job.spec.work_of(at_speed(expected_end(job) - now, 1 / speed(job)));
  } else if (job.work_left == 0) {  // it has outlived what was believed
    job.work_left = job.spec.work_of(whole_seconds(1));
  }
  job.goes_on = true;
}

void State::leave(JobId id, const NodeSet& nodes, const Way& way, Reason reason) {
  if (way.fresh == 0) return shrink(id, way.size, reason);
  Job& job = jobs[id];
  NodeSet left = can_leave(job, nodes);
  NodeSet others = difference(idle.nodes(), avoided(job, nodes));
  const NodeSet stay = difference(job.holding.nodes, left);
  const Holding fresh{way.fresh, cells.is_one()
                                     ? placer.take(others, way.fresh, stay)
                                     : pick(cells, placer, others, open_cells(job), way.fresh)};
  resettle(id, united(stay, fresh.nodes), reason, RequestId::none);
}

void State::resettle(JobId id, const NodeSet& nodes, Reason reason, RequestId request) {
  Job& job = jobs[id];
  ++changes;
  const NodeSet joins = difference(nodes, job.holding.nodes);
  const Holding fresh{joins.count(), joins};
  if (fresh.count > 0) idle.take(fresh);
  before_change(job);
  job.decision = decide(Decision::Kind::resize, id, reason, request).id;
  job.doing = Doing::resizing;
  Holding after{nodes.count(), nodes};
  job.target = after.count;
  const AdaptiveSpec* spec = adaptive_spec(job);
  Unanswered& move = unanswered.back();
  move.before = job.holding;
  move.decided = now;
  move.expected = now + (spec ? spec->resize_delay : Duration{});
  move.stays = difference(shared_of(job), nodes);
  job.holding.count += fresh.count;
  job.holding.nodes.insert(fresh.nodes);
  move.releases = healthy(job.holding) - healthy(after) - difference(move.stays, not_up).count();
  move.releases_mw = releases_mw(job, after);
  if (by_name()) move.decision.after = after;
  decisions.back().after = std::move(after);
  after_change(job, id);
  list_incoming(move);
}

Holding State::kept(const Job& job, Nodes to, JobId beneficiary) const {
  if (!rules.identities) return {to, {}};
  NodeSet rest = job.holding.nodes;
  if (job.keep != Job::kNoKeep) rest.erase(NodeSet{{{job.keep, job.keep}}});
  if (!cells.is_one()) {
    // What it gave stays given.
    NodeSet given;
    if (job.doing == Doing::resizing && in_pass(job)) {
      given = difference(job.holding.nodes, find(job.decision)->decision.after.nodes);
      rest.erase(given);
    }
    Nodes give = job.holding.count - to - given.count();
    // How many of each cell is not for a placement to say.
    const auto replaced = [&](const NodeSet& of, const NodeSet& taken) {
      NodeSet found;
      for (const auto& [cell, count] : cells.spread(taken).parts) {
        NodeSet its = intersection(of, cells[cell].nodes);
        found.insert(placer.give_back(its, count));
      }
      return found;
    };
    const auto take = [&](const NodeSet& of) {
      NodeSet others = of;
      NodeSet taken = others.take_highest(std::min(give, of.count()));
      if (!placer.is_first()) taken = replaced(of, taken);
      rest.erase(taken);
      given.insert(taken);
      give -= taken.count();
    };
    take(intersection(rest, bookings.empty() ? not_up : to_leave(job, not_up)));
    const Cells wanted = jobs.knows(beneficiary) ? open_cells(jobs[beneficiary]) : kEveryCell;
    for (const Cells those : {wanted, ~wanted}) {
      Cells left = those & cells.spread(rest).cells();
      while (give > 0 && left != 0) {
        const double slowest = cells.slowest(left);
        Cells slow = 0;
        for_each_cell(left, [&](std::uint32_t cell) {
          if (cells[cell].speed == slowest) slow |= Cells{1} << cell;
        });
        take(intersection(rest, cells.nodes(slow)));
        left &= ~slow;
      }
    }
    return {to, difference(job.holding.nodes, given)};
  }
  NodeSet sick = intersection(rest, not_up);
  Nodes give = job.holding.count - to;
  NodeSet given = sick.take_highest(std::min(give, sick.count()));
  rest.erase(given);
  give -= given.count();
  given.insert(placer.give_back(rest, give));
  return {to, difference(job.holding.nodes, given)};
}

void State::put_out(const NodeSet& nodes, int sign) {
  const Nodes count = nodes.count();
  out_of_service += sign > 0 ? count : -count;
  const NodeSet off = difference(nodes, draining);  // one that drains is on
  on_mw -= sign * idle_draw_mw(*this, cells, {off.count(), off});
}

void State::free_sound_nodes(const Holding& nodes) {
  NodeSet sound = difference(nodes.nodes, not_up);
  const Nodes count = sound.count();
  if (count != nodes.count) put_out(difference(nodes.nodes, sound), 1);
  idle.give({count, std::move(sound)});
}

void State::release_to_claims(JobId from, const Holding& nodes, std::int64_t power_mw) {
  Holding left = nodes;
  std::vector<NodeSet> named;
  if (!cells.is_one()) named = dealt(from, difference(nodes.nodes, not_up));
  auto next = named.begin();
  for (Claim& claim : claims) {
    const auto is_his = [&](const Pledge& pledge) { return pledge.victim == from; };
    if (std::ranges::none_of(claim.pledges, is_his)) continue;
    unlist(claim);
    for (const Pledge& pledge : claim.pledges) {
      if (!is_his(pledge)) continue;
      Holding fed{std::min(pledge.count, healthy(left)), {}};
      if (next != named.end()) {
        fed = {next->count(), *next};
        left.nodes.erase(fed.nodes);
        claim.held.nodes.insert(fed.nodes);
        ++next;
      } else if (rules.identities) {
        NodeSet sound = difference(left.nodes, not_up);
        fed.nodes = placer.take(sound, fed.count, jobs[claim.job].holding.nodes);
        left.nodes.erase(fed.nodes);
        claim.held.nodes.insert(fed.nodes);
      }
      left.count -= fed.count;
      claim.held.count += fed.count;
      claimed += fed.count;
      const std::int64_t fed_mw = std::min(pledge.power_mw, power_mw);
      power_mw -= fed_mw;
      claim.held_mw += fed_mw;
      claimed_mw += fed_mw;
    }
    std::erase_if(claim.pledges, is_his);
    list(claim);
  }
  free_nodes(left);
}

void State::seize(const Holding& nodes) {
  if (!rules.identities) {
    Nodes missing = nodes.count;
    const Nodes from_idle = std::min(missing, idle.count());
    idle.take(Holding{from_idle, {}});
    missing -= from_idle;
    for (auto claim = claims.rbegin(); missing > 0 && claim != claims.rend(); ++claim) {
      const Nodes n = std::min(missing, claim->held.count);
      unlist(*claim);
      claim->held.count -= n;
      claimed -= n;
      list(*claim);
      missing -= n;
    }
    if (missing > 0) throw std::logic_error("the world gave a job nodes that others hold");
    return;
  }
  NodeSet left = nodes.nodes;
  NodeSet from_idle = idle.among(left);
  left.erase(from_idle);
  const Nodes idle_count = from_idle.count();
  idle.take({idle_count, std::move(from_idle)});
  for (Claim& claim : claims) {
    if (left.empty()) break;
    NodeSet taken = intersection(claim.held.nodes, left);
    if (taken.empty()) continue;
    unlist(claim);
    const Nodes n = taken.count();
    claim.held.nodes.erase(taken);
    claim.held.count -= n;
    claimed -= n;
    list(claim);
    left.erase(taken);
  }
  // What is not up may be nobody's; anything else has an owner.
  if (left.empty()) return;
  const auto holds = [&](JobId id) { return jobs[id].holding.nodes.intersects(left); };
  if (!not_up.contains(left) || std::ranges::any_of(running, holds)) {
    throw std::logic_error("the world gave a job nodes that others hold");
  }
  put_out(left, -1);
}

void State::plan_start(JobId id, Time at) {
  Job& job = jobs[id];
  const bool holds = job.reserved != kNever;
  job.reserved = at;
  if (holds == (at != kNever)) return;
  if (at != kNever) {
    job.planned_at = static_cast<std::uint32_t>(reserving.size());
    reserving.push_back(id);
    return;
  }
  const JobId last = reserving.back();
  reserving[job.planned_at] = last;
  jobs[last].planned_at = job.planned_at;
  reserving.pop_back();
}

void State::vacate(JobId id) {
  Job& job = jobs[id];
  unlist(job, id);
  Holding mine = std::move(job.holding);  // its nodes are empty now
  job.holding.count = 0;
  if (!parted.empty()) note_parts(id);
  std::size_t gap = job.running_at;
  if (gap < running_malleable) {
    put_running(running[--running_malleable], gap);
    gap = running_malleable;
  }
  const JobId last = running.back();
  running.pop_back();
  if (gap < running.size()) put_running(last, gap);
  if (std::exchange(job.leaves, false)) std::erase(leaving, id);
  if (!moves.empty()) std::erase_if(moves, [&](const MoveOrder& move) { return move.job == id; });
  if (!stops.empty()) std::erase_if(stops, [&](const StopOrder& stop) { return stop.job == id; });
  job.target = 0;
  job.keep = Job::kNoKeep;
  job.doing = Doing::nothing;
  job.pace = {};
  const std::int64_t power_mw = drawn_mw(job, mine);
  job.step = 0;
  if (!sharers.empty()) {
    mine.nodes = give_up(id, mine.nodes);
    mine.count = mine.nodes.count();
  }
  release(id, mine, power_mw);
}

void State::retire(JobId id) {
  Job& job = jobs[id];
  job.status = Status::over;
  plan_start(id, kNever);
  if (job.adaptive != Job::kNoRow) free_rows.push_back(job.adaptive);
  if (job.ordered != 0) std::erase(ordered, id);
  if (!planned_delays.empty()) {
    std::erase_if(planned_delays, [&](const PlannedDelay& planned) { return planned.job == id; });
  }
  const LaneId lane = job.spec.lane;
  jobs.retire(id);
  leave_lane(lane);
}

void State::dissolve_claims_outside(const CellTable& table) {
  std::vector<ClaimId> lost;
  for (const Claim& claim : claims) {
    NodeSet its = united(all_of(claim), nodes_in(claim.inside));
    for (const Pledge& pledge : claim.pledges) {
      if (cells.is_one() && pledge.count > 0) its.insert(given(*find(pledge.shrink)));
    }
    const Cells where = usable_cells(jobs[claim.job], table);
    if (where == 0 || !table.nodes(where).contains(its)) lost.push_back(claim.id);
  }
  for (const ClaimId id : lost) {
    if (find(id)) dissolve(id);
  }
}

void State::change_machine(const Platform& machine, const Capabilities& can) {
  CellTable table(machine, lanes, bookings);
  std::vector<ClaimId> lost;
  for (const Claim& claim : claims) {
    if (!claim.inside.empty() && !can.parts) lost.push_back(claim.id);
  }
  for (const ClaimId id : lost) {
    if (find(id)) dissolve(id);
  }
  dissolve_claims_outside(table);
  const bool other_steps = platform.steps != machine.steps;
  const bool other_speeds = other_steps || cells.speeds_differ() || table.speeds_differ() ||
                            cells[0].speed != table[0].speed || !parted.empty();
  std::vector<double> speeds;
  if (other_speeds) {
    for (const JobId id : running) {
      Job& job = jobs[id];
      speeds.push_back(speed(job));
      if (job.doing != Doing::starting) note_progress(job, settled(job).count);
    }
  }
  jobs.for_each([&](JobId id) {
    Job& job = jobs[id];
    const AdaptiveSpec* const spec = adaptive_spec(job);
    const bool says_itself = spec != nullptr && spec->watts_per_node > 0;
    // What was measured of it is its own.
    const double before = platform.busy_w_with(job.spec.cores);
    if (!says_itself && job.power_mw == milliwatts(before)) {
      job.power_mw = milliwatts(machine.busy_w_with(job.spec.cores));
    }
    job.power_class = same_class(platform, job.power_class, machine);
    job.step = static_cast<std::uint8_t>(std::min<std::size_t>(job.step, machine.steps.size()));
  });
  // More of them may be such as jobs may use.
  idle_grew = idle_grew || machine != platform;
  platform = machine;
  if (rules.identities) placer = Placer(rules.placement, platform);
  capabilities = can;
  if (rules.identities) health.resize(platform.nodes, Health::up);
  for (Unanswered& open : unanswered) {
    const Job& job = jobs[open.decision.job];
    open.releases_mw = ductile::releases_mw(*this, table, job, open.decision.after);
    trim_pledges(open);
  }
  power_grew();
  tell_cells_apart();
  if (other_steps) {
    for (const JobId id : running) jobs[id].pace = believed_pace(jobs[id]);
  }
  for (const JobId id : parted) {
    jobs[id].pace = believed_pace(jobs[id]);
    note_spare(jobs[id].holding.parts);
  }
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    follow_speed(jobs[running[i]], speeds[i], {Why::ordered});
  }
  for (Claim& claim : claims) {
    const Job& job = jobs[claim.job];
    claim.release = claim.start ? later(claim.expected, estimate(job, job.target)) : job.limit;
  }
  index_anew();
}

void State::reindex() {
  tell_cells_apart();
  index_anew();
}

void State::tell_cells_apart() {
  cells = CellTable(platform, lanes, bookings);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    describe(lanes[i], cells, cells.of(LaneId{static_cast<std::uint16_t>(i)}));
  }
  for (Unanswered& open : unanswered) deal_pledges(open);
}

void State::index_anew() {
  static_cast<Indices&>(*this) = ductile::index(*this);
  index_jobs();
  memo = {};
}

namespace {

// What they hold may be such as the others may not use.
void dissolve_claims_of(State& state, BookingId booking) {
  for (std::size_t i = 0; i < state.claims.size();) {
    const Job& job = state.jobs[state.claims[i].job];
    if (state.lanes[index(job.spec.lane)].where.booking == booking) {
      state.dissolve(state.claims[i].id);
      i = 0;  // others may go as well
    } else {
      ++i;
    }
  }
}

}  // namespace

void State::book(const Booking& booking) {
  std::vector<Booking> next = bookings;
  const auto known = std::ranges::find(next, booking.id, &Booking::id);
  if (known != next.end()) dissolve_claims_of(*this, booking.id);
  if (known == next.end()) {
    next.push_back(booking);
    next.back().id = BookingId{next_booking++};
    next.back().has_begun = false;
  } else if (booking.to <= now) {
    next.erase(known);
  } else {
    const bool has_begun = known->has_begun && booking.from <= now;
    *known = booking;
    known->has_begun = has_begun;
  }
  replace_bookings(std::move(next));
}

void State::replace_bookings(std::vector<Booking> next) {
  const CellTable table(platform, lanes, next);
  if (!table.is_whole() || !cells.is_whole()) dissolve_claims_outside(table);
  bookings = std::move(next);
  idle_grew = true;
  reindex();
}

bool State::turn_bookings() {
  const auto turns = [&](const Booking& each) { return each.turns() <= now; };
  if (std::ranges::none_of(bookings, turns)) return false;
  std::vector<Booking> next;
  for (const Booking& each : bookings) {
    if (each.to <= now) {
      dissolve_claims_of(*this, each.id);
      continue;
    }
    next.push_back(each);
    next.back().has_begun = each.from <= now;
  }
  must_wake = true;
  ++changes;
  replace_bookings(std::move(next));
  return true;
}

void State::change_health(const NodeSet& nodes, Health to) {
  on_mw -= off_draw_mw(*this, cells, intersection(switched_off, nodes));
  if (to == Health::off) on_mw += off_draw_mw(*this, cells, nodes);
  for (const Interval& part : nodes.parts) {
    std::fill(health.begin() + part.first, health.begin() + part.last + 1, to);
  }
  NodeSet nobodys = intersection(not_up, nodes);
  for (const JobId id : running) nobodys.erase(jobs[id].holding.nodes);
  put_out(nobodys, -1);  // and out again, as what they are from now on
  draining.erase(nodes);
  if (to == Health::draining) draining.insert(nodes);
  switched_off.erase(nodes);
  if (to == Health::off) switched_off.insert(nodes);
  // Rows of the releases that depend on the health of held nodes.
  std::vector<JobId> touched;
  for (const JobId id : running) {
    if (jobs[id].holding.nodes.intersects(nodes)) touched.push_back(id);
  }
  const NodeSet from_idle = idle.among(nodes);
  if (to == Health::up) {
    not_up.erase(nodes);
    const Nodes count = nobodys.count();
    idle.give({count, std::move(nobodys)});
    idle_grew = true;
  } else {
    not_up.insert(nodes);
    power_grew();
    put_out(nobodys, 1);
    put_out(from_idle, 1);
    idle.take({from_idle.count(), from_idle});
    for (Claim& claim : claims) {
      const NodeSet gone = intersection(claim.held.nodes, nodes);
      if (gone.empty()) continue;
      unlist(claim);
      claim.held.nodes.erase(gone);
      claim.held.count -= gone.count();
      claimed -= gone.count();
      put_out(gone, 1);
      list(claim);
    }
  }
  for (const JobId id : touched) {
    Job& job = jobs[id];
    if (Unanswered* u = find(job.decision); u && job.target < job.holding.count) {
      unlist_incoming(*u);
      const Holding& after = u->decision.after;
      u->releases = healthy(job.holding) - healthy(after) - difference(u->stays, not_up).count();
      trim_pledges(*u);
      list_incoming(*u);
    }
    before_change(job);
    change_row(job, id);
  }
  if (to == Health::up || sharers.empty()) return;
  for (Claim& claim : claims) {
    forget_inside(claim, intersection(nodes_in(claim.inside), nodes));
  }
}

std::vector<NodeSet> State::dealt(JobId victim, NodeSet nodes) const {
  struct Share {
    const Claim* claim;
    const Pledge* pledge;
    NodeSet gets;
  };
  std::vector<Share> shares;
  for (const Claim& claim : claims) {
    for (const Pledge& pledge : claim.pledges) {
      if (pledge.victim != victim) continue;
      Share& share = shares.emplace_back(Share{&claim, &pledge, {}});
      share.gets = intersection(pledge.nodes, nodes);
      nodes.erase(share.gets);
    }
  }
  // Who lacks some gets what nobody names, then what is named by those after it.
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Share& share = shares[i];
    const Cells where = usable_cells(jobs[share.claim->job]);
    const auto missing = [&] { return share.pledge->count - share.gets.count(); };
    share.gets.insert(pick(cells, placer, nodes, where, missing()));
    for (std::size_t later = shares.size() - 1; later > i && missing() > 0; --later) {
      share.gets.insert(pick(cells, placer, shares[later].gets, where, missing()));
    }
  }
  std::vector<NodeSet> result;
  for (Share& share : shares) result.push_back(std::move(share.gets));
  return result;
}

void State::deal_pledges(Unanswered& shrink) {
  std::vector<NodeSet> shares;
  if (!cells.is_one()) shares = dealt(shrink.decision.job, difference(given(shrink), not_up));
  auto next = shares.begin();
  shrink.promised = {};
  for (Claim& claim : claims) {
    for (Pledge& pledge : claim.pledges) {
      if (pledge.shrink != shrink.decision.id) continue;
      pledge.nodes = {};
      if (cells.is_one()) continue;
      pledge.nodes = std::move(*next++);
      const Nodes count = pledge.nodes.count();
      shrink.pledged -= pledge.count - count;
      pledge.count = count;
      shrink.promised.insert(pledge.nodes);
    }
  }
}

void State::trim_pledges(Unanswered& shrink) {
  if (!cells.is_one() && shrink.promised.intersects(not_up)) {
    const auto owed = [&](const Claim& claim) {
      return std::ranges::find(claim.pledges, shrink.decision.id, &Pledge::shrink) !=
             claim.pledges.end();
    };
    for (const Claim& claim : claims) {
      if (owed(claim)) unlist(claim);
    }
    deal_pledges(shrink);
    for (Claim& claim : claims) {
      if (owed(claim)) list(claim);
    }
  }
  for (auto claim = claims.rbegin(); claim != claims.rend(); ++claim) {
    for (Pledge& pledge : claim->pledges) {
      if (pledge.shrink != shrink.decision.id) continue;
      const Nodes over = shrink.pledged > shrink.releases ? shrink.pledged - shrink.releases : 0;
      const Nodes less = std::min(pledge.count, over);
      const std::int64_t over_mw =
          std::max<std::int64_t>(shrink.pledged_mw - shrink.releases_mw, 0);
      const std::int64_t less_mw = std::min(pledge.power_mw, over_mw);
      if (less == 0 && less_mw == 0) continue;
      unlist(*claim);
      pledge.count -= less;
      pledge.power_mw -= less_mw;
      shrink.pledged -= less;
      shrink.pledged_mw -= less_mw;
      list(*claim);
    }
  }
}

void State::free_pledges(const Claim& claim) {
  for (const Pledge& pledge : claim.pledges) {
    Unanswered& shrink = *find(pledge.shrink);
    unlist_incoming(shrink);
    shrink.pledged -= pledge.count;
    shrink.pledged_mw -= pledge.power_mw;
    if (!pledge.nodes.empty()) shrink.promised.erase(pledge.nodes);
    list_incoming(shrink);
  }
}

std::span<Claim> State::group_of(Claim& claim) {
  if (claim.group == ClaimId::none) return {&claim, 1};
  Claim* const first = find(claim.group);
  Claim* end = first;
  while (end != claims.data() + claims.size() && end->group == claim.group) ++end;
  return {first, end};
}

bool State::is_due(Claim& claim) {
  return std::ranges::all_of(group_of(claim), [](const Claim& its) { return its.pledges.empty(); });
}

bool State::can_take_idle(std::span<const Claim> group) const {
  bool waits = false;
  Nodes owed = 0;
  Time end = now;
  // What they need and do not hold, and what they hold too much.
  std::int64_t lacks_mw = 0, too_much_mw = 0;
  for (const Claim& claim : group) {
    if (std::ranges::any_of(claim.pledges, &Pledge::is_barrier)) return false;
    waits |= !claim.pledges.empty();
    end = std::max(end, claim.release);
    const Nodes its = claim.pledged();
    owed += its;
    const std::int64_t more_mw =
        budgeted_mw(jobs[claim.job], claim.held.count + its) - claim.held_mw;
    (more_mw > 0 ? lacks_mw : too_much_mw) += more_mw;
  }
  if (!waits || owed > idle.count()) return false;
  if (!cells.is_one()) {
    NodeSet left = idle.nodes();
    for (const Claim& claim : group) {
      const Nodes its = claim.pledged();
      const Cells where = open_cells(jobs[claim.job]);
      if (pick(cells, placer, left, where, its).count() < its) return false;
    }
  }
  return (lacks_mw > 0 ? lacks_mw : too_much_mw) <= free_power_mw() - booked_power_mw(end);
}

void State::take_idle(Claim& claim) {
  const Nodes owed = claim.pledged();
  const std::int64_t need_mw = budgeted_mw(jobs[claim.job], claim.held.count + owed);
  const std::int64_t owed_mw = std::max<std::int64_t>(need_mw - claim.held_mw, 0);
  unlist(claim);
  free_pledges(claim);
  claim.pledges.clear();
  const Holding taken = take_idle(jobs[claim.job], owed);
  claimed += owed;
  claim.held.count += owed;
  claim.held.nodes.insert(taken.nodes);
  claimed_mw += owed_mw;
  claim.held_mw += owed_mw;
  list(claim);
}

bool State::feed_claims() {
  bool any = false;
  for (std::size_t i = 0; i < claims.size();) {
    const std::span<Claim> group = group_of(claims[i]);
    if (can_take_idle(group)) {
      for (Claim& claim : group) take_idle(claim);
      any = true;
    }
    i += group.size();
  }
  return any;
}

void State::dissolve(ClaimId id) {
  std::vector<ClaimId> ids;
  for (const Claim& claim : group_of(*find(id))) ids.push_back(claim.id);
  for (const ClaimId each : ids) dissolve_alone(*find(each));
  must_wake = true;
  ++changes;
}

void State::dissolve_alone(Claim& claim) {
  Job& job = jobs[claim.job];
  unlist(claim);
  free_pledges(claim);
  if (!claim.inside.empty()) leave_inside(claim.job, nodes_in(claim.inside));
  claim.inside.clear();
  free_nodes(claim.held);
  claimed -= claim.held.count;
  claim.held = {};
  claimed_mw -= claim.held_mw;
  claim.held_mw = 0;
  job.claim = ClaimId::none;
  if (claim.start) {
    job.target = 0;
    enqueue(claim.job, job);
  }
  if (claim.request != RequestId::none) forget_delays(claim.request);
  remove_claim(claim.id);
}

void State::remove_claim(ClaimId id) {
  std::erase_if(claims, [&](const Claim& claim) { return claim.id == id; });
}

void State::answer(DecisionId id) {
  const auto at = std::ranges::lower_bound(unanswered, id, {},
                                           [](const Unanswered& u) { return u.decision.id; });
  unlist_incoming(*at);
  unanswered.erase(at);
  ++answered;
}

namespace {

Wide weighed(Wide number, double rate) {
  return rate == 1 ? number : rounded(static_cast<double>(number) * rate);
}

}  // namespace

Work State::work_in(const Job& job, Nodes size, const Pace& pace, Duration span,
                    double rate) const {
  const Work work = work_done(speedup(job), job.spec.preferred, crew(job, size, pace), span);
  return weighed(work, node_speed(job) * rate);
}

Work State::left_after(const Job& job, Work left, Nodes size, const Pace& pace,
                       Duration worked) const {
  const Duration span = worked < Duration{} ? -worked : worked;
  const double rate = job.adaptive == Job::kNoRow ? 1 : adaptive[job.adaptive].rate;
  const Work work = work_in(job, size, pace, span, rate);
  if (worked >= Duration{}) return std::max(left - work, Work{0});
  const Work whole = job.spec.work_of(job.spec.walltime);
  return std::max(left, work < whole - left ? left + work : whole);
}

void State::note_progress(Job& job, Nodes size, Duration paused) {
  const Duration worked = now - job.work_at - std::min(paused, now - job.started);
  if (job.adaptive != Job::kNoRow) {
    Adaptive& row = adaptive[job.adaptive];
    auto at = std::ranges::find(row.had, size, &TimeHad::nodes);
    if (at == row.had.end()) at = row.had.insert(at, {.nodes = size});
    const Wide time = at->time.count() + weighed(worked.count(), row.rate * speed(job));
    at->time = Duration{
        static_cast<std::int64_t>(std::clamp(time, Wide{0}, Wide{Duration::max().count()}))};
  }
  if (job.spec.type == JobType::rigid) return;
  job.work_left = work_left_after(job, size, worked);
  job.work_at = now;
}

void State::scale_limit(Job& job, Reason reason) {
  if (!scales_limit(job)) return;
  set_limit(job, later(now, time_left(job, job.work_left, job.holding.count)), reason);
}

void State::follow_speed(Job& job, double before, Reason reason) {
  const double its = speed(job);
  if (its == before || rules.limit == Rules::Limit::fixed) return;
  if (job.doing == Doing::starting) {
    set_limit(job, later(job.started, estimate_held(job, job.target)), reason);
  } else if (scales_limit(job)) {
    set_limit(job, later(now, time_left(job, job.work_left, settled(job).count)), reason);
  } else if (job.limit > now) {
    set_limit(job, later(now, at_speed(job.limit - now, its / before)), reason);
  }
}

void State::set_limit(Job& job, Time limit, Reason reason) {
  if (job.limit == limit) return;
  job.limit = limit;
  decide(Decision::Kind::set_limit, running[job.running_at], reason).limit = limit;
}

Time State::end_with(const Job& job, Duration walltime) const {
  if (!scales_limit(job)) {
    // A fixed limit does not tell at which speed it was set, but of one who goes on what it had.
    const bool tells = rules.limit == Rules::Limit::scaled || job.goes_on;
    const Time began = tells ? job.limit - at_speed(job.spec.walltime, speed(job)) : job.started;
    return later(began, at_speed(walltime, speed(job)));
  }
  const Work more = job.spec.work_of(walltime) - job.spec.work_of(job.spec.walltime);
  const Work left = std::max(work_left(job) + more, Work{0});
  return later(now, time_left(job, left, settled(job).count));
}

template <class Change>
void State::change_need(JobId id, const Change& change) {
  const Job& job = jobs[id];
  const bool is_queued = job.status == Status::pending && job.claim == ClaimId::none;
  if (is_queued) dequeue(id, job);
  change();
  if (is_queued) enqueue(id, job);
}

void State::believe_power(JobId id, double watts_per_node) {
  Job& job = jobs[id];
  const bool runs = job.status == Status::running;
  Unanswered* shrink = runs && job.target < job.holding.count ? find(job.decision) : nullptr;
  if (runs) before_change(job);
  change_need(id, [&] {
    job.power_mw = milliwatts(watts_per_node);
    // Measured of a job that runs: where it computes, on the slowest of its nodes.
    job.power_class = 0;
    job.is_power_measured = runs;
    if (!runs || !has_classes()) return;
    job.power_class = static_cast<std::uint8_t>(cells.slowest_class(job.holding.nodes));
  });
  if (runs) after_change(job, id);
  if (shrink) {
    unlist_incoming(*shrink);
    shrink->releases_mw = releases_mw(job, shrink->decision.after);
    trim_pledges(*shrink);
    list_incoming(*shrink);
  }
  power_grew();
}

void State::believe_walltime(JobId id, Duration walltime) {
  Job& job = jobs[id];
  if (job.status == Status::running) {
    unlist(job, id);
    job.limit = end_with(job, walltime);
    if (job.spec.type != JobType::rigid || job.goes_on) {
      job.work_left += job.spec.work_of(walltime) - job.spec.work_of(job.spec.walltime);
      job.work_left = std::max(job.work_left, Work{0});
    }
    list(job, id);
  }
  change_need(id, [&] {
    if (job.goes_on && job.status != Status::running) {
      JobSpec other = job.spec;
      other.walltime = walltime;
      job.work_left = work_left_of(job, other);
    }
    job.spec.walltime = walltime;
  });
}

void State::believe_model(JobId id, const Speedup& model) {
  Job& job = jobs[id];
  Adaptive& row = adaptive[job.adaptive];
  const auto learn = [&] {
    row.spec.speedup = model;
    job.work_left = job.spec.work_of(job.spec.walltime);
    for (const TimeHad& had : row.had) {
      job.work_left -= std::min(
          job.work_left, work_done(model, job.spec.preferred, crew(job, had.nodes), had.time));
    }
  };
  if (job.status != Status::running) {
    change_need(id, [&] {
      if (!job.goes_on || has_walltime_of_any_size(job)) {
        row.spec.speedup = model;
      } else {
        learn();
        job.work_left = std::max(job.work_left, least_work(job.spec));
      }
    });
    return;
  }
  unlist(job, id);
  learn();
  if (scales_limit(job)) {
    job.limit = later(job.work_at, time_left(job, job.work_left, settled(job).count));
  }
  list(job, id);
}

bool State::is_visible(const Request& request) const {
  const Job& job = jobs[request.job];
  return job.status == Status::running && job.doing == Doing::nothing && job.claim == ClaimId::none;
}

void State::retry(Time at) {
  if (at <= now) return;
  const auto place = std::ranges::lower_bound(retries, at);
  if (place == retries.end() || *place != at) retries.insert(place, at);
}

Delays& State::delays_of(const Party& party) {
  const auto at = std::ranges::find(delays, party, &Delays::party);
  return at != delays.end() ? *at : *delays.insert(at, {.party = party});
}

void State::delay(const Delay& delay, const Request& request) {
  Job& job = jobs[delay.job];
  const bool is_first = job.delayed == Duration{};
  const std::int64_t interval = now.time_since_epoch() / rules.fairness.interval;
  job.delayed += delay.by;
  for (const Party& party : parties_of(job.spec)) {
    Delays& its = delays_of(party);
    its.sum_s = faded(its) + to_seconds(delay.by);
    its.interval = interval;
    its.jobs += is_first ? 1 : 0;
    its.planned_s += to_seconds(delay.by);
  }
  if (job.status != Status::pending && job.status != Status::held) return;
  for (PlannedDelay& older : planned_delays) {
    if (older.job == delay.job) older.to = std::min(older.to, delay.from);
  }
  planned_delays.push_back({delay.job, request.id, parties_of(jobs[request.job].spec), delay.from,
                            later(delay.from, delay.by), delay.by, interval});
}

void State::forget_delays(RequestId request) {
  std::erase_if(planned_delays, [&](const PlannedDelay& planned) {
    if (planned.request != request) return false;
    Job& job = jobs[planned.job];
    job.delayed -= planned.counted;
    const bool was_only = planned.counted > Duration{} && job.delayed == Duration{};
    for (const Party& party : parties_of(job.spec)) {
      Delays& its = delays_of(party);
      // It has faded as the sum has.
      const auto passed = static_cast<double>(its.interval - planned.interval);
      its.sum_s -= to_seconds(planned.counted) * std::pow(rules.fairness.decay, passed);
      its.sum_s = std::max(its.sum_s, 0.0);  // no rounding below nothing
      its.jobs -= was_only ? 1 : 0;
      its.planned_s -= to_seconds(planned.counted);
    }
    return true;
  });
}

void State::settle_delays(JobId id) {
  const Job& job = jobs[id];
  std::erase_if(planned_delays, [&](const PlannedDelay& planned) {
    if (planned.job != id) return false;
    const double came = to_seconds(std::min(job.started, planned.to) - planned.from);
    if (came > 0) {
      for (const Party& party : parties_of(job.spec)) delays_of(party).suffered_s += came;
      for (const Party& party : planned.by) delays_of(party).caused_s += came;
    }
    return true;
  });
}

double State::faded(const Delays& of) const {
  const std::int64_t passed = now.time_since_epoch() / rules.fairness.interval - of.interval;
  return of.sum_s * std::pow(rules.fairness.decay, static_cast<double>(passed));
}

void State::count_nodes(const Job& job, int sign) {
  const Nodes n = counted(job);
  held += sign > 0 ? n : -n;
  if (rules.counts_uses)
    uses.change(job.spec.user, sign * std::int64_t{n}, now, traits.fair_share.half_life);
}

Nodes State::counted_of_shared(const Job& job) const {
  return job.holding.count - lent_to(sharers, running[job.running_at], job.holding.nodes).count();
}

Nodes State::sound_release_of(const Job& job) const {
  if (!sharers.empty()) {
    return sound_nodes(*this, sharers, running[job.running_at], not_up).count();
  }
  const Nodes sound = healthy(job.holding);
  return gives(job) ? sound - find(job.decision)->releases : sound;
}

void State::look_for_leaving(Job& job, JobId id) {
  if (job.leaves || job.doing != Doing::nothing) return;
  if (!may_leave(job, to_leave(job, draining))) return;
  job.leaves = true;
  leaving.push_back(id);
}

void State::list(Job& job, JobId id) {
  list_row(job, id);
  refresh_mates(id, job.holding.nodes);
}

void State::list_row(Job& job, JobId id) {
  job.release = job.limit;
  releases.insert(job.release, ReleaseTag::of(id), sound_release(job));
  if (budget_mw != kNoBudget) {
    power_releases.insert(job.release, ReleaseTag::of(id), drawn_later_mw(job));
  }
  if (!cells.is_one()) list_job_of(*this, *this, id, job.release);
  count(job, 1);
  look_for_draining(job, id);
}

void State::unlist(const Job& job, JobId id) {
  releases.erase(job.release, ReleaseTag::of(id));
  if (budget_mw != kNoBudget) power_releases.erase(job.release, ReleaseTag::of(id));
  if (!cells.is_one()) unlist_of(*this, job.release, ReleaseTag::of(id), job.holding.nodes);
  count(job, -1);
}

void State::before_change(const Job& job) {
  if (!cells.is_one()) {
    unlist_of(*this, job.release, ReleaseTag::of(running[job.running_at]), job.holding.nodes);
  }
  count(job, -1);
}

void State::after_change(Job& job, JobId id) {
  change_row(job, id);
  refresh_mates(id, job.holding.nodes);
}

void State::change_row(Job& job, JobId id) {
  const Time before = job.release;
  job.release = job.limit;
  releases.move(before, job.release, ReleaseTag::of(id), sound_release(job));
  if (budget_mw != kNoBudget) {
    power_releases.move(before, job.release, ReleaseTag::of(id), drawn_later_mw(job));
  }
  if (!cells.is_one()) list_job_of(*this, *this, id, job.release);
  count(job, 1);
  look_for_draining(job, id);
}

void State::list(Claim& claim) {
  list_row(claim);
  if (!claim.inside.empty()) refresh_mates(claim.job, nodes_in(claim.inside));
}

void State::list_row(const Claim& claim) {
  releases.insert(claim.release, ReleaseTag::of(claim.id),
                  releases_of_claim(*this, sharers, claim));
  if (budget_mw != kNoBudget) {
    power_releases.insert(claim.release, ReleaseTag::of(claim.id),
                          claim.held_mw + claim.pledged_mw());
  }
  if (!cells.is_one()) list_claim_of(*this, *this, claim);
}

void State::unlist(const Claim& claim) {
  releases.erase(claim.release, ReleaseTag::of(claim.id));
  if (!cells.is_one()) {
    unlist_of(*this, claim.release, ReleaseTag::of(claim.id),
              united(all_of(claim), nodes_in(claim.inside)));
  }
  if (budget_mw != kNoBudget) power_releases.erase(claim.release, ReleaseTag::of(claim.id));
}

void State::list_incoming(const Unanswered& shrink) {
  const ReleaseTag tag = ReleaseTag::incoming(shrink.decision.job);
  if (shrink.releases > 0) {
    releases.insert(shrink.expected, tag, shrink.releases - shrink.pledged);
    if (!cells.is_one()) {
      list_of(*this, shrink.expected, tag, given(shrink), unpromised(shrink));
    }
  }
  if (shrink.releases_mw > 0) {
    power_releases.insert(shrink.expected, tag, shrink.releases_mw - shrink.pledged_mw);
  }
}

void State::unlist_incoming(const Unanswered& shrink) {
  const ReleaseTag tag = ReleaseTag::incoming(shrink.decision.job);
  if (shrink.releases > 0) {
    releases.erase(shrink.expected, tag);
    if (!cells.is_one()) unlist_of(*this, shrink.expected, tag, given(shrink));
  }
  if (shrink.releases_mw > 0) power_releases.erase(shrink.expected, tag);
}

void State::list(const Boot& boot) {
  on_mw += idle_draw_mw(*this, cells, {boot.nodes.count(), boot.nodes});
  on_mw -= off_draw_mw(*this, cells, intersection(switched_off, boot.nodes));
  const ReleaseTag tag = ReleaseTag::boot(boot.batch);
  releases.insert(boot.ready, tag, boot.nodes.count());
  if (!cells.is_one()) list_of(*this, boot.ready, tag, boot.nodes, boot.nodes);
}

void State::unlist(const Boot& boot) {
  on_mw -= idle_draw_mw(*this, cells, {boot.nodes.count(), boot.nodes});
  on_mw += off_draw_mw(*this, cells, intersection(switched_off, boot.nodes));
  const ReleaseTag tag = ReleaseTag::boot(boot.batch);
  releases.erase(boot.ready, tag);
  if (!cells.is_one()) unlist_of(*this, boot.ready, tag, boot.nodes);
}

void State::note_idle() {
  const Nodes now_idle = idle.count();
  Time since = now;
  while (!idle_since.empty() && idle_since.back().idle >= now_idle) {
    since = idle_since.back().since;
    idle_since.pop_back();
  }
  if (now_idle > 0) idle_since.push_back({since, now_idle});
}

void State::budget(double low_w, double high_w) {
  for (const JobId id : running) unlist(jobs[id], id);
  for (const Claim& claim : claims) unlist(claim);
  for (const Unanswered& open : unanswered) unlist_incoming(open);
  corridor_low_w = low_w;
  power_grew();
  const bool was_bound = budget_mw != kNoBudget;
  budget_mw = std::isfinite(high_w) ? std::llround(high_w * 1000) : kNoBudget;
  const bool is_bound = budget_mw != kNoBudget;
  if (!is_bound) {
    claimed_mw = 0;
    for (Claim& claim : claims) {
      claim.held_mw = 0;
      for (Pledge& pledge : claim.pledges) pledge.power_mw = 0;
    }
  }
  for (Unanswered& open : unanswered) {
    const Job& job = jobs[open.decision.job];
    open.releases_mw = releases_mw(job, open.decision.after);
    if (!is_bound) open.pledged_mw = 0;
    list_incoming(open);
  }
  for (const Claim& claim : claims) list_row(claim);
  for (const JobId id : running) list_row(jobs[id], id);
  if (was_bound != is_bound) {
    queue.renew([this](JobId id) { return start_need(jobs[id]); });
  }
}

}  // namespace ductile
