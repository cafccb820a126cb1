#include "live/schedule_clock.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/boot_clock.hpp"

namespace ductile {

namespace {

class RealClocks final : public MachineClocks {
 public:
  std::string boot() const override { return boot_id(); }
  Duration since_boot() const override { return boot_time(); }
  Time wall() const override { return Time(wall_time()); }
};

}  // namespace

const MachineClocks& MachineClocks::real() {
  static const RealClocks clocks;
  return clocks;
}

ScheduleClock::ScheduleClock(const std::string& saved, Time least, const MachineClocks& clocks)
    : clocks_(clocks), machine_(clocks.boot()) {
  std::string_view machine = saved;
  const auto begin = parse_number<std::int64_t>(next_part(machine, ' '));
  is_anew_ = !begin || machine.empty() || machine != machine_;
  begin_ = is_anew_ ? clocks_.wall() - clocks_.since_boot() : Time(Duration(*begin));
  begin_ = std::max(begin_, least - clocks_.since_boot());
  look();
}

std::string ScheduleClock::text() const {
  return fmt::format("{} {}", begin_.time_since_epoch().count(), machine_);
}

void ScheduleClock::look() {
  const Duration ahead = clocks_.wall() - now();
  const Duration change = ahead - ahead_;
  if (change > kSmall || change < -kSmall) ahead_ = ahead;
}

}  // namespace ductile
