#include "scheduling/blocks.hpp"

#include <algorithm>

namespace ductile {

void start_in_order(Pass& pass, InOrder options) {
  for (JobId id = pass.first_pending(); id != JobId::none; id = pass.first_pending()) {
    const auto before = [&](const Claim& claim) { return claim.start && pass.before(claim.job, id); };
    if (options.strict && std::ranges::any_of(pass.claims(), before)) return;
    if (!pass.start(id, exactly(pass.job(id).spec.preferred), {Why::in_order})) return;
  }
}

void backfill(Pass& pass, Backfill options) {
  JobId id = pass.first_pending();
  if (id == JobId::none) return;
  Timeline plan = pass.timeline();
  std::uint32_t reserved = 0;
  const auto start = [&](JobId job, Demand demand) {
    const Why why = reserved == 0 ? Why::in_order : Why::backfilled;
    if (!pass.start(job, exactly(demand.nodes), {why})) return false;
    plan.took(demand);
    return true;
  };

  // In order: start, or reserve.
  JobId last = JobId::none;
  while (id != JobId::none && reserved < options.reservation_depth) {
    const Job& job = pass.job(id);
    const Demand demand = pass.demand(id, job.spec.preferred);
    const Time at = plan.earliest(demand, job.spec.walltime, std::max(pass.now(), job.not_before));
    last = id;
    id = pass.next_pending(id);
    if (at == pass.now() && start(last, demand)) continue;
    plan.reserve(at, later(at, job.spec.walltime), demand);
    pass.reserve(last, at, {Why::resources});
    ++reserved;
  }
  if (id == JobId::none || pass.idle() == 0) return;

  // The rest may only start now.
  Room nodes, power;
  plan.nodes_room(nodes);
  if (plan.powered()) plan.power_room(power);
  while ((id = pass.first_fit(last, nodes)) != JobId::none) {
    last = id;
    const Job& job = pass.job(id);
    const Demand demand = pass.demand(id, job.spec.preferred);
    const Duration walltime = job.spec.walltime;
    if (plan.powered() && demand.power_mw > power.during(walltime)) continue;
    if (!start(id, demand)) continue;
    nodes.take(demand.nodes, walltime);
    if (plan.powered()) power.take(demand.power_mw, walltime);
  }
}

}  // namespace ductile
