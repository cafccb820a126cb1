// Rigid scheduling done slowly and plainly, to hold the real thing against.
//
// Nothing here is clever, and nothing is shared with the scheduler but the type of a job and of
// time: lists are sorted when they are needed, profiles are made anew in every pass. At each
// instant all ends come first, then all submissions, then one pass.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile::naive {

/// What became of a job.
struct JobTimes {
  Time start{}, end{};
  bool operator==(const JobTimes&) const = default;
};

/// Does `a` go before `b` in the queue? Jobs that do not go before each other keep their order of
/// submission. Walltimes are seen as the schedule uses them (see `Options::kill`).
using Before = std::function<bool(const WorkloadJob& a, const WorkloadJob& b)>;

bool fcfs_order(const WorkloadJob& a, const WorkloadJob& b);
bool sjf_order(const WorkloadJob& a, const WorkloadJob& b);       // shortest walltime
bool ljf_order(const WorkloadJob& a, const WorkloadJob& b);       // longest walltime
bool smallest_order(const WorkloadJob& a, const WorkloadJob& b);  // fewest nodes
bool largest_order(const WorkloadJob& a, const WorkloadJob& b);   // most nodes

struct Options {
  Before before = fcfs_order;
  /// A job that would run longer than its walltime: ended there, or else its walltime is raised.
  bool kill = false;
};

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// All take rigid jobs sorted by submit time, none larger than the machine (std::invalid_argument),
// and return the times of each job, in the same order.

/// In queue order while the head fits.
std::vector<JobTimes> fcfs(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                           const Options& options = {});

/// EASY, Lifka 1995, as in the textbook: a reservation for the head only. The shadow time is the
/// earliest expected end at which the head fits, all releases of that instant taken together.
std::vector<JobTimes> easy(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                           const Options& options = {});

/// At most `reservations` per pass, at the earliest time in a profile of the expected ends; the
/// rest starts now or not at all. Without limit: conservative backfilling.
std::vector<JobTimes> backfill(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                               std::size_t reservations, const Options& options = {});

/// Slurm's two schedulers, which do all that they could do: at events and at each multiple of
/// `sched_interval` jobs start in order, at each multiple of `bf_interval` backfill plans.
struct SlurmOptions {
  std::size_t default_queue_depth = kUnlimited, bf_max_job_test = kUnlimited;
  Duration sched_interval{}, bf_interval{};  // 0: never
  Duration bf_window{}, bf_resolution{};     // 0: however far; exact
};
std::vector<JobTimes> slurm(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                            const SlurmOptions& how, const Options& options = {});

}  // namespace ductile::naive
