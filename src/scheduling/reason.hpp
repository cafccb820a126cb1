// Why a decision was made: counts, Gantt colours and explanations all come from here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace ductile {

enum class Why : std::uint8_t {
  in_order,           // started at its turn
  backfilled,         // started before jobs that were ahead of it, delaying no reservation
  shrunk_for,         // nodes taken for `Reason::job`
  dependency_expand,  // grown so that `Reason::job` can start earlier
  hand_out,           // grown with nodes that nobody waits for
  evolving,           // the application asked
  fairness,           // denied: it would delay others more than allowed
  corridor,           // to keep the power corridor
  ordered,            // an operator's order
  draining,           // to leave nodes that drain
  booked,             // to leave nodes that are booked
  resources,          // waits for nodes
  infeasible,         // can never run on this machine
  guest,              // cores of its nodes go to the guest `Reason::job`, or come back
  unused,             // switched off: these nodes were idle for long
  needed,             // switched on: `Reason::job` lacks nodes
  outside,            // a scheduler outside of this program said so
};

/// The words of a reason, as files and commands write them.
constexpr std::array<std::string_view, 17> kWhyWords{
    "in-order",   "backfilled", "shrunk-for", "dependency-expand",
    "hand-out",   "evolving",   "fairness",   "corridor",
    "ordered",    "draining",   "booked",     "resources",
    "infeasible", "guest",      "unused",     "needed",
    "outside"};

constexpr std::string_view word(Why why) { return kWhyWords[static_cast<std::size_t>(why)]; }

/// Why, for whom, and until when where that is part of the reason.
struct Reason {
  Why why = Why::in_order;
  JobId job = JobId::none;
  Time until{};
  bool operator==(const Reason&) const = default;
};

}  // namespace ductile
