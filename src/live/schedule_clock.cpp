#include "live/schedule_clock.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/boot_clock.hpp"

namespace ductile {

ScheduleClock::ScheduleClock(const std::string& saved, Time least) : machine_(boot_id()) {
  std::string_view machine = saved;
  const auto begin = parse_number<std::int64_t>(next_part(machine, ' '));
  is_anew_ = !begin || machine.empty() || machine != machine_;
  begin_ = is_anew_ ? Time(wall_time() - boot_time()) : Time(Duration(*begin));
  begin_ = std::max(begin_, least - boot_time());
  look();
}

Duration ScheduleClock::machine_time() { return boot_time(); }

std::string ScheduleClock::text() const {
  return fmt::format("{} {}", begin_.time_since_epoch().count(), machine_);
}

void ScheduleClock::look() {
  constexpr Duration kSmall = std::chrono::milliseconds(100);
  const Duration ahead = Time(wall_time()) - now();
  const Duration change = ahead - ahead_;
  if (change > kSmall || change < -kSmall) ahead_ = ahead;
}

}  // namespace ductile
