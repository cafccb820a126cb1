// Bookings: what of the machine is kept from jobs, and for whom, from one time to another. They are
// the first reservations of every plan.
#pragma once

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
  /// Who may name it, by number (`JobSpec::user`); empty: everybody. The world sees to that.
  std::vector<std::uint32_t> users{};
  bool has_begun = false;

  bool operator==(const Booking&) const = default;
  bool overlaps(Time begin, Time end) const { return from < end && begin < to; }
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
