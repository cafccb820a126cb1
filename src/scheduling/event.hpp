// What happened. Events are facts in the past tense; applying one decides nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/contention.hpp"
#include "model/job_spec.hpp"
#include "model/platform.hpp"
#include "scheduling/booking.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/portfolio.hpp"
#include "scheduling/traits.hpp"

namespace ductile {

/// Whether a node can be used, apart from who owns it.
enum class Health : std::uint8_t { up, draining, down, off };
constexpr std::array<std::string_view, 4> kHealthWords{"up", "draining", "down", "off"};

/// How a job ended; Slurm's names.
enum class EndState : std::uint8_t { completed, failed, timeout, cancelled, node_fail };
constexpr std::array<std::string_view, 5> kEndWords{"completed", "failed", "timeout", "cancelled",
                                                    "node-fail"};

namespace event {

/// A job came in; with `adaptive` where it is more than rigid, or says its power, and with `where`
/// where it may not run on each node of the first partition.
struct Submitted {
  JobSpec job;
  std::optional<AdaptiveSpec> adaptive;
  std::shared_ptr<const Where> where{};
};
/// Held, released, a dependency fulfilled: out of the queue (`yes` false) and back.
struct Eligible {
  JobId job;
  bool yes;
};
/// The job runs. `keep`: the node that must stay with it (its batch host).
struct Started {
  JobId job;
  DecisionId answers;
  Holding now;
  std::optional<std::uint32_t> keep;
};
/// The job does not run; try again from `retry_at`.
struct StartFailed {
  JobId job;
  DecisionId answers;
  Time retry_at;
};
/// The job holds `now`: done, partly or not at all. Nodes not in it can be given away. Without
/// `answers` somebody else did it. `paused`: for so long before this it made no progress.
struct Resized {
  JobId job;
  DecisionId answers;
  Holding now;
  Time retry_at;
  Duration paused{};
};
/// The job is over, or waits again (`requeue`); all its nodes can be given away.
struct Ended {
  JobId job;
  EndState state;
  bool requeue;
};
/// A running application asks for `delta` nodes more (or fewer), and takes no less than `at_least`
/// of them (0: all or nothing).
struct EvolvingRequested {
  RequestId id;
  JobId job;
  std::int32_t delta;
  Nodes at_least;
};
struct EvolvingWithdrawn {
  RequestId id;
};
struct NodesChanged {
  NodeSet nodes;
  Health health;
};
/// Bounds of power from a time on. No upper bound: infinity.
struct ComingBounds {
  Time at{};
  double low_w = 0, high_w = 0;
  bool operator==(const ComingBounds&) const = default;
};
/// The power the cluster shall draw. No upper bound: infinity. With the bounds that come next, by
/// time, as far as they are known.
struct CorridorChanged {
  double low_w, high_w;
  std::vector<ComingBounds> coming{};
};
/// Measured or learned; negative or 0 fields are not known. Never wakes a policy.
struct Believed {
  JobId job;
  double watts_per_node;
  double mtct;  // MPI time over compute time
  double rate;  // progress against the declared model: 1 as declared
  std::optional<Speedup> model = std::nullopt;  // learned, instead of the declared one
  Duration walltime{};  // at the preferred size, instead of the time requested or believed so far
};
/// An operator wants the job at `size`; 0 lifts the order.
struct SizeOrdered {
  JobId job;
  Nodes size;
};
/// Another policy, or other parameters. Jobs, claims and ledger stay. With what a portfolio chose
/// it by, if one did; then it may be the same one as before, which wakes nobody.
struct ConfigChanged {
  Traits traits;
  std::optional<Choice> choice = std::nullopt;
};
struct TimerFired {};
/// A job that does not run is to be another one: its limit, sizes and priority; and who pays for
/// it, what is believed of it and where it may run, where that is there. What was measured of it is
/// forgotten then.
struct Altered {
  JobId job;
  std::int32_t priority;
  Duration walltime;
  SizeRange size;
  Nodes preferred;
  std::optional<std::uint32_t> account = std::nullopt;
  std::optional<AdaptiveSpec> adaptive = std::nullopt;  // of a job that is more than rigid
  std::shared_ptr<const Where> where{};
};
/// The machine is another one, or can do other things; what is under way goes on. It never has
/// fewer nodes: a number is that of one node for good, and nodes that are gone are down. The new
/// ones are up.
struct MachineChanged {
  Platform platform;
  Capabilities capabilities;
};
/// An operator wants the running job off these nodes, at its present size: it moves to idle ones as
/// soon as there are enough. No nodes lift the order.
struct MoveOrdered {
  JobId job;
  NodeSet off;
};
/// The job has left its nodes, all that it did is kept: it waits again, and goes on from there when
/// it is started. Without `answers` somebody else did it. `paused`: for so long before this it made
/// no progress.
struct Suspended {
  JobId job;
  DecisionId answers;
  Duration paused{};
};
/// An operator wants the running job stopped as soon as nothing is under way about it. One that is
/// suspended by such an order, or ends to begin anew while there is one, is held until it is
/// released (`Eligible`). Nothing lifts the order.
struct StopOrdered {
  JobId job;
  std::optional<Stop> how;
};
/// A booking was made (without a number: it gets the next one), or is another one from now on; over
/// if its end is not after now. Nodes need identities, and are of one booking at a time.
struct Booked {
  Booking booking;
};

/// A running job is where it can be resized and waits to hear whether it is. Told to policies that
/// want it (`Wants::points`).
struct AtPoint {
  JobId job;
};
/// What jobs lose by each other on shared nodes is believed to be this from now on: learned from
/// pairs that were seen there. Told to policies that want it (`Wants::contention`); never wakes
/// one.
struct ContentionLearned {
  Contention contention;
};

}  // namespace event

using Event =
    std::variant<event::Submitted, event::Eligible, event::Started, event::StartFailed,
                 event::Resized, event::Ended, event::EvolvingRequested, event::EvolvingWithdrawn,
                 event::NodesChanged, event::CorridorChanged, event::Believed, event::SizeOrdered,
                 event::ConfigChanged, event::TimerFired, event::Altered, event::MachineChanged,
                 event::MoveOrdered, event::Suspended, event::StopOrdered, event::Booked,
                 event::AtPoint, event::ContentionLearned>;

template <class E>
constexpr EventKinds kind_of() {
  return []<class... Kinds>(std::variant<Kinds...>*) {
    EventKinds bit = 1, result = 0;
    ((result |= std::is_same_v<E, Kinds> ? bit : 0, bit <<= 1), ...);
    return result;
  }(static_cast<Event*>(nullptr));
}

}  // namespace ductile
