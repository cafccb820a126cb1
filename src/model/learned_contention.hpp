// What jobs lose by each other on shared nodes, learned from pairs of them that were seen there.
#pragma once

#include <array>

#include "base/time.hpp"
#include "model/contention.hpp"

namespace ductile {

/// What was seen of each pair of bounds, and the table that follows. Of a pair that was seen for
/// less than a minute altogether that has what was believed before.
class LearnedContention {
 public:
  explicit LearnedContention(const Contention& before = {}) : before_(before) {}

  /// On nodes of which each had jobs so bound beside it, a job took so long for what it would have
  /// done in `alone` with the same cores and nobody beside it.
  void add(Bound job, Bound beside, Duration alone, Duration took);
  /// To the nearest thousandth, from 1 to 1000 of them: of all time together, so that a long time
  /// counts more than a short one.
  Contention model() const;

 private:
  struct Seen {
    Duration alone{}, took{};
  };
  Contention before_;
  std::array<std::array<Seen, kBoundWords.size()>, kBoundWords.size()> seen_{};
};

}  // namespace ductile
