// The sizes a running job can have, and what remains of a corridor's constraints when each node is
// counted by how much more it draws than an idle one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "solver/corridor_problem.hpp"

namespace ductile {

/// The sizes of one running job: its allowed ones, and the one it has.
class CorridorSizes {
 public:
  explicit CorridorSizes(const RunningInCorridor& job, Nodes most);

  bool has(Nodes size) const { return size == n_ || allows(size); }
  bool is_fixed() const { return min_ == max_; }
  Nodes min() const { return min_; }
  Nodes max() const { return max_; }
  /// The largest one up to `size`, or the smallest one of all.
  Nodes at_most(Nodes size) const;
  /// The smallest one from `size` on, or the largest one of all.
  Nodes at_least(Nodes size) const;
  /// Appends those that are nearest to `size`, ascending: so many of them, or all. What the job has
  /// is among them.
  void append_nearest(Nodes size, std::size_t count, std::vector<Nodes>& sizes) const;

 private:
  bool allows(Nodes size) const { return range_.contains(size) && constraint_.allows(size); }

  Nodes n_;
  SizeRange range_;  // empty: no other size than n
  SizeConstraint constraint_;
  Nodes min_, max_;
};

/// A running job of a problem whose jobs are sorted by id.
struct CorridorJob {
  Nodes n;
  Milliwatts most;   // above idle, per node, against the upper bound; 0 where there is none
  Milliwatts least;  // the same against the lower bound
  std::int64_t cost;
  CorridorSizes sizes;
};

/// Nodes of running jobs, and what they draw above idle.
struct CorridorSums {
  std::int64_t nodes = 0;
  Milliwatts most = 0, least = 0;

  void add(const CorridorJob& job, std::int64_t size) {
    nodes += size;
    most += size * job.most;
    least += size * job.least;
  }
};

/// What their sums may be.
struct CorridorLimits {
  std::int64_t nodes = 0;                                        // at most
  Milliwatts most = std::numeric_limits<Milliwatts>::max();      // `most` is no more,
  Milliwatts least = std::numeric_limits<Milliwatts>::lowest();  // and `least` no less

  bool hold(const CorridorSums& sums) const {
    return sums.nodes <= nodes && sums.most <= most && sums.least >= least;
  }
};

/// The jobs of a problem, in the order of these places.
std::vector<CorridorJob> corridor_jobs(const CorridorProblem& problem,
                                       std::span<const std::uint32_t> order);
/// What is left for running jobs when these are started; fewer than 0 nodes: they have no place.
CorridorLimits corridor_limits(const CorridorProblem& problem,
                               std::span<const WaitingForCorridor> waiting);

}  // namespace ductile
