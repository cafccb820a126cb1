#include "scheduling/blocks.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace ductile {
namespace {

bool start(Pass& pass, JobId id, Nodes nodes, Why why, const Spread& in, std::uint8_t step = 0) {
  const Spread* const cells = in.empty() ? nullptr : &in;
  return pass.start(id, exactly(nodes), {why}, {.in = cells, .step = step});
}

/// Behind which job none is looked at, if only so many are; `none`: all are.
JobId last_of(const Pass& pass, std::uint32_t jobs) {
  if (jobs >= pass.pending()) return JobId::none;
  JobId last = pass.first_pending();
  for (std::uint32_t i = 1; i < jobs; ++i) last = pass.next_pending(last);
  return last;
}

void start_in_order_by_cells(Pass& pass, InOrder options) {
  LanesInTurn lanes(pass);
  const JobId last = last_of(pass, options.jobs);
  for (JobId id = JobId::none; (id = lanes.next(pass, id)) != JobId::none;) {
    if (last != JobId::none && pass.before(last, id)) return;
    for (const Claim& claim : pass.claims()) {
      const bool is_first = options.strict && claim.start && pass.before(claim.job, id);
      if (is_first) lanes.waits(pass, pass.cells_now(claim.job));
    }
    const Nodes need = pass.start_need(id).nodes;
    const Cells free = lanes.free(pass.open_cells(id));
    const auto in = place_idle(pass, free, need);
    const bool may = in && lanes.has_power(pass, id) && (!options.may || options.may(id));
    if (may && start(pass, id, need, Why::in_order, *in)) continue;
    if (in && !options.may && !lanes.lacks_power() && start_slower(pass, id, free)) continue;
    lanes.waits(pass, id);
  }
}

}  // namespace

void LanesInTurn::waits(const Pass& pass, Cells cells) {
  waited_for_ |= cells;
  for (std::size_t lane = 0; lane < open_.size(); ++lane) {
    const Cells its = pass.cells_of(ReachId{static_cast<std::uint16_t>(lane)});
    if (free(its) == 0) open_[lane] = false;
  }
}

bool LanesInTurn::has_power(const Pass& pass, JobId id) const {
  const Nodes need = pass.start_need(id).nodes;
  return pass.demand(id, need).power_mw == 0 || (!power_ && pass.powered(id, need) == need);
}

bool LanesInTurn::start_slower(Pass& pass, JobId id) const {
  const Cells cells = pass.cells_now(id);
  return is_free(cells) && !lacks_power() && ductile::start_slower(pass, id, cells);
}

void LanesInTurn::waits(const Pass& pass, JobId id) {
  power_ |= !has_power(pass, id);
  waits(pass, pass.cells_now(id));
}

std::optional<Spread> place_idle(const Pass& pass, Cells cells, Nodes n) {
  if (pass.cell_count() == 1) {
    return cells != 0 && n <= pass.idle() ? std::optional<Spread>(Spread{}) : std::nullopt;
  }
  Spread in;
  for (const std::uint32_t cell : pass.cells_in_order()) {
    if ((cells >> cell & 1) == 0) continue;
    const Nodes its = std::min(n, pass.idle_of(cell));
    in.add(cell, its);
    n -= its;
  }
  return n == 0 ? std::optional<Spread>(std::move(in)) : std::nullopt;
}

void start_in_order(Pass& pass, InOrder options) {
  if (!pass.plans_together() || !pass.in_one_lane()) return start_in_order_by_cells(pass, options);
  for (std::uint32_t looked = 0; looked < options.jobs; ++looked) {
    const JobId id = pass.first_pending();
    if (id == JobId::none) return;
    const auto before = [&](const Claim& claim) {
      return claim.start && pass.before(claim.job, id);
    };
    if (options.strict && std::ranges::any_of(pass.claims(), before)) return;
    const Nodes need = pass.first_need().nodes;
    if (need > pass.idle() || (options.may && !options.may(id))) return;
    if (start(pass, id, need, Why::in_order, {})) continue;
    if (options.may || !start_slower(pass, id)) return;
  }
}

