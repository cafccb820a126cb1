// Sizes of running jobs that keep the machine's power within a corridor: the problem and its
// solutions. Source: Chadha, John and Gerndt, HiPC 2020, equation 1, with sizes as whole numbers
// and with their node constraints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/size_range.hpp"

namespace ductile {

/// Power, or power per node, in whole milliwatts.
using Milliwatts = std::int64_t;

/// A job that runs, on `n` nodes.
struct RunningInCorridor {
  std::uint64_t id = 0;  // each once in a problem
  Nodes n = 0;           // any size, allowed or not
  SizeRange range{};     // and `constraint`: what it may be resized to, besides staying as it is
  SizeConstraint constraint{};
  bool rigid = false;                     // it stays as it is
  Milliwatts p_min_mw = 0, p_max_mw = 0;  // it draws between these, per node
  std::int64_t cost = 0;                  // of each of its nodes: who is to have few of them
};

/// A job that is to be started on `n` nodes.
struct WaitingForCorridor {
  std::uint64_t id = 0;
  Nodes n = 0;
  Milliwatts p_min_mw = 0, p_max_mw = 0;
};

/// All but the jobs that are to be started. Sums of power are 64 bit numbers: no bound, and no
/// power of one node times `nodes`, is above `kMostMilliwatts`.
struct CorridorProblem {
  static constexpr Milliwatts kMostMilliwatts = 10'000'000'000'000'000;

  Nodes nodes = 0;  // that are on; running jobs hold no more of them
  Milliwatts idle_mw = 0;
  std::optional<Milliwatts> lower_mw{}, upper_mw{};  // of the machine; none: any
  std::vector<RunningInCorridor> running{};
};

/// Fewest idle nodes; of these the least cost, where jobs have any; of these the least change; of
/// these the fewest jobs changed; of these the smallest sizes, by ascending id.
struct CorridorSolution {
  bool feasible = false;
  Nodes idle = 0;
  std::uint64_t change = 0;    // the sum of |size - n| of all running jobs
  std::uint32_t changed = 0;   // running jobs whose size is another one
  std::vector<Nodes> sizes{};  // of each running job, as the problem has them; empty: infeasible

  bool operator==(const CorridorSolution&) const = default;
};

/// The solution with these sizes, if it is one.
CorridorSolution corridor_solution(const CorridorProblem& problem,
                                   std::span<const WaitingForCorridor> waiting,
                                   std::vector<Nodes> sizes);

}  // namespace ductile
