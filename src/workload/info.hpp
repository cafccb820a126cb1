// What there is to say about a workload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "workload/flurries.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Quantiles are interpolated linearly between the values around them. All 0 for no values.
struct Distribution {
  double min = 0, median = 0, mean = 0, p95 = 0, max = 0;
};

/// What jobs are like whose value is `from` and more, and less than `to`.
struct Bin {
  double from = 0, to = 0;  // `to` is infinite in the last one
  std::uint64_t jobs = 0;
  double work_node_s = 0;
};

struct TopUser {
  std::uint32_t user = 0;
  std::uint64_t jobs = 0;
  double work_node_s = 0;
};

/// Shares are of the jobs, 0 .. 1. An empty value has nothing to be computed from.
struct WorkloadInfo {
  std::uint64_t jobs = 0;
  std::array<std::uint64_t, kJobTypeWords.size()> jobs_by_type{};  // in the order of JobType
  std::uint64_t users = 0;                                         // that are known
  double first_submit_s = 0;
  double span_s = 0;       // from the first submission to the last
  double work_node_s = 0;  // sum of size times run time
  Distribution size_nodes;
  Distribution runtime_s;
  Distribution interarrival_s;  // between submissions one after the other
  /// Work over what the machine can do in the span.
  std::optional<double> offered_load;
  double serial_share = 0;        // of size 1
  double power_of_two_share = 0;  // size 1 included

  double requested_share = 0;  // with a requested time that is known; the rest is about these
  std::optional<double> overrun_share;  // ran longer than requested
  std::optional<double> accuracy_mean;  // run time over requested time
  std::optional<double> accuracy_median;

  std::uint64_t without_user = 0, without_group = 0;
  std::vector<Bin> sizes;       // 1, 2, 3 and 4, 5 to 8, ... nodes, to the largest job
  std::vector<Bin> runtimes;    // s
  std::vector<Bin> accuracies;  // run time over requested time, in tenths; the last one is above 1
  std::vector<Bin> by_hour;  // of the day, 0 to 23, of submission; empty if the date is not known
  std::vector<Bin> by_weekday;     // 0 is Monday
  std::vector<TopUser> top_users;  // the ten with the most work, the most first
  std::vector<Flurry> flurries;
};

struct InfoSettings {
  std::optional<std::int64_t> unix_start_time;  // s since 1970 of time 0 of the workload
  Duration utc_offset{};                        // of the clock whose hours and days count
  FlurrySettings flurry;
};

/// The facts of a workload for a machine of `nodes` (0: not known). A walltime of 0 is one that is
/// not known: read logs with runtime_as_walltime and extend_walltime off for it. One pass over the
/// jobs; memory for a few numbers of each.
WorkloadInfo describe(const Workload& workload, Nodes nodes, const InfoSettings& settings = {});

}  // namespace ductile
