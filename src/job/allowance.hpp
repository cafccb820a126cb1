// How often somebody may do something.
#pragma once

#include <algorithm>
#include <chrono>

namespace ductile {

/// `most` at once, and one more for each interval: what is more than that is refused. No clock of
/// its own; times never go back.
class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  Allowance(int most, Clock::duration interval) : most_(most), interval_(interval) {}

  /// Takes so many, if there is one; those that there are not yet are missing later.
  bool take(Clock::time_point now, int count = 1) {
    // It is empty where `most` intervals lie ahead.
    full_at_ = std::max(full_at_, now);
    if (full_at_ - now > (most_ - 1) * interval_) return false;
    full_at_ += count * interval_;
    return true;
  }

 private:
  int most_;
  Clock::duration interval_;
  Clock::time_point full_at_{};
};

}  // namespace ductile
