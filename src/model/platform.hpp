// The machine, as far as a scheduler sees it.
#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"

namespace ductile {

/// A homogeneous cluster: nodes 0 .. nodes-1, each with the same cores and power draw.
struct Platform {
  Nodes nodes = 0;
  std::uint32_t cores_per_node = 1;
  double idle_w = 0;     // power of a node that is on and idle
  double busy_w = 0;     // power of a node that computes, where a job does not say its own
  Duration boot_time{};  // from `power_on` to usable
};

}  // namespace ductile
