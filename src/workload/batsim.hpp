// Workloads of Batsim, versions 4 and 5: one JSON file of jobs and profiles.
// docs/formats/batsim.md is the reference of what is read and how.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.hpp"

namespace ductile {

/// What parallel tasks run on: equal nodes, each with a link that sends and receives at once, and
/// what is between all of them. 0: not known.
struct BatsimMachine {
  double flops_per_s = 0;           // of a node
  double link_bytes_per_s = 0;      // of a node, in each direction
  double backbone_bytes_per_s = 0;  // of all together; 0: no bottleneck
};

struct BatsimRules {
  BatsimMachine machine;
  bool skip_unsupported = false;  // leave jobs out whose profile has no run time here, and tell it
};

struct BatsimInput {
  Workload workload;
  Nodes nodes = 0;                   // nb_res; 0: not said
  std::vector<std::string> remarks;  // what is not taken as it is, a line each
};

/// Reads a workload, plain or compressed. Throws InputError.
BatsimInput read_batsim(const std::string& path, const BatsimRules& rules);

/// The same from the content of a file called `name`.
BatsimInput parse_batsim(std::string_view bytes, const std::string& name, const BatsimRules& rules);

enum class BatsimVersion : std::uint8_t { v4, v5 };

/// Writes rigid jobs of a machine of `nodes`, with a delay profile for each run time. How jobs
/// adapt is not written. The caller looks at the state of `out`.
void write_batsim(std::ostream& out, const Workload& workload, Nodes nodes, BatsimVersion version);

}  // namespace ductile
