// Changes to a whole workload.
#pragma once

#include "workload/workload.hpp"

namespace ductile {

/// Multiplies the time between submissions by `factor` > 0: below 1 the load rises. The first
/// submission stays where it is. Throws InputError if a time gets out of range.
void scale_arrivals(Workload& workload, double factor);

/// Walltimes become the run times: users who know.
void perfect_estimates(Workload& workload);

}  // namespace ductile
