// When a process that has ended is started again: soon, and later each time that it ends soon.
#pragma once

#include <algorithm>
#include <chrono>

namespace ductile {

class Restarts {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// `shortest`, and up to `longest`, before a start. What lives for `long_life` has ended by
  /// another accident than the one before.
  constexpr Restarts(Duration shortest, Duration longest, Duration long_life)
      : shortest_(shortest), longest_(longest), long_life_(long_life) {}

  /// The pause before the next start of one that lived so long.
  Duration after(Duration life) {
    pause_ = life > long_life_ ? shortest_ : std::clamp(2 * pause_, shortest_, longest_);
    return pause_;
  }
  /// Of one that could not even be started.
  Duration longest() const { return longest_; }

 private:
  Duration shortest_, longest_, long_life_;
  Duration pause_{};
};

}  // namespace ductile
