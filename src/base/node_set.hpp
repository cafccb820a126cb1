// Sets of node numbers as sorted intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace ductile {

/// Nodes `first` to `last`, both included.
struct Interval {
  std::uint32_t first, last;
  bool operator==(const Interval&) const = default;
};

/// A set of nodes: disjoint, sorted intervals that do not touch. Empty while identities are off.
struct NodeSet {
  std::vector<Interval> parts;

  bool operator==(const NodeSet&) const = default;

  bool empty() const { return parts.empty(); }
  Nodes count() const;
  bool contains(std::uint32_t node) const;
  bool contains(const NodeSet& other) const;
  bool intersects(const NodeSet& other) const;

  /// Adds nodes `first` to `last`; those already in the set stay.
  void insert(std::uint32_t first, std::uint32_t last);
  void insert(const NodeSet& other);
  /// As insert(first, last) where no interval of the set begins behind `first`: without a search.
  void append(std::uint32_t first, std::uint32_t last);
  void erase(const NodeSet& other);

  /// Takes the `n` highest (or lowest) nodes out of the set and returns them. `n <= count()`.
  NodeSet take_highest(Nodes n);
  NodeSet take_lowest(Nodes n);
};

NodeSet united(const NodeSet& a, const NodeSet& b);
NodeSet intersection(const NodeSet& a, const NodeSet& b);
NodeSet difference(const NodeSet& a, const NodeSet& b);

/// "0-3 7", as Batsim and its tools write node sets; "" for the empty set.
std::string to_string(const NodeSet& set);
/// Reads what `to_string` writes; ',' separates as well as ' '. Empty when it is no node set.
std::optional<NodeSet> parse_node_set(std::string_view text);

}  // namespace ductile
