// Bookings: what of the machine is kept from jobs, and for whom, from one time to another. They are
// the first reservations of every plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"

namespace ductile {

/// Maintenance is for nobody, an advance booking for the jobs that name it (`Where::booking`), and
/// a cap to come is an amount of power. Who runs on booked nodes at `from` stays there: they are
/// the booking's as they are left. Jobs whose size can change are ordered off.
struct Booking {
  BookingId id = BookingId::none;
  std::string name{};  // as people call it: a word, of one booking at a time
  Time from{}, to = kNever;
  NodeSet nodes{};
  std::int64_t power_mw = 0;  // of the budget, while there is one; for nobody
  bool for_jobs = false;      // who names it may use the nodes; else nobody
  /// Who may name it, by number (`JobSpec::user`); empty: everybody. Who submits jobs
  /// sees to that.
  std::vector<std::uint32_t> users{};
  bool has_begun = false;

  bool operator==(const Booking&) const = default;
  /// May jobs of this user name it?
  bool is_for(std::uint32_t user) const {
    return for_jobs && (users.empty() || std::ranges::find(users, user) != users.end());
  }
  bool overlaps(Time begin, Time end) const { return from < end && begin < to; }
  /// Until when jobs of it may run that start now, or that started then. Those that are as long as
  /// it is begin a moment after it, when somebody has noticed or left: up to a minute, and a tenth
  /// of it, they end as much later.
  Time until(Time now) const {
    if (to == kNever || now <= from) return to;
    const Duration late = now - from;
    return late <= std::min(whole_seconds(60), (to - from) / 10) ? later(to, late) : to;
  }
  /// When it begins, or ends.
  Time turns() const { return has_begun ? to : from; }
};

/// There are no more than that at a time, nor of more power.
inline constexpr std::size_t kMostBookings = 32;
inline constexpr std::int64_t kMostBookedMw = std::int64_t{1} << 50;

/// Up to 63 letters, digits and _-.+
bool is_booking_name(std::string_view name);

class State;

/// Which nodes a booking by count gets: such as are up and not booked then, first those that are
/// believed to be free by then, of these the highest numbers. Nothing if there are too few.
std::optional<NodeSet> place_booking(const State& state, Nodes count, Time from, Time to);

}  // namespace ductile
