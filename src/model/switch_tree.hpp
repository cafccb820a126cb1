// The switches of the network, as a tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "model/platform.hpp"

namespace ductile {

/// Each node is on one leaf switch: nodes that are on none are together on one leaf more, and
/// switches that hang under none hang under one root more, where there are several. Numbers are
/// those of `Platform::switches`, then these two; a switch comes before the one above it.
class SwitchTree {
 public:
  explicit SwitchTree(const Platform& platform);

  std::size_t size() const { return above_.size(); }
  /// `kNoSwitch` above the root.
  std::uint32_t above(std::uint32_t number) const { return above_[number]; }
  /// 0 of a leaf, and above it one more than the highest of those below.
  std::uint32_t level(std::uint32_t number) const { return level_[number]; }
  /// What is on a leaf.
  const NodeSet& nodes(std::uint32_t leaf) const { return nodes_[leaf]; }

  /// Calls `visit(leaf, first, last)` for the parts of a set of nodes, in order.
  template <class Visit>
  void for_each_part(const NodeSet& set, Visit visit) const {
    for (const Interval& part : set.parts) {
      auto at = std::ranges::lower_bound(wires_, part.first, {}, &Wires::last);
      for (; at != wires_.end() && at->first <= part.last; ++at) {
        visit(at->leaf, std::max(at->first, part.first), std::min(at->last, part.last));
      }
    }
  }
  /// The lowest switch above all of these nodes, of which there are some; a leaf if it suffices.
  std::uint32_t lowest_above(const NodeSet& set) const;
  /// The mean over all pairs of these nodes of the number of links between switches on the way from
  /// one to the other: 0 on one leaf, 2 on two leaves of one switch. 0 where there is no pair. It
  /// costs the parts and the switches above them, times a logarithm.
  double mean_hops(const NodeSet& set) const;

  bool operator==(const SwitchTree&) const = default;

 private:
  /// Nodes next to each other on one leaf.
  struct Wires {
    std::uint32_t first, last, leaf;
    bool operator==(const Wires&) const = default;
  };

  std::vector<std::uint32_t> above_, level_;
  std::vector<NodeSet> nodes_;
  std::vector<Wires> wires_;  // sorted; of all nodes
};

/// Are leaves told apart, does each have nodes that there are, and is a switch before the one above
/// it?
bool is_tree(std::span<const Switch> switches, Nodes nodes);

/// More switches a machine does not have.
constexpr std::size_t kMostSwitches = 65'536;

/// A tree of `nodes` nodes: so many of them on each leaf switch, so many of these under each switch
/// of the next level, and so on. What is left over is on, or under, a smaller one.
std::vector<Switch> even_switches(Nodes nodes, std::span<const std::uint32_t> below);

}  // namespace ductile
