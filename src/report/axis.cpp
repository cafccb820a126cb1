#include "report/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace ductile {
namespace {

struct Unit {
  double size;
  std::string_view name;
};
constexpr std::array<Unit, 4> kTimes{{{86'400, "d"}, {3'600, "h"}, {60, "min"}, {1, "s"}}};
constexpr std::array<Unit, 3> kPowers{{{1e6, "MW"}, {1e3, "kW"}, {1, "W"}}};

// The largest of which there are two.
template <std::size_t Size>
const Unit& unit_for(const std::array<Unit, Size>& units, double most) {
  for (const Unit& unit : units) {
    if (most >= 2 * unit.size) return unit;
  }
  return units.back();
}

// 1, 2 or 5 times a power of ten, so that there are at most so many steps.
double round_step(double length, std::size_t steps) {
  const double least = length / static_cast<double>(std::max<std::size_t>(steps, 1));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Steps of times are round in their own way: 6 h, 15 min.
double time_step(double length, std::size_t steps, const Unit& unit) {
  if (unit.name == "d") return std::max(1.0, round_step(length, steps));
  const double least = length / static_cast<double>(std::max<std::size_t>(steps, 1));
  const bool is_of_hours = unit.name == "h";
  for (const double step : {1.0, 2.0, 3.0, 5.0, 6.0, 10.0, 12.0, 15.0, 20.0, 24.0, 30.0, 60.0}) {
    const bool fits = is_of_hours
                          ? step != 5 && step != 10 && step != 15 && step != 20 && step != 30
                          : step != 3 && step != 6 && step != 12 && step != 24;
    if (fits && step >= least) return step;
  }
  return round_step(length, steps);
}

std::string tick_text(double value) {
  return fmt::format("{}", std::round(value * 1e9) / 1e9 + 0.0);
}  // no -0

// In units from `low` to `high`.
void add_ticks(Axis& axis, double low, double high, double step, double unit) {
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) {
    axis.ticks.push_back({k * step * unit, tick_text(k * step)});
  }
}

Axis axis_from_0(double most, double step, const Unit& unit) {
  Axis axis;
  const double high = std::max(1.0, std::ceil(most / unit.size / step - 1e-9)) * step;
  axis.high = high * unit.size;
  axis.unit = unit.name;
  add_ticks(axis, 0, high, step, unit.size);
  return axis;
}

// One that says differences: it need not begin at 0. Of values that are all the same, some around.
Axis axis_around(double low, double high, std::size_t ticks, const Unit& unit, bool is_time) {
  low /= unit.size;
  high /= unit.size;
  if (high - low < 1e-9 * std::max(std::abs(high), 1.0)) {
    const double room = std::max(0.05 * std::abs(high), 1e-3);
    low -= low >= room ? room : low;
    high += room;
  }
  const double step = is_time ? time_step(high - low, ticks, unit) : round_step(high - low, ticks);
  const double from = std::floor(low / step + 1e-9) * step;
  const double to = std::ceil(high / step - 1e-9) * step;
  Axis axis;
  axis.low = from * unit.size;
  axis.high = to * unit.size;
  axis.unit = unit.name;
  add_ticks(axis, from, to, step, unit.size);
  return axis;
}

}  // namespace

double Axis::share(double value) const {
  const auto place = [this](double x) { return is_log ? std::log(std::max(x, low)) : x; };
  const double from = place(low), to = place(high);
  return std::clamp((place(value) - from) / (to - from), 0.0, 1.0);
}

Axis number_axis(double most, std::size_t ticks) {
  most = std::max(most, 1e-9);
  return axis_from_0(most, round_step(most, ticks), {1, ""});
}

Axis time_axis(double from_s, double to_s, std::size_t ticks) {
  Axis axis;
  axis.low = from_s;
  axis.high = std::max(to_s, from_s + 1e-6);
  const Unit& unit = unit_for(kTimes, axis.high - axis.low);
  axis.unit = unit.name;
  const double low = axis.low / unit.size, high = axis.high / unit.size;
  add_ticks(axis, low, high, time_step(high - low, ticks, unit), unit.size);
  return axis;
}

Axis duration_axis(double most_s, std::size_t ticks) {
  most_s = std::max(most_s, 1e-6);
  const Unit& unit = unit_for(kTimes, most_s);
  return axis_from_0(most_s, time_step(most_s / unit.size, ticks, unit), unit);
}

Axis range_axis(double low, double high, std::size_t ticks) {
  return axis_around(low, high, ticks, {1, ""}, false);
}

Axis duration_range_axis(double low_s, double high_s, std::size_t ticks) {
  // A step of less than a unit is none of time.
  const Unit& unit = unit_for(kTimes, high_s);
  return axis_around(low_s, high_s, ticks, unit,
                     (high_s - low_s) / unit.size > static_cast<double>(ticks));
}

Axis power_axis(double most_w, std::size_t ticks) {
  most_w = std::max(most_w, 1e-3);
  const Unit& unit = unit_for(kPowers, most_w);
  return axis_from_0(most_w, round_step(most_w / unit.size, ticks), unit);
}

Axis log_duration_axis(double most_s, std::size_t ticks) {
  constexpr std::array<std::pair<double, std::string_view>, 10> kRound{{{1, "1 s"},
                                                                        {10, "10 s"},
                                                                        {60, "1 min"},
                                                                        {600, "10 min"},
                                                                        {3'600, "1 h"},
                                                                        {36'000, "10 h"},
                                                                        {86'400, "1 d"},
                                                                        {864'000, "10 d"},
                                                                        {8'640'000, "100 d"},
                                                                        {86'400'000, "1000 d"}}};
  Axis axis;
  axis.is_log = true;
  axis.low = 1;
  axis.high = std::max(most_s, 10.0);
  const double decades = std::log10(axis.high);
  // So far apart that their labels do not touch.
  const double apart = decades / static_cast<double>(std::max<std::size_t>(ticks, 1));
  double last = -1e9;
  for (const auto& [at, label] : kRound) {
    if (at > axis.high || std::log10(at) - last < apart) continue;
    last = std::log10(at);
    axis.ticks.push_back({at, std::string(label)});
  }
  return axis;
}

Axis log_axis(double most, std::size_t ticks) {
  Axis axis;
  axis.is_log = true;
  axis.low = 1;
  axis.high = std::max(most, 10.0);
  const double decades = std::log10(axis.high);
  const double step = std::max(1.0, std::ceil(decades / static_cast<double>(ticks)));
  for (double k = 0; k <= decades + 1e-9; k += step) {
    axis.ticks.push_back({std::pow(10, k), fmt::format("{}", std::pow(10, k))});
  }
  return axis;
}

std::string duration_text(double seconds) {
  const Unit& unit = unit_for(kTimes, std::abs(seconds));
  const double value = seconds / unit.size;
  return fmt::format("{:.{}f} {}", value,
                     std::abs(value) < 10    ? 2
                     : std::abs(value) < 100 ? 1
                                             : 0,
                     unit.name);
}

}  // namespace ductile
