// The solvers of power corridors: dp finds what trying everything finds; what the others return
// holds; and what was solved before changes nothing.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solver/corridor_solver.hpp"
#include "support/random_corridor.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

/// How many were feasible; how many of these a solver missed; idle nodes that it left more.
struct Gaps {
  std::uint64_t feasible = 0, missed = 0, idle = 0, worst = 0;

  void add(const CorridorSolution& best, const CorridorSolution& found) {
    if (!best.feasible) return;
    ++feasible;
    if (!found.feasible) {
      ++missed;
      return;
    }
    const Nodes gap = found.idle - best.idle;
    idle += gap;
    worst = std::max<std::uint64_t>(worst, gap);
  }
  std::string text(const char* name) const {
    return std::string(name) + " missed " + std::to_string(missed) + " of " +
           std::to_string(feasible) + ", left " + std::to_string(idle) +
           " more nodes idle, at most " + std::to_string(worst) + "\n";
  }
};

CorridorShape shape_of(std::uint64_t seed) {
  CorridorShape shape;
  shape.nodes = seed % 3 == 0 ? 20 : 12;
  shape.running = seed % 3 == 0 ? 4 : 5;
  shape.powers = seed % 2 == 0 ? 3 : 0;
  shape.exact_powers = seed % 5 != 0;
  return shape;
}

TEST(Corridor, DpIsWhatTryingEverythingFinds) {
  std::uint64_t feasible = 0;
  Gaps lp_gaps, greedy_gaps;
  const auto runs = for_seeds(6000, [&](std::uint64_t seed) {
    const auto [problem, waiting] = random_corridor(seed, shape_of(seed));
    const CorridorSolution naive = naive_corridor(problem, waiting);
    const CorridorSolution dp = CorridorSolver(problem, CorridorMethod::dp).solve(waiting);
    ASSERT_EQ(dp.feasible, naive.feasible);
    ASSERT_EQ(dp.idle, naive.idle);
    ASSERT_EQ(dp.change, naive.change);
    ASSERT_EQ(dp.changed, naive.changed);
    ASSERT_EQ(dp.sizes, naive.sizes);
    ASSERT_TRUE(holds(problem, waiting, dp));
    feasible += naive.feasible ? 1 : 0;
    const CorridorSolution lp = CorridorSolver(problem, CorridorMethod::lp).solve(waiting);
    const CorridorSolution greedy = CorridorSolver(problem, CorridorMethod::greedy).solve(waiting);
    ASSERT_TRUE(holds(problem, waiting, lp));
    ASSERT_TRUE(holds(problem, waiting, greedy));
    lp_gaps.add(naive, lp);
    greedy_gaps.add(naive, greedy);
  });
  std::cout << lp_gaps.text("lp") << greedy_gaps.text("greedy");
  if (runs == 0) return;
  EXPECT_GT(feasible, runs / 4);
  EXPECT_LT(feasible, runs * 3 / 4);
  EXPECT_LT(lp_gaps.missed, feasible / 100);
  EXPECT_LT(greedy_gaps.missed, feasible / 100);
}

TEST(Corridor, OneSolverServesAllSetsOfWaitingJobs) {
  for_seeds(500, [](std::uint64_t seed) {
    CorridorShape shape = shape_of(seed);
    shape.nodes = 30;
    const CorridorProblem problem = random_corridor(seed, shape).problem;
    std::vector<std::vector<WaitingForCorridor>> sets{{}};
    for (std::uint64_t i = 0; i < 8; ++i) {
      sets.push_back(random_corridor(1000 * seed + i, shape).waiting);
    }
    for (const CorridorMethod method : {CorridorMethod::automatic, CorridorMethod::dp,
                                        CorridorMethod::lp, CorridorMethod::greedy}) {
      const CorridorSolver solver(problem, method);
      for (const auto& waiting : sets) {
        const CorridorSolution solution = solver.solve(waiting);
        ASSERT_EQ(solution, CorridorSolver(problem, method).solve(waiting));
        ASSERT_TRUE(holds(problem, waiting, solution));
      }
    }
  });
}

TEST(Corridor, LargeSolutionsHold) {
  Gaps gaps;
  const auto runs = for_seeds(Runs{.usual = 200}, [&](std::uint64_t seed) {
    const CorridorShape shape{.nodes = seed % 2 == 0 ? 2000u : 50'000u,
                              .running = 300,
                              .waiting = 3,
                              .powers = seed % 3 == 0 ? 3u : 0u,
                              .exact_powers = seed % 5 != 0};
    const auto [problem, waiting] = random_corridor(seed, shape);
    const CorridorSolution lp = CorridorSolver(problem, CorridorMethod::lp).solve(waiting);
    const CorridorSolution greedy = CorridorSolver(problem, CorridorMethod::greedy).solve(waiting);
    ASSERT_TRUE(holds(problem, waiting, lp));
    ASSERT_TRUE(holds(problem, waiting, greedy));
    if (greedy.feasible) ASSERT_TRUE(lp.feasible) << "lp missed what greedy found";
    if (lp.feasible && greedy.feasible && greedy.idle < lp.idle) {
      std::cout << "seed " << seed << ": greedy left " << greedy.idle << ", lp " << lp.idle << '\n';
    } else {
      gaps.add(lp, greedy);
    }
  });
  std::cout << gaps.text("greedy beside lp");
  if (runs > 0) EXPECT_GT(gaps.feasible, runs / 4);
}

}  // namespace
}  // namespace ductile::testing
