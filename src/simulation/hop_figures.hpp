// How far the nodes of jobs are from each other on the tree of switches.
#pragma once

#include <optional>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "metrics/summary.hpp"
#include "model/switch_tree.hpp"
#include "scheduling/core.hpp"

namespace ductile {

/// The mean of `SwitchTree::mean_hops` over what jobs hold, by node time; what has no pair of nodes
/// does not count. Each change of what a job holds costs its parts and the switches above them.
class HopFigures {
 public:
  /// On a machine without switches, or where only numbers of nodes are known, there is nothing to
  /// see. One that becomes larger in a run is as it was at first.
  void begin(const Core& core);
  /// From now on the job holds what the core says.
  void note(Time now, JobId id, const Core& core);
  /// It holds nothing any more.
  void end(Time now, JobId id);
  /// The run is over: those that still run held their nodes until then.
  void write(Summary& summary, Time now);

 private:
  struct Held {
    Time since{};
    NodeSet nodes{};
    Nodes count = 0;
    double hops = 0;  // the mean over its pairs
  };
  void count(Time now, const Held& held);

  std::optional<SwitchTree> tree_;
  std::unordered_map<JobId, Held> held_;
  double hops_node_s_ = 0, node_s_ = 0;
};

}  // namespace ductile
