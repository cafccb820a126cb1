// Machines whose nodes are on the switches of an even tree.
#pragma once

#include <cstdint>
#include <vector>

#include "model/switch_tree.hpp"

namespace ductile::testing {

/// So many nodes on each leaf switch, so many of these under each switch of the next level, ...
inline Platform with_switches(Nodes nodes, const std::vector<std::uint32_t>& below) {
  Platform platform{.nodes = nodes};
  platform.switches = even_switches(nodes, below);
  return platform;
}

}  // namespace ductile::testing
