// DBES and the strategies that it was compared with (Prabhakaran et al. 2015), and FPSMA (Buisson
// et al. 2007, by Algorithm 1 of Chadha et al. 2020), done slowly and plainly, to hold the real
// ones against.
//
// Written from the papers' listings, not from the policies; nothing is shared but the types of a
// job and of time. Resizes take no time and cost nothing, models are linear, nobody asks for nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "support/naive_backfill.hpp"
#include "workload/workload.hpp"

namespace ductile::naive {

enum class Strategy : std::uint8_t { dbes, equipartition, equigrow, esf, edf, ldf, fpsma };

struct ExpandShrinkOptions {
  Strategy strategy = Strategy::dbes;
  std::size_t depth = 5;        // reservations
  bool scaled = false;          // deadlines move with sizes
  bool backfill_first = false;  // all but dbes and fpsma
  bool repeat = false;          // dbes: shrinking for waiting jobs until nobody starts by it
};

/// Rigid, moldable and malleable jobs, sorted by submit time, with walltimes that suffice, none
/// larger than the machine. The times of each job, in the same order.
std::vector<JobTimes> expand_shrink(const Workload& workload, Nodes nodes,
                                    const ExpandShrinkOptions& options);

}  // namespace ductile::naive
