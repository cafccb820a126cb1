// Random rigid jobs for machines of any size, and models for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/random.hpp"
#include "model/speedup.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

/// `count` jobs in order of submission, named from 1. Times are multiples of `grain_us`, so that
/// ends, walltimes and submissions coincide if it is coarse (at most 60 s). Some run for their
/// walltime, the others shorter or longer; some are submitted together.
std::vector<WorkloadJob> random_jobs(std::uint64_t seed, std::size_t count, Nodes nodes,
                                     std::uint64_t grain_us);

/// Any model; tables have points up to `most` nodes, and more nodes may be slower.
Speedup random_speedup(Draws& draws, Nodes most);

}  // namespace ductile::testing
