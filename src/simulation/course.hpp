// What a job that is not rigid truly does, phase by phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/speedup.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The way from a job's start to its end. How far it is, is the work it has left: a whole number,
/// so that a linear job without phases ends to the microsecond where it should, however often it is
/// resized. With phases the end of each but the last is rounded to a microsecond besides.
///
/// A view: job and row live longer.
class Course {
 public:
  /// A job without phases has one, of so many `iterations`.
  Course(const WorkloadJob& job, const AdaptiveJob& more, std::uint32_t iterations = 1)
      : more_(more),
        preferred_(job.nodes),
        iterations_(iterations),
        total_(total_work(job.nodes, job.runtime)) {}

  /// All of it.
  Work total() const { return total_; }
  /// What is left when the share `progress` is done.
  Work left_at(double progress) const;
  /// What is left of `left` after `size` nodes worked for `time`.
  Work left_after(Work left, Nodes size, Duration time) const;
  /// What is left of `left` when the share `share` of all work need not be done any more, or, if it
  /// is negative, is to be done besides: never less than nothing, nor more than all.
  Work left_without(Work left, double share) const;
  /// When `size` nodes, going on with `left` at `from`, have only `to` left; `from` if they already
  /// have no more, else at least a microsecond later.
  Time when(Time from, Work left, Work to, Nodes size) const;
  /// What is left at the next scheduling point; nothing if the job ends before one. The job is at
  /// one if it is less than a microsecond of `size` nodes away, for times are rounded: `left` then.
  std::optional<Work> next_point(Work left, Nodes size) const;

 private:
  std::size_t phases() const { return more_.phases.empty() ? 1 : more_.phases.size(); }
  const Speedup& speedup(std::size_t phase) const {
    return more_.phases.empty() ? more_.speedup : more_.phases[phase].speedup;
  }
  /// What is left at the end of a phase.
  Work end_of(std::size_t phase) const {
    return phase + 1 >= phases() ? 0 : left_at(more_.phases[phase].until);
  }
  /// The phase that works on `left`, or the last one.
  std::size_t phase_of(Work left) const;

  const AdaptiveJob& more_;
  Nodes preferred_;
  std::uint32_t iterations_;
  Work total_;
};

}  // namespace ductile
