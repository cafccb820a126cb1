#include "policies/corridor_pass.hpp"

#include <algorithm>
#include <limits>

namespace ductile {
namespace {

bool runs(const Job& job) { return job.status == Status::running; }

}  // namespace

std::vector<JobId> running_by_id(const Pass& pass) {
  std::vector<JobId> running(pass.running().begin(), pass.running().end());
  std::ranges::sort(running);
  return running;
}

bool fits_no_line(const Pass& pass, JobId id, Nodes n) {
  std::int64_t high_mw = pass.corridor_high_mw();
  for (const ComingCorridor& its : pass.coming_corridors()) {
    high_mw = std::max(high_mw, its.high_mw);
  }
  if (high_mw == State::kNoBudget) return false;
  return std::int64_t{n} * pass.node_power(id).most_mw > high_mw - pass.idle_draw_mw();
}

Reachable::Reachable(const Pass& pass) : pass_(pass) {
  if (pass.cell_count() == 1) return;
  for (const JobId id : pass.running_malleable()) extra_.add(pass.extra_by_cell(id));
}

Nodes Reachable::most(JobId id) const {
  if (pass_.cell_count() == 1) return std::numeric_limits<Nodes>::max();
  const Cells cells = pass_.open_cells(id);
  Nodes most = pass_.idle(id) + (runs(pass_.job(id)) ? pass_.job(id).size() : 0);
  for (const auto& [cell, count] : extra_.parts) {
    if ((cells >> cell & 1) != 0) most += count;
  }
  return most;
}

std::optional<CorridorProblem> corridor_problem(const Pass& pass, const CorridorBounds& bounds) {
  const std::int64_t idle_mw = pass.idle_draw_mw();
  CorridorProblem problem{.nodes = pass.in_service()};
  if (bounds.high_mw != State::kNoBudget) {
    if (bounds.high_mw < idle_mw) return std::nullopt;
    problem.upper_mw = bounds.high_mw - idle_mw;
  }
  problem.lower_mw = std::max<std::int64_t>(bounds.low_mw - idle_mw, 0);
  return problem;
}

RunningInCorridor in_corridor(const Pass& pass, std::size_t place, JobId id, Nodes most,
                              Pass::NodePower power) {
  const Job& job = pass.job(id);
  const bool may_choose = runs(job) ? pass.resizable(id) : sizes_at_start(job.spec.type);
  RunningInCorridor its{.id = place,
                        .n = runs(job) ? job.size() : 0,
                        .range = may_choose ? job.spec.size : exactly(job.spec.preferred),
                        .constraint = pass.sizes(id),
                        .rigid = runs(job) && !may_choose,
                        .p_min_mw = power.least_mw,
                        .p_max_mw = power.most_mw};
  its.range.max = std::min(its.range.max, std::max(most, its.n));
  return its;
}

SizeChanges changes_to(const Pass& pass, std::span<const JobId> jobs, std::span<const Nodes> sizes,
                       std::span<const JobId> starts) {
  SizeChanges changes;
  for (const JobId id : starts) {
    changes.gains.push_back({.job = id, .size = exactly(pass.job(id).spec.preferred)});
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = pass.job(jobs[i]);
    const Nodes n = runs(job) ? job.size() : 0;
    if (sizes[i] < n) changes.cuts.push_back({jobs[i], sizes[i]});
    if (sizes[i] > n) changes.gains.push_back({.job = jobs[i], .size = exactly(sizes[i])});
  }
  return changes;
}

bool carry_out(Pass& pass, const SizeChanges& changes) {
  if (!changes.gains.empty()) return pass.carry_out(changes.cuts, changes.gains, {Why::corridor});
  for (const Cut& cut : changes.cuts) pass.resize(cut.victim, cut.to, {Why::corridor});
  return true;
}

void carry_out_in_part(Pass& pass, const SizeChanges& changes, const CorridorBounds& bounds) {
  if (pass.power_mw() > bounds.high_mw) {
    for (const Cut& cut : changes.cuts) pass.resize(cut.victim, cut.to, {Why::corridor});
    return;
  }
  for (const Gain& gain : changes.gains) {
    const Job& job = pass.job(gain.job);
    if (runs(job)) {
      pass.resize(gain.job, {job.size() + 1, gain.size.max}, {Why::corridor});
    } else {
      pass.start(gain.job, gain.size, {Why::corridor});
    }
  }
}

void cut_to_least(Pass& pass) {
  for (const JobId id : running_by_id(pass)) {
    if (!pass.resizable(id)) continue;
    const Nodes least = pass.smallest(id);
    if (least < pass.job(id).size()) pass.resize(id, least, {Why::corridor});
  }
}

}  // namespace ductile
