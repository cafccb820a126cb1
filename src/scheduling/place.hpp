// Which nodes a job gets of those that it may use: of the cells in their order (`CellTable`), first
// those of the least weight, then those that fewer lanes may use; of each cell what the placement
// says.
#pragma once

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "scheduling/cells.hpp"
#include "scheduling/idle_nodes.hpp"
#include "scheduling/placement.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// Takes `n` idle nodes, or as many as there are in these cells, for a job that has those `beside`
/// them. With `in` no more of each cell than that.
NodeSet pick(const CellTable& cells, IdleNodes& idle, Cells among, Nodes n,
             const Spread* in = nullptr, const NodeSet& beside = {});

/// Takes `n` nodes out of `from`, or as many as there are in these cells.
NodeSet pick(const CellTable& cells, const Placer& placer, NodeSet& from, Cells among, Nodes n,
             const Spread* in = nullptr);

}  // namespace ductile