Timeline timeline_for(const Pass& pass, Backfill options) {
  Timeline plan = pass.timeline();
  const bool one_cell = !plan.by_cell();
  if (options.extra_is_free) {
    std::vector<std::vector<Overlay::Step>> extras(one_cell ? 1 : pass.cell_count());
    for (const JobId id : pass.running_malleable()) {
      const Nodes extra = pass.extra(id);
      if (extra == 0) continue;
      const Time end = pass.expected_end(id);
      if (one_cell) {
        extras[0].push_back({end, extra});
      } else {
        for (const auto& [cell, count] : pass.extra_by_cell(id).parts) {
          extras[cell].push_back({end, count});
        }
      }
    }
    for (std::uint32_t cell = 0; cell < extras.size(); ++cell) {
      plan.free_until(cell, std::move(extras[cell]));
    }
  }
  // What should have come by now is late, and counted a second from now. These are not late.
  if (const Demand soon = pass.incoming_now(); soon.nodes > 0 || soon.power_mw > 0) {
    const Time late = pass.now() + whole_seconds(1);
    if (one_cell) {
      plan.add(pass.now(), late, soon.nodes, soon.power_mw);
    } else {
      plan.add(pass.now(), late, pass.incoming_now_by_cell(), 1, soon.power_mw);
    }
  }
  return plan;
}

bool start_slower(Pass& pass, JobId id, Cells among) {
  if (pass.frequency_steps() == 0) return false;
  const Queue::Need need = pass.start_need(id);
  if (need.nodes > pass.idle(id)) return false;
  Timeline plan = timeline_for(pass, {});
  const Time at = plan.earliest(pass.demand(id, need.nodes), need.walltime, pass.now());
  return start_slower(pass, plan, id, Why::in_order, later(at, need.walltime), among);
}

bool start_slower(Pass& pass, Timeline& plan, JobId id, Why why, Time done, Cells among) {
  if (pass.frequency_steps() == 0) return false;
  const Nodes n = pass.start_need(id).nodes;
  Demand demand = pass.demand(id, n);
  demand.cells &= among;
  for (std::uint8_t step = 1; step <= pass.frequency_steps(); ++step) {
    const Pass::Slowed slow = pass.slowed(id, n, step);
    if (later(pass.now(), slow.length) > done) return false;
    demand.power_mw = slow.power_mw;
    Spread in;
    if (plan.earliest(demand, slow.length, pass.now(), in) != pass.now()) continue;
    if (!start(pass, id, n, why, in, step)) continue;
    plan.took(demand, in);
    return true;
  }
  return false;
}

Time reserve_earliest(const Pass& pass, Timeline& plan, JobId id) {
  const Queue::Need need = pass.start_need(id);
  const Demand demand = pass.demand(id, need.nodes);
  Spread in;
  const Time at = plan.earliest(demand, need.walltime, pass.job(id).not_before, in);
  plan.reserve(at, later(at, need.walltime), demand, in);
  return at;
}

void PlanDepth::open_lanes(const Pass& pass) {
  depth_ = pass.most_reservations();
  by_lane_ = ByLane{.open = std::vector<bool>(pass.reaches(), true),
                    .closed_at = std::vector<std::optional<JobId>>(pass.reaches()),
                    .made = std::vector<std::uint32_t>(64)};
}

void PlanDepth::count(const Pass& pass, JobId id) {
  auto& [open, closed_at, made] = *by_lane_;
  for (std::uint64_t its = pass.partitions_of(pass.reach_of(id)); its != 0; its &= its - 1) {
    ++made[static_cast<std::size_t>(std::countr_zero(its))];
  }
  for (std::size_t lane = 0; lane < open.size(); ++lane) {
    if (!open[lane]) continue;
    bool has_depth = false;
    std::uint64_t its = pass.partitions_of(ReachId{static_cast<std::uint16_t>(lane)});
    for (; its != 0; its &= its - 1) {
      has_depth |= made[static_cast<std::size_t>(std::countr_zero(its))] < wanted_;
    }
    if (has_depth && has_room()) continue;
    open[lane] = false;
    closed_at[lane] = id;
  }
}

Behind PlanDepth::behind(JobId last) const {
  if (!by_lane_) return {has_room() ? JobId::none : last};
  const bool any =
      std::ranges::any_of(by_lane_->closed_at, [](const auto& at) { return at.has_value(); });
  return {any ? last : JobId::none, by_lane_->closed_at};
}

