// What is fixed about a policy and matters to the core. It is a fact of the past and is recorded:
// whoever folds what a policy decided needs no policy.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/multifactor.hpp"
#include "scheduling/queue.hpp"

namespace ductile {

/// A set of event kinds; bit i is alternative i of `Event` (scheduling/event.hpp).
using EventKinds = std::uint32_t;
inline constexpr EventKinds kEveryEvent = ~EventKinds{0};

/// Which jobs can be suspended: none, those whose size can change while they run, all.
enum class Suspends : std::uint8_t { no, malleable, all };
constexpr std::array<std::string_view, 3> kSuspendsWords{"no", "malleable", "all"};

/// What a world can do.
struct Capabilities {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  bool instant_start = true;                   // a start needs no answer
  std::uint32_t resizes_per_job = kUnlimited;  // 0: none
  bool power_control = false;                  // nodes can be switched on and off
  bool moves = false;  // a job can leave nodes for others in one resize, at the same size
  Suspends suspends = Suspends::no;
  bool parts = false;          // jobs can share nodes, and how much each has of them can change,
  bool instant_cores = false;  // at once, for nothing, and no job refuses
  bool operator==(const Capabilities&) const = default;
};

/// What of it a policy cannot do without.
struct Needs {
  std::uint32_t resizes_per_job = 0;
  bool power_control = false;
  bool suspends = false;  // some jobs
  bool parts = false;     // jobs that share nodes
  bool operator==(const Needs&) const = default;
};
/// Can it do all of that?
constexpr bool meets(const Capabilities& can, const Needs& needs) {
  return can.resizes_per_job >= needs.resizes_per_job &&
         (can.power_control || !needs.power_control) &&
         (can.suspends != Suspends::no || !needs.suspends) && (can.parts || !needs.parts);
}
/// What is missing, in words; empty if nothing is.
std::string lacking(const Capabilities& can, const Needs& needs);

struct Traits {
  std::string settings{};  // "NAME:parameter=value,...", as a user would write it
  /// The events that wake it. These always do: a dissolved claim, nodes that an answer gives to
  /// nobody and no pass has seen coming, the timer, and a `retry_at`.
  EventKinds wakes = kEveryEvent;
  /// Does it grant or deny evolving requests itself? For one that does not that is done before its
  /// passes (`Policy`), and new requests wake it.
  bool answers_requests = false;
  QueueOrder order = QueueOrder::fcfs;
  FairShare fair_share{};      // of the orders `fairshare` and `multifactor`
  Overdue overdue{};           // of the order `area`
  Multifactor multifactor{};   // of the order `multifactor`
  Duration priority_period{};  // how often an order that changes with time is sorted; 0: each pass
  StartSize start_size = StartSize::preferred;
  Needs needs{};

  /// Does its order go by what users have used?
  bool goes_by_uses() const {
    return order == QueueOrder::fairshare ||
           (order == QueueOrder::multifactor && multifactor.weight_fairshare > 0);
  }
  bool operator==(const Traits&) const = default;
};

}  // namespace ductile
