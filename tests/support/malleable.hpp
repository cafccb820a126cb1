// Malleable jobs from rigid ones.
#pragma once

#include "base/ids.hpp"
#include "workload/transform.hpp"

namespace ductile::testing {

/// Every job becomes malleable: from `min` times its size, rounded up, to `max` times its size, at
/// most the machine; linear, resized for nothing. `perfect`: the jobs request their run times.
inline void make_malleable(Workload& workload, Nodes nodes, double min, double max,
                           bool perfect = false) {
  Transform changes;
  changes.malleable = AdaptiveShare{.share = 1, .min = Decimal(min), .max = Decimal(max)};
  changes.cost.scale = 0;
  if (perfect) changes.estimates.kind = EstimateSettings::Kind::perfect;
  transform(workload, changes, nodes, 1);
}

}  // namespace ductile::testing
