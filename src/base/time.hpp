// Time as the whole program knows it: integer microseconds on a clock of our own.
//
// A duration is rounded once, where it enters the program (`seconds`); afterwards everything is
// exact, so that the same input gives the same bytes on every machine.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace ductile {

/// The clock of schedules. In the simulator its zero is the zero of the workload's submit times; in
/// the live worlds it is the Unix epoch. It cannot be read: the world says what time it is.
struct Clock {
  using rep = std::int64_t;
  using period = std::micro;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};

using Time = Clock::time_point;
using Duration = Clock::duration;

/// Later than everything that happens. Arithmetic on it is not allowed: ask for it first.
inline constexpr Time kNever = Time::max();
/// The smallest step of time.
inline constexpr Duration kTick{1};

/// `value` seconds, rounded half away from zero to whole microseconds. The value must be finite and
/// below 2^63 microseconds; readers of files check this before they call.
inline Duration seconds(double value) { return Duration{std::llround(value * 1e6)}; }

constexpr Duration whole_seconds(std::int64_t value) { return Duration{value * 1'000'000}; }

constexpr double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}
constexpr double to_seconds(Time time) { return to_seconds(time.time_since_epoch()); }

/// `time + duration`, but never past `kNever`.
constexpr Time later(Time time, Duration duration) {
  return time >= kNever - duration ? kNever : time + duration;
}

}  // namespace ductile
