// How long a piece of work may take, so that nobody waits long for another one's.
#pragma once

#include <chrono>

namespace ductile {

/// Work that is done as far as there is time for, and goes on in the next turn.
class TimeSlice {
 public:
  using Clock = std::chrono::steady_clock;

  /// All of one kind that a turn does.
  static constexpr std::chrono::milliseconds kTurn{20};
  /// A part of a long request.
  static constexpr std::chrono::milliseconds kPart{1};

  explicit TimeSlice(Clock::duration most) : end_(Clock::now() + most) {}
  bool is_over() const { return ends_ != nullptr ? ends_() : Clock::now() >= end_; }

  /// From now on this says which are over: a test's seed repeats its run, and shows what happens on
  /// a slow machine. Null: time says it.
  static void set_ends(bool (*ends)()) { ends_ = ends; }

 private:
  static inline bool (*ends_)() = nullptr;

  Clock::time_point end_;
};

}  // namespace ductile
