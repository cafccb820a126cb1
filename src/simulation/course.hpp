// What a job that is not rigid truly does, phase by phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/speedup.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The way from a job's start to its end. How far it is, is the work it has left: a whole number.
///
/// Without phases that is node-microseconds at the preferred size (core-microseconds, where it is
/// known how many cores the job can use), so that a linear job ends to the microsecond where it
/// should, however often it is resized. With phases each iteration of any of
/// them is the same number, whatever time it takes: where iterations end is exact, and never
/// compared after rounding. Times are rounded once from where the job was last resized.
///
/// A view: job and row live longer.
class Course {
 public:
  /// A job without phases has one, of so many `iterations`. Where jobs share nodes it can use so
  /// many `cores` of each; 0: nobody counts them.
  Course(const WorkloadJob& job, const AdaptiveJob& more, std::uint32_t iterations = 1,
         std::uint32_t cores = 0);

  /// All of it.
  Work total() const { return total_; }
  /// What is left when the share `progress` is done.
  Work left_at(double progress) const;
  /// What is left when a step asks.
  Work left_at(const EvolvingStep& step) const;
  /// How many iterations of its phases are over then; 0, if it has none.
  std::uint64_t iterations_done(Work left) const {
    return has_phases() ? static_cast<std::uint64_t>((total_ - left) / unit_) : 0;
  }
  /// Which of its phases goes on with `left` to be done, and what is left at the end of one. There
  /// are phases.
  std::size_t phase_at(Work left) const;
  Work end_of_phase(std::size_t phase) const;
  /// What is left of `left` after `size` nodes worked for `time`. Where that is the end of an
  /// iteration as near as times are known, it is that end: the first one, if iterations that take
  /// no time follow.
  Work left_after(Work left, Nodes size, Duration time, const Pace& pace = {}) const;
  /// What is left of `left` when the share `share` of all work need not be done any more, or, if it
  /// is negative, is to be done besides: never less than nothing, nor more than all.
  Work left_without(Work left, double share) const;
  /// When `size` nodes, going on with `left` at `from`, have only `to` left; `from` if they already
  /// have no more. Without phases it is at least a microsecond later.
  Time when(Time from, Work left, Work to, Nodes size, const Pace& pace = {}) const;
  /// What is left at the next scheduling point of a job of this size, `left` if it is at one;
  /// nothing if the job ends before one. Without phases it is at one that is half a microsecond
  /// away, for times are rounded.
  std::optional<Work> next_point(Work left, Nodes size) const;
  /// What is under way over links that are shared, of a job of this size that goes on with `left`,
  /// and what is left when that changes: 0, if it does not.
  struct Sending {
    std::span<const Flow> flows{};
    Work to = 0;
  };
  Sending sending(Work left, Nodes size) const;

 private:
  /// A share of all work: of the decimal that it is written as, to the nearest whole number.
  Work part(double share) const;
  struct Part;
  /// Calls `visit(part)` for the phases in their order, until it returns false.
  template <class Visit>
  void for_parts(const Visit& visit) const;
  bool has_phases() const { return unit_ > 0; }
  double progress_at(Work left) const;
  template <class Row>
  const Row& at_size(std::span<const Row> rows, Nodes size) const;
  double ticks_of_iteration(const Part& part, Nodes size) const;
  std::optional<Work> next_point_without_phases(Work left, Nodes size) const;

  const AdaptiveJob& more_;
  Nodes preferred_;
  std::uint32_t cores_;
  Duration runtime_;
  std::uint32_t iterations_;
  Work unit_ = 0;  // of an iteration; 0: no phases
  Work total_;
};

}  // namespace ductile
