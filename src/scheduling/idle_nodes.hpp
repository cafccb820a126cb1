// The idle nodes: a count, and with identities on which ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "scheduling/decision.hpp"

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

  /// Takes the `n` lowest; n <= count().
  Holding take(Nodes n);
  /// Takes these; they must be idle.
  void take(const Holding& these);
  void give(const Holding& these);
  /// Which of `set` are idle.
  NodeSet among(const NodeSet& set) const;

 private:
  void set(std::uint32_t first, std::uint32_t last);
  void reset(std::uint32_t first, std::uint32_t last);

  Nodes count_ = 0;
  bool identities_ = false;
  // Level 0: nodes; above: which words below are not 0.
  std::array<std::vector<std::uint64_t>, 3> words_;
};

}  // namespace ductile
