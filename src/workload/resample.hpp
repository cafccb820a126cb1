// A new workload of a real one's users: Zakay and Feitelson, "Workload resampling for performance
// evaluation of parallel job schedulers", ICPE 2013 and Concurrency and Computation: Practice and
// Experience 26(12), 2014. What a user does is kept as it is, with sessions and daily and weekly
// cycles; who is there, and when, is drawn anew.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

constexpr Duration kWeek = whole_seconds(7 * 86'400);

struct Resampling {
  std::uint64_t weeks = 0;  // of the new workload; 0: as many as the log has
  /// Offered, within `kLoadTolerance`; none: with as many users as the log has.
  std::optional<double> load;
  Nodes nodes = 0;  // of the machine; a load needs it
  /// Users whose first and last jobs are so many weeks apart or more are long-term ones, others are
  /// temporary. The log has to be longer.
  std::uint64_t long_term_weeks = 12;
};

/// Of the load that is asked for.
inline constexpr double kLoadTolerance = 0.01;

/// What came of it.
struct Resampled {
  Workload workload;
  Time origin{};                    // of the log: its week of time 0 is where the new one begins
  std::uint64_t log_weeks = 0;      // weeks of the log, from that of its first job on
  std::uint64_t weeks = 0;          // of the new workload
  std::uint64_t log_long_term = 0;  // users of the log
  std::uint64_t log_temporary = 0;
  std::uint64_t long_term = 0;  // users of the new workload, each time they are drawn
  std::uint64_t temporary = 0;
  std::uint64_t without_user = 0;  // jobs of the log that are left out, for nobody is their user
  double log_load = 0, load = 0;   // work over what `nodes` can do in all weeks; 0: nodes unknown
};

/// Users are moved by whole weeks, so that each job keeps its time of the day and its day of the
/// week.
///
/// Temporary users are drawn with replacement, and each arrives in a week of the new workload or so
/// shortly before that he may still be there: as many a week, on average, as in the log. Long-term
/// users keep places, as many as there are at the same time in the log, on average: the first user
/// of a place begins in any week of his own, and when he is done another one begins with his first.
/// For a load users are added, in the proportion of both in the log, until it is reached; those
/// who would take it further away than it is are passed over.
///
/// Users and jobs are numbered anew, groups stay. A job waits for those jobs of its user that it
/// waited for, as far as they are there; the others count as lost. The result depends on the log
/// and the seed alone. Throws InputError if there are no users or the load cannot be reached, or is
/// more than a thousand times that of the log.
Resampled resample(const Workload& log, const Resampling& how, std::uint64_t seed);

/// The date of time 0 of workloads that are made of the log, if that of the log is this one (s
/// since 1970). None: not known, or too far away.
std::optional<std::int64_t> start_of_resampled(const Workload& log,
                                               std::optional<std::int64_t> unix_start_time);

}  // namespace ductile