namespace {

struct Planned {
  Time at;
  Duration length;
};

/// From a start to the end as it is planned.
Duration planned_length(Time start, Duration walltime, Duration resolution) {
  const Time end = later(start, walltime);
  if (resolution == Duration{} || end >= kNever - resolution) return walltime;
  return next_multiple(end, resolution) - start;
}

/// The earliest time at which a job fits until its planned end.
Planned plan_earliest(const Pass& pass, Timeline& plan, JobId id, const Demand& demand,
                      Duration walltime, const Backfill& options, Spread& in) {
  const Time not_before = pass.job(id).not_before;
  Duration length = planned_length(std::max(pass.now(), not_before), walltime, options.resolution);
  Time at = plan.earliest(demand, length, not_before, in);
  for (;;) {
    const Duration its = planned_length(at, walltime, options.resolution);
    if (its <= length) return {at, its};
    length = its;
    at = plan.earliest(demand, length, at, in);
  }
}

}  // namespace

Behind start_or_reserve(Pass& pass, Timeline& plan, Backfill options,
                        std::vector<Reservation>* made, std::optional<Instead> instead) {
  LaneMemo& memo = pass.memo();
  memo.depth = options.reservation_depth;
  PlanDepth depth(pass, options.reservation_depth);
  const bool slows = pass.frequency_steps() > 0;
  Cells passed = 0;  // somebody before waits for them
  JobId last = JobId::none;
  Spread in;
  std::uint32_t looked = 0;
  for (JobId id; looked < options.jobs && (id = depth.next(pass, last)) != JobId::none; ++looked) {
    last = id;
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    const auto [at, length] = plan_earliest(pass, plan, id, demand, need.walltime, options, in);
    const Why why = (passed & demand.cells) == 0 ? Why::in_order : Why::backfilled;
    const auto is_idle = [&](const Spread::Part& part) {
      return part.count <= pass.idle_of(part.cell);
    };
    if (at == pass.now() && !std::ranges::all_of(in.parts, is_idle)) {
      const auto idle_of = [&](std::uint32_t cell) { return pass.idle_of(cell); };
      if (auto idle = place_now(pass, plan, demand, length, idle_of)) in = *std::move(idle);
    }
    if (at == pass.now() && start(pass, id, need.nodes, why, in)) {
      plan.took(demand, in);
      continue;
    }
    if (instead && (*instead)(id, at)) return {};
    if (slows && at > pass.now() && start_slower(pass, plan, id, why, later(at, length))) continue;
    passed |= demand.cells;
    if (options.window > Duration{} && at > later(pass.now(), options.window)) continue;
    plan.reserve(at, later(at, length), demand, in);
    pass.reserve(id, at, {Why::resources});
    if (made) made->push_back({id, at});
    depth.made(pass, id);
  }
  depth.end(pass);
  memo.reserved = last;
  memo.reservations = depth.reservations();
  Behind behind = depth.behind(last);
  memo.lanes = behind.lanes;
  return behind;
}

namespace {

// Of a job that was started in this pass, as the next plan will believe it: on fast nodes less than
// what it asked for.
Duration believed_length(const Pass& pass, JobId id) { return pass.expected_end(id) - pass.now(); }

}  // namespace

void start_behind(Pass& pass, const Behind& behind, FreeCells& free) {
  if (pass.idle() == 0) return;
  if (free.cells.empty() && behind.lanes.empty()) {
    FreeProfile& all = free.all;
    for (JobId id = behind.last;
         pass.idle() > 0 && (id = pass.first_fit(id, all)) != JobId::none;) {
      const Queue::Need need = pass.start_need(id);
      const Demand demand = pass.demand(id, need.nodes);
      if (!all.fits(demand, need.walltime)) continue;
      if (start(pass, id, need.nodes, Why::backfilled, {})) all.take(demand, need.walltime);
    }
    return;
  }
  FitSearch search = fits_behind(pass, behind);
  for (JobId id; pass.idle() > 0 && (id = search.next(free)) != JobId::none;) {
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    if (!free.fits(demand, need.walltime)) continue;
    const Spread in = free.place(demand, need.walltime);
    if (!start(pass, id, need.nodes, Why::backfilled, in)) continue;
    free.take(demand, in, believed_length(pass, id));
    search.took(in.empty() ? kEveryCell : in.cells());
  }
}

