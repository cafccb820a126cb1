// Nodes on which jobs die at once. A node that is broken ends whatever is started on it, is idle
// again, and gets the next job: it would empty the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"

namespace ductile {

class NodeWatch {
 public:
  /// So many deaths in a row are too many.
  static constexpr std::size_t kMost = 3;

  /// May a job that failed for this reason, a word of job/failure.hpp, be the work of its node? Not
  /// if it ended with a code of its own, whatever that looks like, or by a signal that people send.
  static bool is_death(std::string_view reason, bool was_killed);

  /// A job that had one node was dead at once, by what its node may have done to it. True if the
  /// node is to have no more jobs: the last ones were of several users, or of one whose jobs have
  /// died on no other node since one of them ran well. So who sends bad jobs drains one node at
  /// most: its deaths are kept until it is used again.
  bool died(std::uint32_t node, std::uint32_t user);
  /// A job has run on these nodes: they are sound, and so is what its user does.
  void ran(const NodeSet& nodes, std::uint32_t user);
  /// The node is used again, and has no past.
  void forget(const NodeSet& nodes);

 private:
  struct Death {
    std::uint32_t user = 0;
    std::uint64_t at = 0;
  };
  bool has_died_elsewhere(std::uint32_t node, std::uint32_t user) const;

  std::map<std::uint32_t, std::vector<Death>> deaths_{};  // of each node, the last ones in a row
  std::map<std::uint32_t, std::uint64_t> ran_{};          // of each user, when one ran well
  std::uint64_t now_ = 0;                                 // so many jobs were seen
};

}  // namespace ductile
