// From nearly good sizes to good ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/corridor_sizes.hpp"

namespace ductile {

/// Sizes that hold under the limits, or are better than these if these do; nothing if none were
/// found. Rounds of exact tables of a few jobs at sizes near to theirs, all others as they are:
/// in each round `first`, which the caller has rounded, and other ones of the rest, some of each
/// power. No more than a few milliseconds, whatever the
/// number of jobs.
std::optional<std::vector<Nodes>> repaired_sizes(std::span<const CorridorJob> jobs,
                                                 const CorridorLimits& limits,
                                                 std::vector<Nodes> sizes,
                                                 std::span<const std::uint32_t> first);

}  // namespace ductile
