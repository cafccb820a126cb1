// Which of the nodes that are there a job gets. A placement is a preference: it has no say in how
// many nodes a job gets, nor when, and of several cells not in how many of each.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "model/switch_tree.hpp"

namespace ductile {

enum class Placement : std::uint8_t {
  first,       // the lowest numbers
  contiguous,  // as few runs of consecutive numbers as possible, the last one the shortest that
               // does
  compact,     // under the lowest switch that has enough, and there on as few switches as possible
  spread,      // on as many leaf switches as possible, evenly
};
constexpr std::array<std::string_view, 4> kPlacementWords{"first", "contiguous", "compact",
                                                          "spread"};

/// Does it go by the switches of the network?
constexpr bool needs_switches(Placement how) {
  return how == Placement::compact || how == Placement::spread;
}

/// Nodes from which a placement other than `first` chooses. Giving and taking cost about the
/// intervals, nodes or switches that are given, taken or looked at, times a logarithm, however many
/// others there are.
class NodePool {
 public:
  NodePool(Placement how, std::shared_ptr<const SwitchTree> tree);

  Nodes count() const { return count_; }
  /// Nodes that are not in it.
  void give(const NodeSet& nodes);
  /// Nodes that are in it.
  void take(const NodeSet& nodes);
  /// Takes `n` nodes, which there are, for a job that has those `beside` them. It goes on at the
  /// ends of its runs; on its switches, then under the lowest above all of it that has enough;
  /// evenly with what it has.
  NodeSet choose(Nodes n, const NodeSet& beside = {});

  bool operator==(const NodePool& other) const {
    return runs_ == other.runs_ && pieces_ == other.pieces_ && by_level_ == other.by_level_;
  }

 private:
  /// What can be taken together: a run by its first node, or a switch by what is there below it.
  struct Piece {
    std::uint32_t group;  // the switch above; the level
    Nodes size;
    std::uint32_t number;
    auto operator<=>(const Piece&) const = default;
  };
  using Pieces = std::set<Piece>;
  struct Share {
    std::uint32_t number;
    Nodes count;
  };

  /// `n` nodes from as few pieces of a group as possible: the largest as a whole, and of the
  /// smallest that has the rest.
  std::vector<Share> fewest(std::uint32_t group, Nodes n) const;
  void give(std::uint32_t first, std::uint32_t last);
  void take(std::uint32_t first, std::uint32_t last);
  void put_run(std::uint32_t first, std::uint32_t last);
  void drop_run(std::uint32_t first, std::uint32_t last);
  /// So many more are there on a leaf, or fewer.
  void count_on(std::uint32_t leaf, std::int64_t more);
  /// The `n` lowest, or as many as there are, on a leaf; those of the ends of runs.
  Nodes take_on(std::uint32_t leaf, Nodes n, std::vector<Interval>& taken);
  void take_under(std::uint32_t number, Nodes n, std::vector<Interval>& taken);
  Nodes take_at_ends(Nodes n, const NodeSet& beside, std::vector<Interval>& taken);
  void take_compact(Nodes n, const NodeSet& beside, std::vector<Interval>& taken);
  void take_evenly(Nodes n, const NodeSet& beside, std::vector<Interval>& taken);

  Placement how_;
  std::shared_ptr<const SwitchTree> tree_;
  Nodes count_ = 0;
  std::map<std::uint32_t, std::uint32_t> runs_;  // the last node by the first one
  std::vector<Nodes> there_;                     // by switch
  Pieces pieces_;    // contiguous: runs; compact: switches by the one above
  Pieces by_level_;  // switches
};

/// Chooses as the rules of a run say on a machine.
class Placer {
 public:
  Placer() = default;
  Placer(Placement how, const Platform& platform);

  bool is_first() const { return how_ == Placement::first; }
  NodePool pool() const { return {how_, tree_}; }
  /// Takes `n` nodes out of a set that has as many.
  NodeSet take(NodeSet& from, Nodes n, const NodeSet& beside = {}) const;
  /// Takes so many of them out of a set of which the others stay: those stay that a job would get.
  NodeSet give_back(NodeSet& from, Nodes n) const;

 private:
  Placement how_ = Placement::first;
  std::shared_ptr<const SwitchTree> tree_;  // null for `first`
};

}  // namespace ductile
