#include "solver/corridor_sizes.hpp"

namespace ductile {

CorridorSizes::CorridorSizes(const RunningInCorridor& job, Nodes most)
    : n_(job.n), range_{job.range.min, std::min(job.range.max, most)}, constraint_(job.constraint) {
  min_ = max_ = n_;
  const Nodes smallest = constraint_.at_least(range_.min),
              largest = constraint_.at_most(range_.max);
  if (job.rigid || smallest > largest) {
    range_ = {1, 0};
  } else {
    range_ = {smallest, largest};
    min_ = std::min(n_, smallest);
    max_ = std::max(n_, largest);
  }
}

Nodes CorridorSizes::at_most(Nodes size) const {
  if (size <= min_) return min_;
  const Nodes allowed = size < range_.min ? 0 : constraint_.at_most(std::min(size, range_.max));
  return n_ <= size ? std::max(n_, allowed) : std::max(min_, allowed);
}

Nodes CorridorSizes::at_least(Nodes size) const {
  if (size <= min_) return min_;
  if (size >= max_) return max_;
  const Nodes allowed = size > range_.max ? max_ : constraint_.at_least(std::max(size, range_.min));
  return n_ >= size ? std::min(n_, allowed) : allowed;
}

void CorridorSizes::append_nearest(Nodes size, std::size_t count, std::vector<Nodes>& sizes) const {
  const std::size_t before = sizes.size();
  Nodes below = at_most(size), above = below;
  sizes.push_back(below);
  while (sizes.size() - before < count && (below > min_ || above < max_)) {
    const Nodes less = below > min_ ? at_most(below - 1) : below,
                more = above < max_ ? at_least(above + 1) : above;
    const bool up = below == min_ || (above < max_ && more - size <= size - less);
    sizes.push_back(up ? above = more : below = less);
  }
  if (n_ < below || n_ > above) sizes.push_back(n_);
  std::sort(sizes.begin() + static_cast<std::ptrdiff_t>(before), sizes.end());
}

std::vector<CorridorJob> corridor_jobs(const CorridorProblem& problem,
                                       std::span<const std::uint32_t> order) {
  std::vector<CorridorJob> jobs;
  jobs.reserve(order.size());
  for (const std::uint32_t place : order) {
    const RunningInCorridor& job = problem.running[place];
    jobs.push_back({.n = job.n,
                    .most = problem.upper_mw ? job.p_max_mw - problem.idle_mw : 0,
                    .least = problem.lower_mw ? job.p_min_mw - problem.idle_mw : 0,
                    .cost = job.cost,
                    .sizes = CorridorSizes(job, problem.nodes)});
  }
  return jobs;
}

CorridorLimits corridor_limits(const CorridorProblem& problem,
                               std::span<const WaitingForCorridor> waiting) {
  const Milliwatts all_idle = std::int64_t{problem.nodes} * problem.idle_mw;
  CorridorLimits limits{.nodes = problem.nodes};
  if (problem.upper_mw) limits.most = *problem.upper_mw - all_idle;
  if (problem.lower_mw) limits.least = *problem.lower_mw - all_idle;
  for (const WaitingForCorridor& job : waiting) {
    limits.nodes -= job.n;
    if (limits.nodes < 0) break;
    if (problem.upper_mw) limits.most -= job.n * (job.p_max_mw - problem.idle_mw);
    if (problem.lower_mw) limits.least -= job.n * (job.p_min_mw - problem.idle_mw);
  }
  return limits;
}

CorridorSolution corridor_solution(const CorridorProblem& problem,
                                   std::span<const WaitingForCorridor> waiting,
                                   std::vector<Nodes> sizes) {
  CorridorSolution solution;
  CorridorSums sums;
  for (std::size_t i = 0; i < problem.running.size(); ++i) {
    const RunningInCorridor& job = problem.running[i];
    const Nodes size = sizes[i];
    if (!CorridorSizes(job, problem.nodes).has(size)) return {};
    sums.nodes += size;
    if (sums.nodes > problem.nodes) return {};
    sums.most += size * (job.p_max_mw - problem.idle_mw);
    sums.least += size * (job.p_min_mw - problem.idle_mw);
    solution.change += size > job.n ? size - job.n : job.n - size;
    if (size != job.n) ++solution.changed;
  }
  const CorridorLimits limits = corridor_limits(problem, waiting);
  if (!limits.hold(sums)) return {};
  solution.feasible = true;
  solution.idle = static_cast<Nodes>(limits.nodes - sums.nodes);
  solution.sizes = std::move(sizes);
  return solution;
}

}  // namespace ductile
