#include "scheduling/blocks.hpp"

#include <algorithm>
#include <vector>

namespace ductile {
namespace {

bool start(Pass& pass, JobId id, Nodes nodes, Why why) {
  return pass.start(id, exactly(nodes), {why});
}

}  // namespace

void start_in_order(Pass& pass, InOrder options) {
  for (JobId id = pass.first_pending(); id != JobId::none; id = pass.first_pending()) {
    const auto before = [&](const Claim& claim) {
      return claim.start && pass.before(claim.job, id);
    };
    if (options.strict && std::ranges::any_of(pass.claims(), before)) return;
    const Nodes need = pass.start_need(id).nodes;
    if (need > pass.idle() || !start(pass, id, need, Why::in_order)) return;
  }
}

Timeline timeline_for(const Pass& pass, Backfill options) {
  Timeline plan = pass.timeline();
  if (options.extra_is_free) {
    std::vector<Overlay::Step> extras;
    for (const JobId id : pass.running_malleable()) {
      if (const Nodes extra = pass.extra(id); extra > 0) {
        extras.push_back({pass.expected_end(id), extra});
      }
    }
    plan.free_until(std::move(extras));
  }
  // What should have come by now is late, and counted a second from now. These are not late.
  if (const Nodes soon = pass.incoming_now(); soon > 0) {
    plan.add(pass.now(), pass.now() + whole_seconds(1), soon);
  }
  return plan;
}

Time reserve_earliest(const Pass& pass, Timeline& plan, JobId id) {
  const Queue::Need need = pass.start_need(id);
  const Demand demand = pass.demand(id, need.nodes);
  const Time at = plan.earliest(demand, need.walltime, pass.job(id).not_before);
  plan.reserve(at, later(at, need.walltime), demand);
  return at;
}

JobId start_or_reserve(Pass& pass, Timeline& plan, Backfill options,
                       std::vector<Reservation>* made) {
  LaneMemo& memo = pass.memo();
  memo.depth = options.reservation_depth;
  PlanDepth depth(pass, options.reservation_depth);
  JobId last = JobId::none;
  while (depth.has_room()) {
    const JobId id = last == JobId::none ? pass.first_pending() : pass.next_pending(last);
    if (id == JobId::none) return JobId::none;
    last = id;
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    const Time at = plan.earliest(demand, need.walltime, pass.job(id).not_before);
    const Why why = depth.reservations() == 0 ? Why::in_order : Why::backfilled;
    if (at == pass.now() && start(pass, id, need.nodes, why)) {
      plan.took(demand);
      continue;
    }
    plan.reserve(at, later(at, need.walltime), demand);
    pass.reserve(id, at, {Why::resources});
    if (made) made->push_back({id, at});
    depth.made();
  }
  depth.end(pass);
  memo.reserved = last;
  memo.reservations = depth.reservations();
  return last;
}

void start_behind(Pass& pass, JobId last, FreeProfile& free) {
  for (JobId id = last; pass.idle() > 0 && (id = pass.first_fit(id, free)) != JobId::none;) {
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    if (!free.fits(demand, need.walltime)) continue;
    if (start(pass, id, need.nodes, Why::backfilled)) free.take(demand, need.walltime);
  }
}

bool backfill_submitted(Pass& pass, Backfill options) {
  LaneMemo* const memo = pass.valid_memo();
  if (!memo || memo->depth != options.reservation_depth) return false;
  std::vector<JobId> fresh;
  for (std::uint32_t i = memo->jobs; i < pass.submitted(); ++i) {
    const JobId id{i};
    if (pass.job(id).status != Status::pending) continue;
    if (pass.before(id, memo->reserved)) return false;
    if (memo->free.could_fit(pass.start_need(id).least())) fresh.push_back(id);
  }
  // As the plan that is remembered would say it, with those who wait now.
  PlanDepth depth(pass, options.reservation_depth);
  depth.made(memo->reservations);
  depth.end(pass);
  memo->free.move_on(pass.now() - memo->at);
  if (fresh.size() > 1) {
    std::ranges::sort(fresh, [&](JobId a, JobId b) { return pass.before(a, b); });
  }
  for (const JobId id : fresh) {
    const Queue::Need need = pass.start_need(id);
    const Demand demand = pass.demand(id, need.nodes);
    if (memo->free.fits(demand, need.walltime) && start(pass, id, need.nodes, Why::backfilled)) {
      memo->free.take(demand, need.walltime);
    }
  }
  pass.keep_memo();
  return true;
}

void backfill(Pass& pass, Backfill options) {
  if (pass.pending() == 0) return;
  if (backfill_submitted(pass, options)) return;
  pass.forget_memo();

  Timeline plan = timeline_for(pass, options);
  const JobId last = start_or_reserve(pass, plan, options);
  if (last == JobId::none) return;

  LaneMemo& memo = pass.memo();
  plan.from_now(memo.free);
  memo.free.nodes.limit(pass.idle());
  start_behind(pass, last, memo.free);
  // A reservation that begins now moves with time; others stay while nothing changes.
  if (!plan.begins_now()) pass.keep_memo();
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

void tick(Pass& pass, Duration period) {
  if (period <= Duration{}) return;
  if (pass.running().empty() && pass.pending() == 0 && pass.claims().empty()) return;
  const Duration past = pass.now().time_since_epoch() % period;  // negative before time 0
  pass.wake_by(pass.now() - past + (past < Duration{} ? Duration{} : period));
}

Left::Left(Timeline& plan) { plan.from_now(free_); }

Nodes Left::during(const Pass& pass, JobId id, Nodes n, Duration length) const {
  std::int64_t most = std::min<std::int64_t>(n, free_.nodes.during(length));
  if (const std::int64_t each = pass.demand(id, 1).power_mw; !free_.power.empty() && each > 0) {
    most = std::min(most, free_.power.during(length) / each);
  }
  return static_cast<Nodes>(std::max<std::int64_t>(most, 0));
}

void Left::take(const Pass& pass, JobId id, Nodes n, Duration length) {
  free_.take(pass.demand(id, n), length);
}

Left left_by_reservations(Pass& pass, Backfill options) {
  Timeline plan = timeline_for(pass, options);
  PlanDepth depth(pass, options.reservation_depth);
  for (JobId id = pass.first_pending(); id != JobId::none && depth.has_room();
       id = pass.next_pending(id)) {
    reserve_earliest(pass, plan, id);
    depth.made();
  }
  depth.end(pass);
  return Left(plan);
}

Shadow::Shadow(Pass& pass, JobId head, Nodes need) {
  Timeline plan = pass.timeline();
  const Demand demand = pass.demand(head, need);
  const Duration length = pass.estimate(head, need);
  const Time at = plan.earliest(demand, length, pass.job(head).not_before);
  plan.reserve(at, later(at, length), demand);
  left_ = Left(plan);
  pass.reserve(head, at, {Why::resources});
}

bool Shadow::allows(const Pass& pass, JobId id, Nodes n) const {
  return left_.during(pass, id, n, pass.estimate(id, n)) == n;
}

void Shadow::took(const Pass& pass, JobId id, Nodes n) {
  left_.take(pass, id, n, pass.estimate(id, n));
}

}  // namespace ductile
