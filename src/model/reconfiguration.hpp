// What a change of size costs.
#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"

namespace ductile {

/// cost = scale (alpha D + beta / N + b D) + fixed, for D nodes more or less and N the sum of both
/// sizes: data redistribution, creation or deletion of processes, synchronisation and negotiation
/// (Lina, Ghafoor and Hines, JSSPP 2022; "Performance-driven scheduling for malleable workloads",
/// J. Supercomputing 2024). All zero: free.
struct ReconfigurationCost {
  double alpha_s = 0;  // per node of difference
  double beta_s = 0;   // divided by the sum of the sizes
  double b_s = 0;      // per node created or deleted
  double fixed_s = 0;  // synchronisation and negotiation
  double scale = 1;    // 1 full, 0.5 half, 0 free; does not scale `fixed_s`

  bool operator==(const ReconfigurationCost&) const = default;

  Duration of(Nodes from, Nodes to) const {
    if (from == to) return {};
    const double difference = from < to ? to - from : from - to;
    const double sum = static_cast<double>(from) + static_cast<double>(to);
    return seconds(scale * (alpha_s * difference + beta_s / sum + b_s * difference) + fixed_s);
  }
};

}  // namespace ductile
