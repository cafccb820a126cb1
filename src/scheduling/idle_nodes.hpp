// The idle nodes: a count, and with identities on which ones.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/placement.hpp"

namespace ductile {

/// With identities a bitmap of three levels of 64-bit words: taking the lowest touches only the
/// words it changes, on a million nodes as on a hundred.
class IdleNodes {
 public:
  IdleNodes() = default;
  /// Nodes 0 .. nodes-1, all idle.
  IdleNodes(Nodes nodes, bool identities);

  Nodes count() const { return count_; }
  bool identities() const { return identities_; }
  bool contains(std::uint32_t node) const { return (words_[0][node / 64] >> (node % 64) & 1) != 0; }
  /// All of them, in O(nodes / 64).
  NodeSet nodes() const;

  /// Takes `n`, where there is one cell, for a job that has those `beside` them; n <= count().
  Holding take(Nodes n, const NodeSet& beside = {});
  /// Takes these; they must be idle.
  void take(const Holding& these);
  void give(const Holding& these);
  /// Which of `set` are idle.
  NodeSet among(const NodeSet& set) const;

  /// From now on they are counted by cell: which one each node is of, and how many cells there are.
  /// Null: no more. Needs identities.
  void tell_apart(std::shared_ptr<const std::vector<std::uint8_t>> by_node, std::size_t cells);
  /// How many of a cell; of all where there is one.
  Nodes of(std::uint32_t cell) const { return of_.empty() ? count_ : of_[cell]; }
  /// Adds the `n` lowest idle ones of these nodes to others, or as many as there are.
  void add_lowest(Nodes n, const NodeSet& among, NodeSet& to) const;

  /// From now on this chooses. Needs identities.
  void choose_by(const Placer& placer);
  /// Does a placement other than `first` choose?
  bool are_placed() const { return !pools_.empty(); }
  /// Takes `n` of a cell, which there are, if a placement chooses.
  NodeSet take_of(std::uint32_t cell, Nodes n, const NodeSet& beside);
  /// What it chooses from, by cell.
  const std::vector<NodePool>& pools() const { return pools_; }

 private:
  void set(std::uint32_t first, std::uint32_t last);
  void reset(std::uint32_t first, std::uint32_t last);
  void count(const NodeSet& nodes, bool more);
  /// Calls `visit(pool, nodes)` for those of each cell, in parts.
  template <class Visit>
  void for_each_pool(const NodeSet& nodes, Visit visit);
  void fill_pools();
  /// Calls `visit(first, last)` for the idle ones of these nodes, in order, while it says so.
  template <class Visit>
  void for_each_idle(const NodeSet& nodes, Visit visit) const;

  Nodes count_ = 0;
  bool identities_ = false;
  // Level 0: nodes; above: which words below are not 0.
  std::array<std::vector<std::uint64_t>, 3> words_;
  std::shared_ptr<const std::vector<std::uint8_t>> by_node_;
  std::vector<Nodes> of_;  // by cell, if there are several
  Placer placer_;
  std::vector<NodePool> pools_;  // by cell, if a placement other than `first` chooses
};

}  // namespace ductile
