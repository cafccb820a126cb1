// The queue order `multifactor`: the priority of a job is a sum of weighted factors, as with
// Slurm's plugin priority/multifactor (https://slurm.schedmd.com/priority_multifactor.html).
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/platform.hpp"

namespace ductile {

/// How much each factor weighs, and what it is made of; named as in slurm.conf. Without weights all
/// jobs are equal.
struct Multifactor {
  std::uint32_t weight_age = 0;
  std::uint32_t weight_fairshare = 0;
  std::uint32_t weight_size = 0;
  std::uint32_t weight_partition = 0;
  std::uint32_t weight_qos = 0;
  Duration max_age = whole_seconds(7 * 24 * 3600);  // who has waited so long has all of its factor
  bool favor_small = false;                         // small jobs instead of large ones
  bool small_relative_to_time = false;              // size is what is asked for by the minute
  double fairshare_dampening = 1;  // of so many times his share a user's use halves the factor

  bool operator==(const Multifactor&) const = default;
};

/// What is weighed, each from 0 to 1.
struct PriorityFactors {
  double age = 0;
  double fairshare = 0;
  double size = 0;
  double partition = 0;
  double qos = 0;
};

double age_factor(const Multifactor& rules, Duration waited);
/// Of a job of `n` of the machine's nodes, which may run for `walltime`.
double size_factor(const Multifactor& rules, Nodes n, Nodes machine, Duration walltime);
/// The classic one, where all users are siblings: 2^-(used / share / dampening). Both are parts of
/// all, 0 to 1, the share above 0.
double fairshare_factor(const Multifactor& rules, double used, double share);
/// Of a job that may run in any of these (a bit for each; 0: in the first): that of the partition
/// with the highest priority, in comparison with the highest of all.
double partition_factor(const Platform& platform, std::uint64_t partitions);
/// The priority of its quality of service in comparison with the highest one; 0 without any.
double qos_factor(const Where& where);

/// The highest goes first: the sum, rounded down to a whole number, at least 1, below 2^32.
std::uint32_t priority(const Multifactor& rules, const PriorityFactors& factors);

/// The factors of all jobs of a lane.
struct LaneFactors {
  double partition = 1, qos = 0;
};
LaneFactors lane_factors(const Platform& platform, const Where& where);

/// What the priorities of jobs are computed from besides the jobs, the time, and what users used.
struct Ranking {
  Multifactor rules{};
  Nodes nodes = 0;                   // of the machine
  std::vector<LaneFactors> lanes{};  // of each; of others the usual ones
};

}  // namespace ductile
