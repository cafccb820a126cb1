// Flurries: surges of activity of a single user that dominate the workload for a relatively short
// period (Tsafrir and Feitelson, "Instability in parallel job scheduling simulation: the role of
// workload flurries", IPDPS 2006).
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The authors found theirs by eye. Here it is a surge where a user submits so many jobs, and such
/// a share of all jobs, in a time of this length.
struct FlurrySettings {
  std::uint64_t jobs = 1000;
  double share = 0.5;  // of the jobs submitted in that time
  Duration window = whole_seconds(std::int64_t{7} * 86'400);
};

/// All jobs of a user in times that are surges and have jobs in common.
struct Flurry {
  std::uint32_t user = 0;
  Time first{}, last{};             // submissions
  std::vector<std::uint32_t> rows;  // places in Workload::jobs, in order
};

/// The flurries of a workload, by their first submission. A surge begins with one of the user's
/// jobs. Jobs of users that are not known make none.
std::vector<Flurry> find_flurries(const Workload& workload, const FlurrySettings& settings);

/// Takes the jobs of flurries out, and returns how many they were. Throws InputError if no job is
/// left.
std::uint64_t remove_flurries(Workload& workload, const FlurrySettings& settings);

}  // namespace ductile
