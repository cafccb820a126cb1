// The time of schedules, and what people read on the wall meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace ductile {

/// The clocks that there are; tests have their own.
class MachineClocks {
 public:
  virtual ~MachineClocks() = default;
  /// Those of the machine (job/boot_clock.hpp).
  static const MachineClocks& real();

  /// Which start of the machine this is; and how long ago it was.
  virtual std::string boot() const = 0;
  virtual Duration since_boot() const = 0;
  virtual Time wall() const = 0;
};

/// Begins as the clock on the wall, and goes on by that of the machine (job/boot_clock.hpp): what
/// is set on the wall moves no limit and no end. A controller that is started again goes on with
/// the same time; after another start of the machine it begins anew with the wall, and never before
/// what it was.
class ScheduleClock {
 public:
  /// `saved`: what `text` gave of the one before; empty if there was none. Not before `least`.
  ScheduleClock(const std::string& saved, Time least,
                const MachineClocks& clocks = MachineClocks::real());

  Time now() const { return at(clocks_.since_boot()); }
  /// When the machine's clock was at this, if that was since its last start, which `machine` says.
  std::optional<Time> when(std::string_view machine, Duration time) const {
    return machine == machine_ && !machine.empty() ? std::optional(at(time)) : std::nullopt;
  }
  /// Has the machine been started again since `saved`?
  bool is_anew() const { return is_anew_; }
  /// For the one after.
  std::string text() const;

  /// Differences of two clocks that are none.
  static constexpr Duration kSmall = std::chrono::milliseconds(100);
  /// Looks at the wall. Small differences, as between any two clocks, are none.
  void look();
  /// What people call a time, as the clock on the wall goes now; and what they mean by one.
  Time wall(Time time) const { return time == kNever ? time : time + ahead_; }
  Time from_wall(Time time) const { return time == kNever ? time : time - ahead_; }
  Duration ahead() const { return ahead_; }

 private:
  Time at(Duration machine) const { return begin_ + machine; }

  const MachineClocks& clocks_;
  std::string machine_{};  // which start of it
  Time begin_{};           // when the machine's clock was 0
  Duration ahead_{};       // the wall
  bool is_anew_ = true;
};

}  // namespace ductile
