// Axes of figures: where values are, and which of them are written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ductile {

struct Tick {
  double at = 0;
  std::string label;
};

/// From `low` to `high`, which are different; of logarithms where both are above 0. Ticks are in
/// order, within it.
struct Axis {
  double low = 0, high = 1;
  bool is_log = false;
  std::vector<Tick> ticks{};
  std::string unit{};  // "h"; empty: none

  /// 0 at its low end, 1 at its high one; no less and no more.
  double share(double value) const;
};

/// From 0 to something round that is not less than `most`.
Axis number_axis(double most, std::size_t ticks);
/// Between these values, of the unit that follows them: "12 h". Exactly so long.
Axis time_axis(double from_s, double to_s, std::size_t ticks);
/// From 0 to something round, in the unit that follows `most_s`.
Axis duration_axis(double most_s, std::size_t ticks);
/// From a round number to another one, around these; those of durations in the unit that follows.
Axis range_axis(double low, double high, std::size_t ticks);
Axis duration_range_axis(double low_s, double high_s, std::size_t ticks);
/// Watts from 0, as W, kW or MW.
Axis power_axis(double most_w, std::size_t ticks);
/// Logarithms of durations: 1 s, 10 s, 1 min, ... What is less than a second is at its end.
Axis log_duration_axis(double most_s, std::size_t ticks);
/// Logarithms from 1 on.
Axis log_axis(double most, std::size_t ticks);

/// A duration as people say it, of three digits: "4.2 h".
std::string duration_text(double seconds);

}  // namespace ductile
