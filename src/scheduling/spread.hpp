// Nodes counted by cell. A cell is a set of nodes that nobody who waits tells apart; which nodes it
// has follows from the facts (`Indices`). Where all nodes are alike there is one, number 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"

namespace ductile {

/// A set of cells: a bit for each.
using Cells = std::uint64_t;
inline constexpr std::size_t kMostCells = 64;
/// Node lists of jobs tell no more than these apart, with all else: the others are for bookings to
/// come.
inline constexpr std::size_t kMostCellsWithLists = 48;
/// Anywhere, however many cells there are.
inline constexpr Cells kEveryCell = ~Cells{0};

/// Calls `visit(std::uint32_t)` for each cell of a set, the lowest number first.
template <class Visit>
void for_each_cell(Cells cells, Visit visit) {
  for (; cells != 0; cells &= cells - 1) visit(static_cast<std::uint32_t>(std::countr_zero(cells)));
}

/// Calls `visit(cell, count)` for each stretch of these nodes that is of one cell, in order;
/// `by_node`: of each node its cell.
template <class Visit>
void for_each_run(const std::vector<std::uint8_t>& by_node, const NodeSet& nodes, Visit visit) {
  for (const Interval& part : nodes.parts) {
    const std::uint8_t* const end = by_node.data() + part.last + 1;
    for (const std::uint8_t* at = by_node.data() + part.first; at != end;) {
      const std::uint8_t* last = at;
      // Eight at a time: cells are mostly of neighbours.
      const std::uint64_t alike = *at * std::uint64_t{0x0101'0101'0101'0101};
      for (std::uint64_t some; end - last >= 8; last += 8) {
        std::memcpy(&some, last, 8);
        if (some != alike) break;
      }
      while (last != end && *last == *at) ++last;
      visit(std::uint32_t{*at}, static_cast<Nodes>(last - at));
      at = last;
    }
  }
}

/// So many nodes of each of some cells.
struct Spread {
  struct Part {
    std::uint32_t cell = 0;
    Nodes count = 0;
    bool operator==(const Part&) const = default;
  };

  std::vector<Part> parts;  // by cell, each once and of some nodes

  bool operator==(const Spread&) const = default;
  bool empty() const { return parts.empty(); }
  void clear() { parts.clear(); }
  Nodes count() const {
    Nodes sum = 0;
    for (const Part& part : parts) sum += part.count;
    return sum;
  }
  Nodes of(std::uint32_t cell) const {
    const auto at = std::ranges::lower_bound(parts, cell, {}, &Part::cell);
    return at != parts.end() && at->cell == cell ? at->count : 0;
  }
  Cells cells() const {
    Cells all = 0;
    for (const Part& part : parts) all |= Cells{1} << part.cell;
    return all;
  }
  void add(std::uint32_t cell, Nodes count) {
    if (count == 0) return;
    if (parts.empty() || parts.back().cell < cell) {
      parts.push_back({cell, count});
      return;
    }
    const auto at = std::ranges::lower_bound(parts, cell, {}, &Part::cell);
    if (at != parts.end() && at->cell == cell) {
      at->count += count;
    } else {
      parts.insert(at, {cell, count});
    }
  }
  void add(const Spread& other) {
    for (const Part& part : other.parts) add(part.cell, part.count);
  }
};

}  // namespace ductile
