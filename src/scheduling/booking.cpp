#include "scheduling/booking.hpp"

#include <algorithm>

#include "scheduling/state.hpp"

namespace ductile {

bool is_booking_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.' || c == '+';
  };
  return !name.empty() && name.size() <= kLongest && name != "-" &&
         std::ranges::all_of(name, is_part);
}

std::optional<NodeSet> place_booking(const State& state, Nodes count, Time from, Time to) {
  NodeSet there;
  if (state.platform.nodes > 0) there.insert(0, state.platform.nodes - 1);
  there.erase(state.not_up);
  for (const Booking& each : state.bookings) {
    if (each.overlaps(from, to)) there.erase(each.nodes);
  }
  if (!state.rules.identities || there.count() < count) return std::nullopt;
  NodeSet held;
  for (const JobId id : state.running) {
    const Job& job = state.jobs[id];
    if (state.expected_end(job) > from) held.insert(job.holding.nodes);
  }
  for (const Claim& claim : state.claims) {
    if (claim.release > from) held.insert(claim.held.nodes);
  }
  NodeSet free = difference(there, held);
  NodeSet nodes = free.take_highest(std::min(count, free.count()));
  there.erase(nodes);
  there.erase(free);
  nodes.insert(there.take_highest(count - nodes.count()));
  return nodes;
}

}  // namespace ductile
