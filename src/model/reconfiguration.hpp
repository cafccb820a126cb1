// What a change of size costs.
#pragma once

#include <algorithm>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace ductile {

/// cost = scale (alpha D + beta / N + b D) + fixed, for D nodes more or less and N the sum of both
/// sizes: data redistribution, creation or deletion of processes, synchronisation and negotiation
/// (Lina, Ghafoor and Hines, JSSPP 2022; "Performance-driven scheduling for malleable workloads",
/// J. Supercomputing 2024). All zero: free.
///
/// The latter paper converts what is in the brackets to bytes, by a factor that it does not give.
/// So may `transfer_s` > 0: the brackets then tell how often the job's data is sent, a node needs
/// `transfer_s` to send it, and all nodes of the smaller size n send a part each:
/// cost = scale (alpha D + beta / N + b D) transfer_s / n + fixed.
///
/// Neither knows of a job that moves (ours): where R nodes are replaced besides, the data of D + R
/// nodes goes to others, and D + 2 R nodes are created or deleted.
struct ReconfigurationCost {
  double alpha_s = 0;  // per node of difference
  double beta_s = 0;   // divided by the sum of the sizes
  double b_s = 0;      // per node created or deleted
  double fixed_s = 0;  // synchronisation and negotiation
  double scale = 1;    // 1 full, 0.5 half, 0 free; does not scale `fixed_s`
  double transfer_s = 0;

  bool operator==(const ReconfigurationCost&) const = default;

  Duration of(Nodes from, Nodes to, Nodes replaced = 0) const {
    if (from == to && replaced == 0) return {};
    const double difference = (from < to ? to - from : from - to) + replaced;
    const double sum = static_cast<double>(from) + static_cast<double>(to);
    const Nodes senders = std::max(std::min(from, to), Nodes{1});
    const double sent = transfer_s > 0 ? transfer_s / senders : 1;
    return seconds(scale * (alpha_s * difference + beta_s / sum + b_s * (difference + replaced)) *
                       sent +
                   fixed_s);
  }
};

}  // namespace ductile
