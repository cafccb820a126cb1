#include "simulation/course.hpp"

#include <algorithm>
#include <cmath>

#include "base/decimal.hpp"

namespace ductile {
namespace {

constexpr Work kAllIterations = Work{1} << 62;
// Shares are given as doubles below 1: what is nearer than this is the same.
constexpr double kSameShare = 1e-15;

// Microseconds, whatever their number.
Duration microseconds(double ticks) {
  constexpr double kMost = 9e18;
  return ticks < kMost ? Duration{std::llround(ticks)} : Duration::max();
}

}  // namespace

// A phase and where it is.
struct Course::Part {
  const Phase& phase;
  Work begin, end;     // what is left at both
  double from, until;  // the shares done
};

Course::Course(const WorkloadJob& job, const AdaptiveJob& more, std::uint32_t iterations,
               std::uint32_t cores)
    : more_(more),
      preferred_(job.nodes),
      cores_(std::max(cores, 1u)),
      runtime_(job.runtime),
      iterations_(iterations),
      total_(total_work(job.nodes, job.runtime) * cores_) {
  if (more.phases.empty()) return;
  Work all = 0;
  for (const Phase& phase : more.phases) all += phase.iterations;
  unit_ = std::max(kAllIterations / all, Work{1});
  total_ = unit_ * all;
}

template <class Visit>
void Course::for_parts(const Visit& visit) const {
  Work begin = total_;
  double from = 0;
  for (const Phase& phase : more_.phases) {
    const Work end = begin - unit_ * phase.iterations;
    const double until = end == 0 ? 1 : phase.until;
    if (!visit(Part{phase, begin, end, from, until})) return;
    begin = end;
    from = until;
  }
}

// Where nodes failed it may be smaller than it may be.
template <class Row>
const Row& Course::at_size(std::span<const Row> rows, Nodes size) const {
  const Nodes row = std::max(size, more_.size.min) - more_.size.min;
  return rows[std::min<std::size_t>(row, rows.size() - 1)];
}

double Course::ticks_of_iteration(const Part& part, Nodes size) const {
  const auto times_s = part.phase.times_s.rows();
  if (!times_s.empty()) return 1e6 * at_size(times_s, size);
  return static_cast<double>(runtime_.count()) * (part.until - part.from) / part.phase.iterations *
         part.phase.speedup.relative_time(size, preferred_);
}

Work Course::part(double share) const {
  return Decimal(std::clamp(share, 0.0, 1.0)).round_of(total_);
}

Work Course::left_at(double progress) const {
  if (!has_phases()) return total_ - part(progress);
  if (progress <= 0) return total_;
  Work left = 0;
  for_parts([&](const Part& part) {
    if (progress > part.until) return true;
    const double each = (part.until - part.from) / part.phase.iterations;
    const double done = each > 0 ? std::max(progress - part.from, 0.0) / each : 0;
    const double whole = std::round(done);
    left = part.begin - (std::abs(done - whole) * each < kSameShare
                             ? static_cast<Work>(whole) * unit_
                             : std::llround(done * static_cast<double>(unit_)));
    return false;
  });
  return std::max<Work>(left, 0);
}

Work Course::left_at(const EvolvingStep& step) const {
  if (step.iterations == 0 || !has_phases()) return left_at(step.progress);
  return step.iterations < static_cast<std::uint64_t>(total_ / unit_)
             ? total_ - static_cast<Work>(step.iterations) * unit_
             : 0;
}

std::size_t Course::phase_at(Work left) const {
  std::size_t phase = 0;
  for_parts([&](const Part& part) {
    if (left > part.end || part.end == 0) return false;
    ++phase;
    return true;
  });
  return phase;
}

Work Course::end_of_phase(std::size_t phase) const {
  Work end = 0;
  for_parts([&](const Part& part) {
    end = part.end;
    return phase-- > 0;
  });
  return end;
}

double Course::progress_at(Work left) const {
  double progress = 1;
  for_parts([&](const Part& part) {
    if (left < part.end) return true;
    const double done =
        static_cast<double>(part.begin - left) / static_cast<double>(part.begin - part.end);
    progress = part.from + done * (part.until - part.from);
    return false;
  });
  return progress;
}

Work Course::left_after(Work left, Nodes size, Duration time, const Pace& pace) const {
  if (!has_phases()) {
    const Crew crew{size, cores_, pace};
    return std::max<Work>(left - work_done(more_.speedup, preferred_, crew, time), 0);
  }
  if (time <= Duration{}) return left;
  double rest = static_cast<double>(time.count()) * pace.share();
  // Half a microsecond, and what the sums below lose.
  const double near = 0.501 + 1e-15 * rest;
  for_parts([&](const Part& part) {
    if (left <= part.end && part.end > 0) return true;
    const double each = ticks_of_iteration(part, size) / static_cast<double>(unit_);
    const double whole = static_cast<double>(left - part.end) * each;
    if (rest > whole + near) {
      rest -= whole;
      left = part.end;
      return true;
    }
    if (whole - rest < near) {
      left = part.end;
      return false;
    }
    const Work there = std::max(left - rounded(rest / each), part.end);
    const Work end = part.end + (there - part.end + unit_ / 2) / unit_ * unit_;
    const bool is_end =
        static_cast<double>((there < end ? end - there : there - end)) * each < near;
    left = is_end ? std::min(end, left) : there;
    return false;
  });
  return left;
}

Work Course::left_without(Work left, double share) const {
  if (!has_phases()) {
    const Work change = part(std::abs(share));
    return share < 0 ? left + std::min(change, total_ - left) : std::max(left - change, Work{0});
  }
  return share == 0 ? left : left_at(progress_at(left) + share);
}

Time Course::when(Time from, Work left, Work to, Nodes size, const Pace& pace) const {
  if (left <= to) return from;
  if (!has_phases()) {
    const Crew crew{size, cores_, pace};
    return later(from, time_for(more_.speedup, preferred_, crew, left - to));
  }
  double ticks = 0;
  for_parts([&](const Part& part) {
    const Work work = std::min(left, part.begin) - std::max(to, part.end);
    if (work > 0) {
      ticks +=
          ticks_of_iteration(part, size) * (static_cast<double>(work) / static_cast<double>(unit_));
    }
    return part.end > to;
  });
  return later(from, microseconds(ticks / pace.share()));
}

std::optional<Work> Course::next_point(Work left, Nodes size) const {
  if (!has_phases()) return next_point_without_phases(left, size);
  Work point = 0;
  for_parts([&](const Part& part) {
    if (part.end > left || !part.phase.scheduling_points) return true;
    point = part.end + unit_ * std::min<Work>((left - part.end) / unit_, part.phase.iterations - 1);
    return false;
  });
  // Or where it asks.
  const auto is_behind = [&](const EvolvingStep& step) { return left_at(step) > left; };
  for (auto step = std::ranges::partition_point(more_.steps, is_behind);
       step != more_.steps.end() && left_at(*step) > point; ++step) {
    if (step->iterations > 0 && more_.delta_of(*step, size) != 0) point = left_at(*step);
  }
  return point > 0 ? std::optional(point) : std::nullopt;
}

Course::Sending Course::sending(Work left, Nodes size) const {
  Sending sending;
  for_parts([&](const Part& part) {
    const auto all = part.phase.stretches.rows();
    if (left <= part.end || all.empty() || at_size(all, size).rows().empty()) return true;
    if (left > part.begin) {  // nothing, until this part begins
      sending.to = part.begin;
      return false;
    }
    const std::span<const Stretch> stretches = at_size(all, size).rows();
    if (stretches.size() == 1 && stretches.front().until == 1) {  // the same in each iteration
      sending = {stretches.front().flows, part.end};
      return false;
    }
    const Work end = part.end + (left - part.end - 1) / unit_ * unit_;  // of the iteration
    sending.to = end;
    for (const Stretch& stretch : stretches) {
      const Work rest = std::llround((1 - stretch.until) * static_cast<double>(unit_));
      if (end + rest >= left) continue;
      sending = {stretch.flows, end + rest};
      break;
    }
    return false;
  });
  return sending;
}

std::optional<Work> Course::next_point_without_phases(Work left, Nodes size) const {
  const auto after = [&](std::uint32_t iterations) {
    return left_at(static_cast<double>(iterations) / iterations_);
  };
  const Work near = work_done(more_.speedup, preferred_, Crew{size, cores_, {}}, kTick) / 2;
  const Work reached = left > total_ - near ? total_ : left + near;
  // The first iteration that ends there or later.
  std::uint32_t number = 1;
  if (total_ > 0) {
    number = std::max(static_cast<std::uint32_t>((total_ - reached) * iterations_ / total_), 1u);
    while (number < iterations_ && after(number) > reached) ++number;
  }
  const Work point = after(number);
  if (point == 0) return std::nullopt;
  return point >= left - near ? left : point;
}

}  // namespace ductile
