// What can be seen of a simulation while it runs.
#pragma once

#include "base/time.hpp"
#include "base/wide.hpp"
#include "scheduling/core.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Told of everything in order. The calls come in this order within an instant: events (each after
/// the core took it), then the instant's decisions, then the close; again if the instant goes on.
class Observer {
 public:
  virtual ~Observer() = default;

  /// Before the first event.
  virtual void on_begin(const Core&) {}
  /// The core was told `event`; `taken` is what it returned.
  virtual void on_event(Time, const Event& /*event*/, bool /*taken*/, const Core&) {}
  /// Does it want `on_event`? Making events up for nobody costs time.
  virtual bool wants_events() const { return false; }
  /// The core was told of another policy, or that a portfolio has chosen.
  virtual void on_policy(Time, const event::ConfigChanged&, const Core&) {}
  /// A decision left the core. The core already shows its effect.
  virtual void on_decision(Time, const Decision&, const Core&) {}
  /// A start is about to have failed: the job leaves its nodes and waits again. The core still
  /// shows it as running.
  virtual void on_start_failed(Time, JobId, const Core&) {}
  /// A job has paid for its resize under way: nodes times time, in node-microseconds. Comes before
  /// the call that says how that ended. Only the world knows; a log does not.
  virtual void on_paid(Time, JobId, Wide /*node_us*/, const Core&) {}
  /// A job waits to hear whether it is resized (`event::AtPoint`, or a request for `wanted` nodes,
  /// if that is not 0), after so many of its iterations.
  virtual void on_point(Time, JobId, std::uint64_t /*iterations*/, Nodes /*wanted*/, const Core&) {}
  /// The world changed a job's size, or left it as it was.
  virtual void on_resized(Time, JobId, Nodes /*before*/, const Core&) {}
  /// A job is about to end (or to wait again, `requeued`); the core still shows it as running, or
  /// as waiting if it never ran. Rejected jobs come here as cancelled, at their submission.
  virtual void on_end(Time, JobId, const WorkloadJob&, EndState, bool /*requeued*/, const Core&) {}
  /// A job is about to be suspended: it leaves its nodes, and goes on later. The core still shows
  /// it as running.
  virtual void on_suspended(Time, JobId, const WorkloadJob&, const Core&) {}
  /// The instant is closed; `core.pen_calls()` are its pen calls.
  virtual void on_close(Time, const Core&) {}
  /// Nothing more will come.
  virtual void on_finish(Time, const Core&) {}
};

}  // namespace ductile