void start_behind(Pass& pass, Timeline& plan, const Behind& behind, std::span<const JobId> others,
                  Instead instead) {
  FreeCells free;
  plan.from_now(free);
  limit_to_idle(pass, free);
  FitSearch search = fits_behind(pass, behind);
  const auto next_fit = [&] { return pass.idle() > 0 ? search.next(free) : JobId::none; };
  const auto starts = [&](JobId id) {
    if (pass.job(id).not_before > pass.now()) return false;
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    if (!free.fits(demand, need.walltime)) return false;
    const Spread in = free.place(demand, need.walltime);
    if (!start(pass, id, need.nodes, Why::backfilled, in)) return false;
    free.take(demand, in, believed_length(pass, id));
    search.took(in.empty() ? kEveryCell : in.cells());
    plan.took(demand, in);
    return true;
  };
  const auto is_planned = [&](JobId id) {
    if (behind.lanes.empty()) return !pass.before(behind.last, id);
    const std::size_t lane = index(pass.reach_of(id));
    return lane >= behind.lanes.size() || !behind.lanes[lane] ||
           !pass.before(*behind.lanes[lane], id);
  };
  JobId fit = next_fit();
  for (const JobId other : others) {
    if (is_planned(other)) continue;
    bool has_started = false;
    while (fit != JobId::none && (fit == other || pass.before(fit, other))) {
      has_started = starts(fit) && fit == other;
      fit = next_fit();
    }
    if (!has_started && instead(other, kNever)) return;
  }
  for (; fit != JobId::none; fit = next_fit()) starts(fit);
}

FitSearch fits_behind(const Pass& pass, const Behind& behind) {
  if (!behind.anybody()) return pass.fits_behind({});
  const std::vector<std::optional<JobId>> one_lane{behind.last};
  return pass.fits_behind(behind.lanes.empty() ? one_lane : behind.lanes);
}

std::optional<Spread> place_now(const Pass& pass, Timeline& plan, const Demand& demand,
                                Duration length, FunctionRef<Nodes(std::uint32_t)> there) {
  FreeCells free;
  plan.from_now(free);
  if (!plan.by_cell()) {  // any of them
    Spread in;
    Nodes left = demand.nodes;
    for (const std::uint32_t cell : pass.cells_in_order()) {
      const Nodes n = std::min(left, there(cell));
      in.add(cell, n);
      left -= n;
    }
    const bool fits = left == 0 && free.fits(demand, length);
    return fits ? std::optional<Spread>(std::move(in)) : std::nullopt;
  }
  for (std::uint32_t cell = 0; cell < pass.cell_count(); ++cell) free.limit(cell, there(cell));
  if (!free.fits(demand, length)) return std::nullopt;
  return free.place(demand, length);
}

FreeCells idle_cells(const Pass& pass) {
  FreeCells idle;
  if (pass.has_bookings()) {
    pass.idle_timeline().from_now(idle);
    idle.all.power.clear();
    return idle;
  }
  if (pass.cell_count() == 1) {
    idle.all.nodes.add({}, pass.idle());
    return idle;
  }
  const auto order = pass.cells_in_order();
  idle.order.assign(order.begin(), order.end());
  idle.cells.resize(pass.cell_count());
  for (std::uint32_t cell = 0; cell < pass.cell_count(); ++cell) {
    idle.cells[cell].add({}, pass.idle_of(cell));
  }
  return idle;
}

bool anybody_fits(const Pass& pass) {
  if (pass.idle() == 0 || pass.pending() == 0) return false;
  const std::vector<std::optional<JobId>> from_the_front(pass.reaches(), JobId::none);
  return pass.fits_behind(from_the_front).next(idle_cells(pass)) != JobId::none;
}

void limit_to_idle(const Pass& pass, FreeCells& free) {
  if (free.cells.empty()) return free.all.nodes.limit(pass.idle());
  for (std::uint32_t cell = 0; cell < free.count(); ++cell) free.limit(cell, pass.idle_of(cell));
}

namespace {

/// Would a plan that is made anew not come to this job?
bool is_behind(const Pass& pass, const LaneMemo& memo, JobId id) {
  if (memo.lanes.empty()) return !pass.before(id, memo.reserved);
  const std::size_t lane = index(pass.reach_of(id));
  return lane < memo.lanes.size() && memo.lanes[lane] && !pass.before(id, *memo.lanes[lane]);
}

}  // namespace

bool backfill_submitted(Pass& pass, LaneMemo& memo, Backfill options) {
  std::vector<JobId>& fresh = memo.fresh;
  fresh.clear();
  for (std::uint32_t i = memo.jobs; i < pass.submitted(); ++i) {
    const JobId id{i};
    if (pass.job(id).status != Status::pending) continue;
    if (!is_behind(pass, memo, id)) return false;
    Demand least = pass.start_need(id).least();
    if (pass.cell_count() > 1) {
      const Demand its = pass.demand(id, least.nodes);
      least.cells = its.cells;
      least.booking = its.booking;
    }
    if (memo.free.could_fit(least)) fresh.push_back(id);
  }
  // As the plan that is remembered would say it, with those who wait now.
  PlanDepth::end(pass, options.reservation_depth, memo.reservations);
  memo.free.move_on(pass.now() - memo.at);
  if (fresh.size() > 1) {
    std::ranges::sort(fresh, [&](JobId a, JobId b) { return pass.before(a, b); });
  }
  for (const JobId id : fresh) {
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    if (!memo.free.fits(demand, need.walltime)) continue;
    const Spread in = memo.free.place(demand, need.walltime);
    if (start(pass, id, need.nodes, Why::backfilled, in)) {
      memo.free.take(demand, in, believed_length(pass, id));
    }
  }
  pass.keep_memo();
  return true;
}

