// Of which jobs the figures of a run are: a run begins with an empty machine and ends with one that
// empties, and what happens then says little of what is between.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A time of a workload, or a share of the time from its first submission to its last.
struct MeasuredBound {
  Time at{};
  std::optional<double> share{};  // 0 to 1; instead of `at`
  bool detected = false;          // instead: the end of the warm-up, which each run shows itself
  bool operator==(const MeasuredBound&) const = default;

  /// `workload` is as it was read.
  Time in(const Workload& workload) const {
    if (detected) return Time::min();
    if (!share) return at;
    if (workload.jobs.empty()) return {};
    const Time first = workload.jobs.front().submit, last = workload.jobs.back().submit;
    return first + seconds(*share * to_seconds(last - first));
  }
};

/// From here on, and before there. None: from the first job on, to the last one.
struct MeasuredPart {
  std::optional<MeasuredBound> from{}, until{};
  bool is_all() const { return !from && !until; }
};

/// The same of one workload; where `from` is to be detected, from the beginning.
struct MeasuredTimes {
  Time from = Time::min(), until = kNever;
  bool contains(Time time) const { return from <= time && time < until; }
};

inline MeasuredTimes times_of(const MeasuredPart& measured, const Workload& workload) {
  MeasuredTimes times;
  if (measured.from) times.from = measured.from->in(workload);
  // The last submission belongs to all of them.
  const bool is_end = measured.until && measured.until->share == 1.0;
  if (measured.until && !is_end) times.until = measured.until->in(workload);
  return times;
}

}  // namespace ductile
