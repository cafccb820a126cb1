// Random problems of power corridors, and their solutions by trying everything.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "solver/corridor_problem.hpp"

namespace ductile::testing {

/// What random problems are like.
struct CorridorShape {
  Nodes nodes = 12;
  std::uint32_t running = 4, waiting = 3;  // at most
  std::uint32_t powers = 3;                // different ones; 0: of each job its own
  bool exact_powers = true;                // smallest and largest power are mostly the same
  bool all_constraints = true;             // false: none
};

struct RandomCorridor {
  CorridorProblem problem{};
  std::vector<WaitingForCorridor> waiting{};
};

RandomCorridor random_corridor(std::uint64_t seed, const CorridorShape& shape);

/// The first solution in the order of `CorridorSolution`, by trying all sizes.
CorridorSolution naive_corridor(const CorridorProblem& problem,
                                const std::vector<WaitingForCorridor>& waiting);

/// Is it what it says it is? Nothing of the solver is used.
::testing::AssertionResult holds(const CorridorProblem& problem,
                                 const std::vector<WaitingForCorridor>& waiting,
                                 const CorridorSolution& solution);

}  // namespace ductile::testing
