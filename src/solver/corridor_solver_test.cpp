#include "solver/corridor_solver.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;

constexpr Milliwatts kWatt = 1000, kIdle = 71 * kWatt, kPi = 170 * kWatt, kHeat = 250 * kWatt;

/// The 14 nodes of the paper's evaluation.
CorridorProblem evaluation(Milliwatts lower_w, Milliwatts upper_w) {
  return {.nodes = 14, .idle_mw = kIdle, .lower_mw = lower_w * kWatt, .upper_mw = upper_w * kWatt};
}

RunningInCorridor job(std::uint64_t id, Nodes n, Milliwatts each, SizeRange range = {1, 14},
                      const std::string& constraint = "any") {
  return {.id = id,
          .n = n,
          .range = range,
          .constraint = parse_constraint(constraint),
          .p_min_mw = each,
          .p_max_mw = each};
}

constexpr CorridorMethod kMethods[] = {CorridorMethod::automatic, CorridorMethod::dp,
                                       CorridorMethod::lp, CorridorMethod::greedy};

class EachMethod : public ::testing::TestWithParam<CorridorMethod> {
 protected:
  static CorridorSolution solve(CorridorProblem problem,
                                const std::vector<WaitingForCorridor>& waiting = {}) {
    return CorridorSolver(std::move(problem), GetParam()).solve(waiting);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EachMethod, ::testing::ValuesIn(kMethods), [](const auto& info) {
  return std::string(kCorridorMethodWords[static_cast<std::size_t>(info.param)]);
});

TEST_P(EachMethod, GoldenExample) {
  CorridorProblem problem = evaluation(1700, 2500);
  problem.running = {job(1, 2, kPi)};
  const CorridorSolution solution =
      solve(problem, {{.id = 2, .n = 3, .p_min_mw = kHeat, .p_max_mw = kHeat}});
  ASSERT_TRUE(solution.feasible);
  EXPECT_EQ(solution.idle, 2u);
  EXPECT_EQ(solution.change, 7u);
  EXPECT_EQ(solution.changed, 1u);
  EXPECT_THAT(solution.sizes, ElementsAre(9u));
  EXPECT_EQ(9 * kPi + 3 * kHeat + 2 * kIdle, 2422 * kWatt);
}

// What the dearest jobs draw on all nodes is reached, and not a milliwatt more.
TEST_P(EachMethod, TheHighestLowerBoundThatJobsReach) {
  constexpr Milliwatts kAll = 3 * kPi + 11 * kHeat;
  for (const Milliwatts beyond : {0, 1}) {
    CorridorProblem problem = evaluation(0, 10'000);
    problem.lower_mw = kAll + beyond;
    problem.running = {job(1, 2, kPi), job(2, 2, kHeat, {1, 11}), job(3, 1, kPi, {1, 1})};
    const CorridorSolution solution = solve(problem);
    ASSERT_EQ(solution.feasible, beyond == 0);
    if (solution.feasible) EXPECT_THAT(solution.sizes, ElementsAre(2u, 11u, 1u));
  }
}

TEST_P(EachMethod, RangesOfOneApplication) {
  struct Case {
    Milliwatts lower_w, upper_w, each;
    SizeRange possible;  // none: min > max
  };
  const std::vector<Case> cases{{1000, 1700, kHeat, {1, 3}},  {1000, 1700, kPi, {1, 7}},
                                {1700, 2500, kHeat, {4, 8}},  {1700, 2500, kPi, {8, 14}},
                                {2500, 3500, kHeat, {9, 14}}, {2500, 3500, kPi, {1, 0}}};
  for (const Case& each : cases) {
    for (Nodes k = 1; k <= 14; ++k) {
      CorridorProblem problem = evaluation(each.lower_w, each.upper_w);
      problem.running = {job(1, k, each.each)};
      problem.running[0].rigid = true;
      EXPECT_EQ(solve(problem).feasible, each.possible.contains(k)) << k;
    }
    CorridorProblem problem = evaluation(each.lower_w, each.upper_w);
    problem.running = {job(1, 1, each.each)};
    const CorridorSolution solution = solve(problem);
    ASSERT_EQ(solution.feasible, each.possible.min <= each.possible.max);
    if (solution.feasible) EXPECT_EQ(solution.sizes[0], each.possible.max);
  }
}

TEST_P(EachMethod, AHeatJobIsNeeded) {
  CorridorProblem problem = evaluation(2500, 3500);
  problem.running = {job(1, 4, kPi)};
  EXPECT_FALSE(solve(problem).feasible);
  const CorridorSolution solution =
      solve(problem, {{.id = 2, .n = 2, .p_min_mw = kHeat, .p_max_mw = kHeat}});
  ASSERT_TRUE(solution.feasible);
  EXPECT_EQ(solution.idle, 0u);
  EXPECT_THAT(solution.sizes, ElementsAre(12u));
}

TEST_P(EachMethod, NothingRuns) {
  EXPECT_TRUE(solve(evaluation(994, 994)).feasible);
  EXPECT_EQ(solve(evaluation(994, 994)).idle, 14u);
  EXPECT_FALSE(solve(evaluation(995, 1000)).feasible);
  EXPECT_TRUE(solve({.nodes = 14, .idle_mw = kIdle}, {{.id = 1, .n = 14}}).feasible);
  EXPECT_FALSE(solve({.nodes = 14, .idle_mw = kIdle}, {{.id = 1, .n = 15}}).feasible);
}

TEST_P(EachMethod, WithoutBoundsOnlyNodesCount) {
  CorridorProblem problem{.nodes = 14, .idle_mw = kIdle};
  problem.running = {job(7, 3, kHeat, {1, 8}, "pof2"), job(3, 4, kPi, {1, 14}, "even")};
  const CorridorSolution solution = solve(problem);
  // 8 + 6, with a change of 7; 4 + 10 is one more node away from what they have for no more use.
  ASSERT_TRUE(solution.feasible);
  EXPECT_EQ(solution.idle, 0u);
  EXPECT_THAT(solution.sizes, ::testing::AnyOf(ElementsAre(8u, 6u), ElementsAre(4u, 10u)));
  EXPECT_EQ(solution.change, 7u);
}

TEST(CorridorSolver, TiesAreBrokenByChangeThenJobsThenIds) {
  CorridorProblem problem{.nodes = 10, .idle_mw = kIdle};
  // Six nodes are left: one job takes all of them rather than three two each; of the three, the
  // last one: then the sizes by id are smallest. The order in the problem is another one.
  problem.running = {job(30, 1, kPi, {1, 7}), job(10, 2, kPi, {1, 8}), job(20, 1, kPi, {1, 7})};
  const CorridorSolution solution = CorridorSolver(problem, CorridorMethod::dp).solve();
  EXPECT_EQ(solution.change, 6u);
  EXPECT_EQ(solution.changed, 1u);
  EXPECT_THAT(solution.sizes, ElementsAre(7u, 2u, 1u));
}

TEST(CorridorSolver, AJobMayStayAtASizeThatIsNotAllowed) {
  CorridorProblem problem{.nodes = 6, .idle_mw = kIdle};
  problem.running = {job(1, 5, kPi, {1, 6}, "pof2")};
  const CorridorSolution stays = CorridorSolver(problem, CorridorMethod::dp).solve();
  EXPECT_THAT(stays.sizes, ElementsAre(5u));
  const std::vector<WaitingForCorridor> waiting{{.id = 2, .n = 2}};
  const CorridorSolution cut = CorridorSolver(problem, CorridorMethod::dp).solve(waiting);
  EXPECT_THAT(cut.sizes, ElementsAre(4u));
}

// A policy that asks for dp goes on.
TEST(CorridorSolver, LpWhereTheTableIsTooLarge) {
  CorridorProblem problem{
      .nodes = 100'000, .idle_mw = kIdle, .lower_mw = 0, .upper_mw = 1'000'000'000'000};
  for (std::uint64_t id = 1; id <= 100; ++id) {
    problem.running.push_back(
        job(id, 100, kPi + static_cast<Milliwatts>(id * id * 17), {1, 100'000}));
  }
  for (const CorridorMethod method : {CorridorMethod::automatic, CorridorMethod::dp}) {
    const CorridorSolver solver(problem, method);
    EXPECT_EQ(solver.method(), CorridorMethod::lp);
    const CorridorSolution solution = solver.solve();
    ASSERT_TRUE(solution.feasible);
    EXPECT_EQ(solution.idle, 0u);
  }
}

TEST(CorridorSolver, SizesThatBreakARuleAreNoSolution) {
  CorridorProblem problem = evaluation(1000, 2000);
  problem.running = {job(1, 4, kPi, {2, 8}, "even"), job(2, 1, kPi, {1, 4}, "odd")};
  EXPECT_TRUE(corridor_solution(problem, {}, {6, 1}).feasible);
  EXPECT_FALSE(corridor_solution(problem, {}, {5, 1}).feasible);  // not even
  EXPECT_FALSE(corridor_solution(problem, {}, {6, 5}).feasible);  // above its range
  EXPECT_FALSE(corridor_solution(problem, {}, {8, 3}).feasible);  // 2,083 W
  EXPECT_FALSE(
      corridor_solution(problem, std::vector<WaitingForCorridor>{{.n = 8}}, {6, 1}).feasible);
}

}  // namespace
}  // namespace ductile
