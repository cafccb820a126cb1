// Nodes on which jobs die at once. A node that is broken ends whatever is started on it, is idle
// again, and gets the next job: it would empty the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "live/applications.hpp"

namespace ductile {

class NodeWatch {
 public:
  /// So many deaths in a row are too many.
  static constexpr std::size_t kMost = 3;

  /// May a job that failed for this reason, a word of job/failure.hpp, be the work of its node? Not
  /// if it ended with a code of its own, or by a signal that people send.
  static bool is_death(std::string_view reason);

  /// A job that had one node was dead at once, by what its node may have done to it. True if the
  /// node is to have no more jobs. A program that does so on several nodes dies by itself: it
  /// speaks against none of them.
  bool died(std::uint32_t node, const Applications::Key& what);
  /// A job has run on these nodes: they are sound, and so is the program.
  void ran(const NodeSet& nodes, const Applications::Key& what);
  /// The node is used again, and has no past.
  void forget(const NodeSet& nodes);

 private:
  std::map<std::uint32_t, std::vector<Applications::Key>> deaths_{};  // of each node, in a row
  std::set<Applications::Key> suspects_{};  // programs that die wherever they are
};

}  // namespace ductile
