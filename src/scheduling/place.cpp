#include "scheduling/place.hpp"

#include <algorithm>

namespace ductile {
namespace {

// Calls `take(cell, most)`, which says how many it took, until there are `n`.
template <class Take>
void take_in_order(const CellTable& cells, Cells among, Nodes n, const Spread* in, Take take) {
  for (const std::uint32_t cell : cells.in_order()) {
    if (n == 0) return;
    if ((among >> cell & 1) == 0) continue;
    n -= take(cell, in ? std::min(n, in->of(cell)) : n);
  }
}

}  // namespace

NodeSet pick(const CellTable& cells, IdleNodes& idle, Cells among, Nodes n, const Spread* in,
             const NodeSet& beside) {
  NodeSet found;
  take_in_order(cells, among, n, in, [&](std::uint32_t cell, Nodes most) {
    const Nodes count = std::min(most, idle.of(cell));
    if (idle.are_placed()) {
      found.insert(idle.take_of(cell, count, beside));
    } else {
      idle.add_lowest(count, cells[cell].nodes, found);
    }
    return count;
  });
  if (!idle.are_placed()) idle.take({found.count(), found});
  return found;
}

NodeSet pick(const CellTable& cells, const Placer& placer, NodeSet& from, Cells among, Nodes n,
             const Spread* in) {
  NodeSet found;
  take_in_order(cells, among, n, in, [&](std::uint32_t cell, Nodes most) {
    NodeSet there = intersection(from, cells[cell].nodes);
    const Nodes count = std::min(most, there.count());
    found.insert(placer.take(there, count));
    return count;
  });
  from.erase(found);
  return found;
}

}  // namespace ductile
