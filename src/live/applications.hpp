// What applications took at the sizes they have run at, and what is therefore believed of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "live/submission.hpp"
#include "model/learned_speedup.hpp"

namespace ductile {

/// Jobs of a user that run the same program or script with the same arguments are runs of one
/// application.
class Applications {
 public:
  /// A job completed after `time` on `nodes`, and had no other size.
  void ran(std::uint32_t user, const Submission& what, Nodes nodes, Duration time);
  /// Nothing if the application has not run at two sizes.
  std::optional<Speedup> model(std::uint32_t user, const Submission& what) const;

 private:
  /// The user, and a hash of the rest: scripts and arguments may be long. Who makes two of his
  /// own the same has himself to blame; he cannot touch those of others.
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  static Key key_of(std::uint32_t user, const Submission& what);

  std::map<Key, LearnedSpeedup> known_;
  std::deque<Key> order_;  // in which they became known
};

}  // namespace ductile
