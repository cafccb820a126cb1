// The simulated world: it owns the truth (actual run times, true speedups, failures), carries out
// the core's decisions and tells what happened, at the speed of the machine it runs on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "model/platform.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"
#include "simulation/mpi_time.hpp"
#include "simulation/observer.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A random duration: `fixed` a; `uniform` between a and b; `exponential` with mean a.
struct RandomDuration {
  enum class Kind : std::uint8_t { fixed, uniform, exponential };
  Kind kind = Kind::fixed;
  Duration a{}, b{};
  bool is_zero() const { return kind == Kind::fixed && a == Duration{}; }
};

/// How applications answer orders to resize. As it is: at once, as ordered, for the cost of the
/// job.
struct ResizeBehaviour {
  /// Where an application can be resized: anywhere, or only at the end of an iteration of a phase
  /// with scheduling points. There an order that comes after the last one is lost: the end of the
  /// job is its answer, as in ElastiSim.
  enum class ApplyAt : std::uint8_t { immediate, phase_end };

  ApplyAt apply_at = ApplyAt::immediate;
  /// Nodes that leave are free at once, and those that stay and come pay then, by themselves; else
  /// all of them pay first.
  bool pays_after = false;
  std::uint32_t phases = 100;            // phase_end: of a job that has none of its own
  RandomDuration delay;                  // until the application looks for a scheduling point
  double refuse = 0;                     // probability of a refusal at the scheduling point
  double lose = 0;                       // probability that the order is lost: answered, unchanged,
  Duration timeout = whole_seconds(60);  // after this
  double partly = 0;                     // probability that only a part is done
  double repeat = 0;                     // probability that the answer comes twice
  Duration retry = whole_seconds(30);    // a refused or lost job is left alone so long
};

/// Nodes change their health at a time.
struct NodeEvent {
  Time at{};
  NodeSet nodes;
  Health health = Health::down;
};

/// From a time on the machine may draw so much; infinity: any. A lower one ends nobody. A job that
/// never starts with so little as the highest of them leaves is rejected, if they hold from 0 on.
struct PowerCap {
  Time at{};
  double watts = 0;
};

/// From a time on the machine shall draw no less and no more; the upper bound may be infinity. For
/// policies that want to know (`Wants::corridor`); under others it is only watched.
struct CorridorLine {
  Time at{};
  double low_w = 0, high_w = 0;
};

/// A booking is made at a time; with a count its nodes are chosen then (`place_booking`). One that
/// has a number is another one from then on, or is over. New ones are numbered from 0, in order.
struct BookingOrder {
  Time at{};
  Booking booking;
  Nodes count = 0;
  NodeSet jobs{};  // that name it: the numbers by which the workload knows them
  Place where{};   // in a file, for errors
};

/// Operators: what they want of a job at a time.
struct OperatorOrder {
  struct Resume {};  // it goes on, if they have suspended it or were about to
  struct Resize {
    Nodes to = 0;  // 0: its policy decides again
  };
  struct Leave {
    NodeSet off{};  // it goes to others; none: all that it has
  };
  Time at{};
  JobId job = JobId::none;
  std::variant<Stop, Resume, Resize, Leave> what{};
};

struct SimulationSettings {
  /// What happens to a job that loses a node. `shrink`: malleable jobs go on with the nodes that
  /// are left if they may have that size, others are requeued.
  enum class OnFailure : std::uint8_t { requeue, kill, shrink };

  Platform platform;
  std::shared_ptr<const Policy> policy;
  Rules rules;
  bool kill_overrun = false;  // kill at the walltime
  /// What is believed of walltimes is predicted from what users' jobs took before
  /// (scheduling/runtime_prediction.hpp). The kill is at the time requested all the same.
  bool predict_walltimes = false;
  ResizeBehaviour resize;
  RandomDuration start_delay;  // not zero: starts are answered
  double start_failure = 0;    // probability; needs a start delay
  Duration start_retry = whole_seconds(30);
  std::vector<NodeEvent> node_events;  // by time; needs identities
  std::vector<PowerCap> power_caps;    // by time
  std::vector<CorridorLine> corridor;  // by time
  /// To be longer outside of the corridor than this is a violation of it.
  Duration violation_grace = whole_seconds(30);
  /// Tell of each phase of a job, when it begins, how it scales and what it takes of the budget of
  /// bandwidth: from then on that is believed of what is left. Else what was believed of the whole
  /// job is.
  bool tells_phases = false;
  /// So long after a start it is known what a job draws, if that is not what was believed.
  Duration power_delay = whole_seconds(10);
  MtctMeasurement mtct{};              // for policies that want it
  std::vector<BookingOrder> bookings;  // by time; of nodes they need identities
  OnFailure on_failure = OnFailure::requeue;
  bool suspends = false;  // jobs can be suspended; with orders or a policy that needs it
  std::vector<OperatorOrder> orders;     // by time
  bool shares = false;                   // jobs can share nodes; with a policy that needs it
  ShareModel share = ShareModel::ideal;  // how fast they truly are then,
  Contention contention{};               //   and what they truly lose by each other
  bool counts_cores = true;  // a job can use as many cores of a node as it asked for; false: all
  std::uint16_t ranks_per_node = 1;  // processes of a job on each of its nodes, which keep a core
  bool moves = true;  // malleable jobs leave draining nodes for idle ones; else they only shrink

  /// Asked before each instant, and between what follows at one: stop here? (Ctrl-C)
  const std::atomic<bool>* stop = nullptr;
  /// Told now and then: jobs over, time simulated.
  std::function<void(std::uint64_t jobs_over, Time now)> progress;
};

/// What the world itself counts.
struct SimulationCounts {
  std::uint64_t events = 0;     // told to the core
  std::uint64_t passes = 0;     // of the policy
  std::uint64_t jobs_over = 0;  // ended, killed, cancelled or rejected
  std::uint64_t jobs_left = 0;  // waiting or running when nothing more could happen, or at a stop
  /// Killed at their limit, and would have kept it at the size at which they started.
  std::uint64_t killed_by_resizes = 0;
  std::uint64_t rejected_for_power = 0;   // no cap of power leaves enough for their start
  std::uint64_t orders_not_possible = 0;  // of operators, when their time came
  /// Of `jobs_left`: have a dependency that can never be fulfilled, and never came.
  std::uint64_t dependency_never = 0;
  std::uint64_t stale = 0;  // events the core refused: repeated answers, nodes as they were
  Time first_submit{};
  Time last_end{};  // the last job left its nodes: it ended, or was requeued and never ran again
  double held_node_s = 0;             // integral of the nodes held by jobs
  double reconfiguration_node_s = 0;  // of these, while jobs paid for resizes
  double look_ahead_seconds = 0;      // wall clock: of a portfolio's choices, never the same twice
  bool stopped = false;               // by `SimulationSettings::stop`
};

/// Runs the workload to its end. The same workload and settings give the same calls and counts, but
/// for what is measured of this machine. No job may wait for others (`Workload::precedences`).
SimulationCounts simulate(const Workload& workload, const SimulationSettings& settings,
                          std::span<Observer* const> observers);

/// The same where jobs wait for others. While it runs it puts the jobs of `workload` in the order
/// in which they come, each with the time at which it does (`Arrivals`): so observers that hold
/// this workload find them by their ids.
SimulationCounts simulate_in_order(Workload& workload, const SimulationSettings& settings,
                                   std::span<Observer* const> observers);

}  // namespace ductile
