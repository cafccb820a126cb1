// SimGrid's platform files, as far as jobs that have the machine for themselves can tell.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace ductile {

/// A way for bytes. Nothing said: any number at once.
struct NetworkPath {
  double bytes_per_s = std::numeric_limits<double>::infinity();
  double latency_s = 0;
  bool shared = true;  // by all that goes this way; else each flow has all of it

  bool operator==(const NetworkPath&) const = default;
};

/// A host that stores files, and the ways to it beyond the link of a node.
struct FileSystemHost {
  std::string name;
  NetworkPath read, write;
};

/// A machine of equal nodes.
struct SimgridMachine {
  Nodes nodes = 0;
  double flops_per_s = 0;  // of a node
  NetworkPath link;        // of a node
  bool both_ways = true;   // what a node sends and what it receives do not share its link
  NetworkPath backbone;    // between all nodes
  /// Not empty: its nodes reach each other over a network of this kind, which is not modelled. What
  /// they send to others is not known; anything else is.
  std::string unknown_network;
  bool files_use_link = true;  // the way to the file system begins with the node's link
  std::vector<FileSystemHost> file_system;
  double buffer_read_bytes_per_s = 0, buffer_write_bytes_per_s = 0;  // 0: no burst buffer
  bool buffers_striped = false;       // over the burst buffers of all nodes of the job
  double flops_per_striped_byte = 0;  // what that costs
  std::uint32_t gpus = 0;             // of a node
  double flops_per_gpu_s = 0;
  double gpu_bytes_per_s = 0;                        // between two of a node
  std::map<std::string, double> link_bytes_per_s{};  // of the links that have a name
};

/// Reads a platform as ElastiSim and Batsim do: all hosts are compute nodes but those with the
/// property `batch_system` or `pfs_host`, or the role `master` or `storage`, and `master_host`.
/// `file` is its name in errors. What is not modelled is told in
/// `remarks`, a line for each cause. Throws InputError.
SimgridMachine parse_simgrid(std::string_view text, const std::string& file,
                             std::vector<std::string>& remarks);

}  // namespace ductile