namespace {

void backfill_anew(Pass& pass, Backfill options) {
  if (pass.pending() == 0) return;
  pass.forget_memo();

  Timeline plan = timeline_for(pass, options);
  const Behind behind = start_or_reserve(pass, plan, options);
  if (!behind.anybody() || options.is_slurms()) return;

  LaneMemo& memo = pass.memo();
  plan.from_now(memo.free);
  limit_to_idle(pass, memo.free);
  start_behind(pass, behind, memo.free);
  // A reservation that begins now moves with time; others stay while nothing changes.
  if (!plan.begins_now()) pass.keep_memo();
}

}  // namespace

void backfill(Pass& pass, Backfill options) {
  if (!backfill_submitted(pass, options)) backfill_anew(pass, options);
}

void start_and_backfill(Pass& pass, Backfill options) {
  if (backfill_submitted(pass, options)) return;
  // With several lanes the plan has the cells that are left.
  if (pass.in_one_lane() && !options.is_slurms()) start_in_order(pass);
  backfill_anew(pass, options);
}

SizeRange start_sizes(const Pass& pass, JobId id) {
  const JobSpec& spec = pass.job(id).spec;
  if (!sizes_at_start(spec.type)) return exactly(spec.preferred);
  return {std::min(pass.smallest(id), spec.preferred), spec.preferred};
}

Nodes fitting_size(const Pass& pass, JobId id, Nodes free) {
  const SizeRange sizes = start_sizes(pass, id);
  if (free >= sizes.max) return sizes.max;
  if (free < sizes.min) return 0;
  return pass.sizes(id).at_most(free);
}

void switch_nodes(Pass& pass) {
  const Duration after = pass.node_off_after();
  if (after == Duration{}) return;
  if (const JobId head = pass.first_pending(); head != JobId::none) {
    const Nodes coming = pass.idle() + pass.incoming() + pass.booting();
    const Nodes need = pass.start_need(head).nodes;
    const Nodes on = std::min(need > coming ? need - coming : 0, pass.off());
    if (on > 0) pass.power_on(on, {Why::needed, head});
  }
  if (const Nodes on = pass.needed_on(); on > 0) pass.power_on(on, {Why::corridor});
  if (pass.pending() > 0) return;
  if (!pass.claims().empty()) return;
  Nodes unused = 0, known = 0;
  Time next = kNever;
  for (const IdleSince& its : pass.idle_since()) {
    known = its.idle;
    if (its.since + after > pass.now()) {
      next = its.since + after;
      break;
    }
    unused = std::min(its.idle, pass.idle());
  }
  // Those that became idle at this instant.
  if (next == kNever && pass.idle() > known) next = pass.now() + after;
  if (next != kNever) pass.wake_by(next);
  unused = pass.can_go_off(unused);
  if (unused > 0) pass.power_off(unused, {Why::unused});
}

void raise_frequencies(Pass& pass) {
  if (pass.platform().steps.empty()) return;
  for (const JobId id : pass.slowed_jobs()) {
    const std::int64_t spare_mw = pass.spare_power_mw(id);
    for (std::uint8_t step = 0; step < pass.job(id).step; ++step) {
      if (pass.raise_mw(id, step) > spare_mw) continue;
      if (pass.raise_frequency(id, step, {Why::hand_out})) break;
    }
  }
}

Time next_multiple(Time time, Duration period) {
  const Duration past = time.time_since_epoch() % period;  // negative before time 0
  return time - past + (past < Duration{} ? Duration{} : period);
}

void tick(Pass& pass, Duration period) {
  if (period <= Duration{}) return;
  if (pass.running().empty() && pass.pending() == 0 && pass.claims().empty()) return;
  pass.wake_by(next_multiple(pass.now(), period));
}

Left::Left(Timeline& plan) { plan.from_now(free_); }

