#include "solver/corridor_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "solver/corridor_greedy.hpp"
#include "solver/corridor_relaxation.hpp"
#include "solver/corridor_repair.hpp"
#include "solver/corridor_table.hpp"

namespace ductile {
namespace {

// States of a table: what takes no longer than lp does, and what takes some hundred megabytes.
constexpr std::size_t kFewStates = std::size_t{1} << 14, kMostStates = std::size_t{1} << 22;

std::optional<CorridorTable> table_of(std::span<const CorridorJob> jobs, Nodes nodes,
                                      std::size_t budget) {
  std::vector<TableJob> table_jobs;
  table_jobs.reserve(jobs.size());
  for (const CorridorJob& job : jobs) {
    table_jobs.push_back({.n = job.n, .most = job.most, .least = job.least, .cost = job.cost});
    std::vector<Nodes>& sizes = table_jobs.back().sizes;
    // One more than fits is enough to see that it does not.
    for (Nodes size = job.sizes.min(); sizes.size() <= budget;
         size = job.sizes.at_least(size + 1)) {
      sizes.push_back(size);
      if (size == job.sizes.max()) break;
    }
    if (sizes.size() > budget) return std::nullopt;
    budget -= sizes.size();
  }
  return CorridorTable::make(table_jobs, {.nodes = nodes}, budget);
}

}  // namespace

struct CorridorSolver::Parts {
  CorridorProblem problem{};
  CorridorMethod method{};
  std::vector<std::uint32_t> order{};       // places of the problem's jobs, by id
  std::vector<CorridorJob> jobs{};          // in that order
  CorridorSums furthest{};                  // each of them as far from its limit as it can be
  std::vector<std::uint32_t> dear_first{};  // jobs of which a node draws more than an idle one
  std::optional<CorridorTable> table{};
  std::optional<CorridorRelaxation> relaxation{};

  Milliwatts most_of_least(std::int64_t nodes) const;
  std::optional<std::vector<Nodes>> sizes(const CorridorLimits& limits);
  std::optional<std::vector<Nodes>> rounded(const std::vector<double>& real,
                                            const CorridorLimits& limits) const;
};

// The most that the jobs can draw at least on so many nodes, if each number of nodes were a size: a
// lower bound above that is out of reach, and nothing has to be solved to know it.
Milliwatts CorridorSolver::Parts::most_of_least(std::int64_t nodes) const {
  CorridorSums sums;
  for (const CorridorJob& job : jobs) sums.add(job, job.sizes.min());
  for (const std::uint32_t i : dear_first) {
    const CorridorSizes& its = jobs[i].sizes;
    sums.add(jobs[i], std::min<std::int64_t>(its.max() - its.min(), nodes - sums.nodes));
  }
  return sums.least;
}

// In the order of ids.
std::optional<std::vector<Nodes>> CorridorSolver::Parts::sizes(const CorridorLimits& limits) {
  if (limits.nodes < 0 || !limits.hold(furthest)) return std::nullopt;
  if (most_of_least(limits.nodes) < limits.least) return std::nullopt;
  if (table) return table->best(limits);
  if (relaxation) {
    const auto real = relaxation->solve(limits);
    if (!real) return std::nullopt;
    if (auto found = rounded(*real, limits)) return found;
  }
  std::vector<Nodes> now;
  for (const CorridorJob& job : jobs) now.push_back(job.n);
  return repaired_sizes(jobs, limits, greedy_sizes(jobs, limits, std::move(now)), {});
}

std::optional<std::vector<Nodes>> CorridorSolver::Parts::rounded(
    const std::vector<double>& real, const CorridorLimits& limits) const {
  constexpr double kTolerance = 1e-6;
  std::vector<Nodes> sizes(jobs.size());
  std::vector<std::uint32_t> between;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    sizes[i] = jobs[i].sizes.at_most(static_cast<Nodes>(std::floor(real[i] + kTolerance)));
    if (std::abs(real[i] - sizes[i]) > kTolerance) between.push_back(static_cast<std::uint32_t>(i));
  }
  return repaired_sizes(jobs, limits, greedy_sizes(jobs, limits, std::move(sizes)), between);
}

CorridorSolver::CorridorSolver(CorridorProblem problem, CorridorMethod method)
    : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.problem = std::move(problem);
  const auto& running = parts.problem.running;
  parts.order.resize(running.size());
  std::iota(parts.order.begin(), parts.order.end(), 0);
  std::stable_sort(parts.order.begin(), parts.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return running[a].id < running[b].id; });
  parts.jobs = corridor_jobs(parts.problem, parts.order);
  for (const CorridorJob& job : parts.jobs) {
    const std::int64_t min = job.sizes.min(), max = job.sizes.max();
    parts.furthest.nodes += min;
    parts.furthest.most += std::min(min * job.most, max * job.most);
    parts.furthest.least += std::max(min * job.least, max * job.least);
  }
  for (std::uint32_t i = 0; i < parts.jobs.size(); ++i) {
    if (parts.jobs[i].least > 0 && !parts.jobs[i].sizes.is_fixed()) parts.dear_first.push_back(i);
  }
  std::stable_sort(
      parts.dear_first.begin(), parts.dear_first.end(),
      [&](std::uint32_t a, std::uint32_t b) { return parts.jobs[a].least > parts.jobs[b].least; });
  if (method == CorridorMethod::automatic || method == CorridorMethod::dp) {
    const bool is_asked_for = method == CorridorMethod::dp;
    parts.table =
        table_of(parts.jobs, parts.problem.nodes, is_asked_for ? kMostStates : kFewStates);
    method = parts.table ? CorridorMethod::dp : CorridorMethod::lp;
  }
  if (method == CorridorMethod::lp) parts.relaxation.emplace(parts.jobs);
  parts.method = method;
}

CorridorSolver::~CorridorSolver() = default;
CorridorSolver::CorridorSolver(CorridorSolver&&) noexcept = default;
CorridorSolver& CorridorSolver::operator=(CorridorSolver&&) noexcept = default;

CorridorSolution CorridorSolver::solve(std::span<const WaitingForCorridor> waiting) const {
  Parts& parts = *parts_;
  const auto sizes = parts.sizes(corridor_limits(parts.problem, waiting));
  if (!sizes) return {};
  std::vector<Nodes> placed(sizes->size());
  for (std::size_t i = 0; i < placed.size(); ++i) placed[parts.order[i]] = (*sizes)[i];
  return corridor_solution(parts.problem, waiting, std::move(placed));
}

const CorridorProblem& CorridorSolver::problem() const { return parts_->problem; }
CorridorMethod CorridorSolver::method() const { return parts_->method; }

}  // namespace ductile
