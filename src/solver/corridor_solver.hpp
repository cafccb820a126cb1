// Solves the problem of a corridor for the same running jobs and many sets of waiting ones.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "solver/corridor_problem.hpp"

namespace ductile {

/// `dp`: exact, by dynamic programming, while its table can be held; else lp. `lp`: linear
/// relaxation, rounded and repaired. `greedy`: in the order of power, repaired. `automatic`: dp
/// while its table is small, else lp.
enum class CorridorMethod : std::uint8_t { automatic, dp, lp, greedy };

/// The words of the methods, as commands and policies write them.
constexpr std::array<std::string_view, 4> kCorridorMethodWords{"automatic", "dp", "lp", "greedy"};

/// What it returns holds, always. dp returns the solution that is first in the order of
/// `CorridorSolution`; lp and greedy return a good one, and rarely miss that there is one. The same
/// jobs give the same sizes, whatever was solved before.
class CorridorSolver {
 public:
  /// Makes what serves all sets of waiting jobs.
  explicit CorridorSolver(CorridorProblem problem,
                          CorridorMethod method = CorridorMethod::automatic);
  ~CorridorSolver();
  CorridorSolver(CorridorSolver&&) noexcept;
  CorridorSolver& operator=(CorridorSolver&&) noexcept;

  /// All of `waiting` are started.
  CorridorSolution solve(std::span<const WaitingForCorridor> waiting = {}) const;

  const CorridorProblem& problem() const;
  /// Which one it is: not `automatic`, and lp where dp was asked for and its table is too large.
  CorridorMethod method() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ductile