Nodes Left::during(const Pass& pass, JobId id, Nodes n, Duration length) const {
  const Demand one = pass.demand(id, 1);
  std::int64_t most = std::min<std::int64_t>(n, free_.during(one.cells, length, one.booking));
  if (!free_.all.power.empty() && one.power_mw > 0) {
    most = std::min(most, free_.all.power.during(length) / one.power_mw);
  }
  return static_cast<Nodes>(std::max<std::int64_t>(most, 0));
}

Spread Left::idle(const Pass& pass, JobId id, Nodes n, Duration length) const {
  if (pass.cell_count() == 1) return {};
  FreeCells now = free_;
  limit_to_idle(pass, now);
  const Demand demand = pass.demand(id, n);
  if (!now.cells.empty()) return now.place(demand, length);
  const std::int64_t most = std::clamp<std::int64_t>(now.all.nodes.during(length), 0, n);
  return place_idle(pass, demand.cells, static_cast<Nodes>(most)).value_or(Spread{});
}

void Left::take(const Pass& pass, JobId id, Nodes n, Duration length, const Spread& in) {
  const Nodes first = in.count();
  if (first > 0) free_.take(pass.demand(id, first), in, length);
  if (first >= n) return;
  const Demand others = pass.demand(id, n - first);
  free_.take(others, free_.place(others, length), length);
}

Left left_by_reservations(Pass& pass, Backfill options) {
  Timeline plan = timeline_for(pass, options);
  PlanDepth depth(pass, options.reservation_depth);
  for (JobId id = JobId::none; (id = depth.next(pass, id)) != JobId::none;) {
    reserve_earliest(pass, plan, id);
    depth.made(pass, id);
  }
  depth.end(pass);
  return Left(plan);
}

Heads::Heads(const Pass& pass) {
  PlanDepth depth(pass, 1);
  JobId last = JobId::none;
  for (JobId id; (id = depth.next(pass, last)) != JobId::none;) {
    last = id;
    jobs.push_back(id);
    depth.made(pass, id);
  }
  behind = depth.behind(last);
}

void Shadow::reserve(Pass& pass, JobId head, Nodes need) {
  const Demand demand = pass.demand(head, need);
  const Duration length = pass.estimate(head, need);
  Spread in;
  const Time at = plan_.earliest(demand, length, pass.job(head).not_before, in);
  plan_.reserve(at, later(at, length), demand, in);
  pass.reserve(head, at, {Why::resources});
}

bool Shadow::allows(const Pass& pass, JobId id, Nodes n) const {
  return left_.during(pass, id, n, pass.estimate(id, n)) == n;
}

Spread Shadow::idle(const Pass& pass, JobId id, Nodes n) const {
  return left_.idle(pass, id, n, pass.estimate(id, n));
}

void Shadow::took(const Pass& pass, JobId id, Nodes n, const Spread& in) {
  left_.take(pass, id, n, pass.estimate(id, n), in);
}

std::optional<Spread> backfill_one(Pass& pass, JobId id, Shadow& shadow, SizeWith size) {
  Nodes n = size(pass, id, pass.idle(id));
  Spread in;
  while (n > 0) {
    in = shadow.idle(pass, id, n);
    if (pass.cell_count() == 1 || in.count() >= n) break;
    n = size(pass, id, in.count());
  }
  if (n == 0 || !shadow.allows(pass, id, n)) return std::nullopt;
  const Sources sources{.in = in.empty() ? nullptr : &in};
  if (!pass.start(id, exactly(n), {Why::backfilled}, sources)) return std::nullopt;
  shadow.took(pass, id, n, in);
  return in;
}

bool backfill_behind(Pass& pass, const Heads& heads, SizeWith size, std::uint32_t try_depth) {
  bool found = false;
  Shadow shadow(pass, heads.jobs, [&](JobId head) { return start_sizes(pass, head).min; });
  // That the smallest size fits does not mean that the job does.
  FreeCells idle = idle_cells(pass);
  std::uint32_t tried = 0;
  for (FitSearch search = fits_behind(pass, heads.behind);;) {
    const JobId id = search.next(idle);
    if (id == JobId::none || (try_depth != 0 && ++tried > try_depth)) return found;
    const std::optional<Spread> in = backfill_one(pass, id, shadow, size);
    if (!in) continue;
    idle.take(pass.demand(id, pass.job(id).size()), *in, kTick);
    search.took(in->empty() ? kEveryCell : in->cells());
    found = true;
  }
}

}  // namespace ductile
