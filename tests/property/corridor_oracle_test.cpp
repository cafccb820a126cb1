// The optimum of middle-sized problems of power corridors, by CBC: a binary variable for each size
// of each job.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include <coin/Cbc_C_Interface.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "solver/corridor_sizes.hpp"
#include "solver/corridor_solver.hpp"
#include "support/random_corridor.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

/// The fewest idle nodes; nothing if no sizes hold.
std::optional<Nodes> fewest_idle(const CorridorProblem& problem,
                                 const std::vector<WaitingForCorridor>& waiting) {
  constexpr double kAny = std::numeric_limits<double>::max();
  const CorridorLimits limits = corridor_limits(problem, waiting);
  if (limits.nodes < 0) return std::nullopt;
  if (problem.running.empty()) {
    return limits.hold({}) ? std::optional(static_cast<Nodes>(limits.nodes)) : std::nullopt;
  }
  // Rows: nodes, most, least, and one size for each job.
  std::vector<int> starts, rows;
  std::vector<double> elements, cost, row_lower{-kAny, -kAny, -kAny},
      row_upper{static_cast<double>(limits.nodes), kAny, kAny};
  if (problem.upper_mw) row_upper[1] = static_cast<double>(limits.most);
  if (problem.lower_mw) row_lower[2] = static_cast<double>(limits.least);
  for (const RunningInCorridor& job : problem.running) {
    const CorridorSizes sizes(job, problem.nodes);
    for (Nodes size = 1; size <= problem.nodes; ++size) {
      if (!sizes.has(size)) continue;
      starts.push_back(static_cast<int>(rows.size()));
      rows.insert(rows.end(), {0, 1, 2, static_cast<int>(row_lower.size())});
      elements.insert(
          elements.end(),
          {static_cast<double>(size), static_cast<double>(size * (job.p_max_mw - problem.idle_mw)),
           static_cast<double>(size * (job.p_min_mw - problem.idle_mw)), 1.0});
      cost.push_back(-static_cast<double>(size));
    }
    row_lower.push_back(1);
    row_upper.push_back(1);
  }
  starts.push_back(static_cast<int>(rows.size()));
  const int columns = static_cast<int>(cost.size());
  const std::vector<double> lower(cost.size(), 0), upper(cost.size(), 1);
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> cbc(Cbc_newModel(), Cbc_deleteModel);
  Cbc_loadProblem(cbc.get(), columns, static_cast<int>(row_lower.size()), starts.data(),
                  rows.data(), elements.data(), lower.data(), upper.data(), cost.data(),
                  row_lower.data(), row_upper.data());
  for (int column = 0; column < columns; ++column) Cbc_setInteger(cbc.get(), column);
  Cbc_setParameter(cbc.get(), "log", "0");
  Cbc_solve(cbc.get());
  if (Cbc_isProvenOptimal(cbc.get()) == 0) return std::nullopt;
  const double* const chosen = Cbc_getColSolution(cbc.get());
  double used = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) used -= cost[i] * chosen[i];
  return static_cast<Nodes>(static_cast<double>(limits.nodes) - used + 0.5);
}

TEST(CorridorOracle, FewestIdleNodesOfMiddleSizedProblems) {
  std::uint64_t feasible = 0, exact = 0, missed = 0, lp_idle = 0, greedy_idle = 0;
  const auto runs = for_seeds(Runs{.usual = 1000}, [&](std::uint64_t seed) {
    const CorridorShape shape{
        .nodes = 60, .running = 9, .waiting = 2, .powers = seed % 3 == 0 ? 0u : 2u};
    const auto [problem, waiting] = random_corridor(seed, shape);
    const auto oracle = fewest_idle(problem, waiting);
    feasible += oracle ? 1 : 0;
    try {
      const CorridorSolution dp = CorridorSolver(problem, CorridorMethod::dp).solve(waiting);
      ++exact;
      ASSERT_EQ(dp.feasible, oracle.has_value());
      if (oracle) ASSERT_EQ(dp.idle, *oracle);
    } catch (const InputError&) {
      // Too many powers for an exact table.
    }
    for (const CorridorMethod method : {CorridorMethod::lp, CorridorMethod::greedy}) {
      const CorridorSolution found = CorridorSolver(problem, method).solve(waiting);
      ASSERT_TRUE(holds(problem, waiting, found));
      if (!found.feasible) {
        missed += oracle ? 1 : 0;
        continue;
      }
      ASSERT_TRUE(oracle);
      ASSERT_GE(found.idle, *oracle);
      (method == CorridorMethod::lp ? lp_idle : greedy_idle) += found.idle - *oracle;
    }
  });
  std::cout << runs << " runs, " << feasible << " feasible, " << exact << " by dp; lp left "
            << lp_idle << " more nodes idle, greedy " << greedy_idle << "; missed " << missed
            << '\n';
  if (runs == 0) return;
  EXPECT_GT(feasible, runs / 4);
  EXPECT_GT(exact, runs / 2);
  EXPECT_LE(missed, feasible / 50);
}

}  // namespace
}  // namespace ductile::testing
