// Malleable jobs from rigid ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/ids.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

/// Every job becomes malleable: from `min` times its size, rounded up, to `max` times its size, at
/// most the machine; linear, resized for nothing.
inline void make_malleable(Workload& workload, Nodes nodes, double min, double max) {
  for (WorkloadJob& job : workload.jobs) {
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    SizeRange& size = workload.adaptive.emplace_back().size;
    size.min = std::max(static_cast<Nodes>(std::ceil(min * job.nodes)), Nodes{1});
    size.max = std::min(static_cast<Nodes>(max * job.nodes), nodes);
  }
}

}  // namespace ductile::testing
