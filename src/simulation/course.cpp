#include "simulation/course.hpp"

#include <algorithm>
#include <cmath>

namespace ductile {

Work Course::left_at(double progress) const {
  const double left = static_cast<double>(total_) * std::max(1 - progress, 0.0);
  return left < static_cast<double>(total_) ? std::llround(left) : total_;
}

std::size_t Course::phase_of(Work left) const {
  std::size_t phase = 0;
  while (phase + 1 < phases() && end_of(phase) >= left) ++phase;
  return phase;
}

Work Course::left_after(Work left, Nodes size, Duration time) const {
  for (std::size_t phase = phase_of(left);; phase = phase_of(left)) {
    const Work end = end_of(phase);
    if (end > 0) {
      const Duration rest = time_for(speedup(phase), preferred_, size, left - end);
      if (time >= rest) {
        left = end;
        time -= rest;
        continue;
      }
    }
    return std::max(left - work_done(speedup(phase), preferred_, size, time), end);
  }
}

Work Course::left_without(Work left, double share) const {
  const Work change = total_ - left_at(std::abs(share));
  return share < 0 ? left + std::min(change, total_ - left) : std::max(left - change, Work{0});
}

Time Course::when(Time from, Work left, Work to, Nodes size) const {
  while (left > to) {
    const std::size_t phase = phase_of(left);
    const Work stop = std::max(end_of(phase), to);
    from = later(from, time_for(speedup(phase), preferred_, size, left - stop));
    left = stop;
  }
  return from;
}

std::optional<Work> Course::next_point(Work left, Nodes size) const {
  const Work of_tick = work_done(speedup(phase_of(left)), preferred_, size, kTick);
  const Work near = std::max<Work>(of_tick - 1, 0);
  const Work reached = left > total_ - near ? total_ : left + near;
  Work begin = total_;
  for (std::size_t phase = 0; phase < phases(); ++phase) {
    const Work end = end_of(phase), work = begin - end;
    const bool whole = more_.phases.empty();
    if (end <= reached && (whole || more_.phases[phase].scheduling_points)) {
      // The first iteration that ends there or later.
      const Wide iterations = whole ? iterations_ : more_.phases[phase].iterations;
      const Wide past = std::max<Wide>(Wide{begin} - reached, 0);
      const Wide number =
          work > 0 ? std::max<Wide>((past * iterations + work - 1) / work, 1) : iterations;
      const Work point = begin - static_cast<Work>(work * number / iterations);
      if (point == 0) return std::nullopt;
      return point >= left - near ? left : point;
    }
    begin = end;
  }
  return std::nullopt;
}

}  // namespace ductile
