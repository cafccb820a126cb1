// Sizes near to a solution, without any library.
#pragma once

#include <span>
#include <vector>

#include "solver/corridor_sizes.hpp"

namespace ductile {

/// From these sizes on, in the order of the jobs' power: nodes that are too many are given
/// back, nodes that are left are taken, power is brought into the corridor by nodes that go from
/// dear jobs to cheap ones or back, and nodes that are left for want of power are paid for in the
/// same way. O(jobs log jobs). The sizes may still break the limits a little: see `repaired_sizes`.
std::vector<Nodes> greedy_sizes(std::span<const CorridorJob> jobs, const CorridorLimits& limits,
                                std::vector<Nodes> sizes);

}  // namespace ductile
