// A policy: parameters only. What must be remembered lives in the core.
#pragma once

#include <string>

#include "base/time.hpp"
#include "scheduling/event.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/queue.hpp"

namespace ductile {

class Pass;
struct Capabilities;

/// Decides in one pass, given its view and its pen. Const: the same core and the same events give
/// the same decisions, whoever asks.
class Policy {
 public:
  virtual ~Policy() = default;

  /// The events that call it. These always do: a dissolved claim, nodes that an answer gives to
  /// nobody and no pass has seen coming, the timer, and a `retry_at`.
  virtual EventKinds wakes_on() const { return kEveryEvent; }
  /// Does it grant or deny evolving requests? For one that does not the core does it before each
  /// pass: it grants every shrink, and growth as far as nodes are free (`grant_from_idle`).
  virtual bool answers_requests() const { return false; }
  /// What this world cannot do and the policy needs, in words; empty if it can do all.
  virtual std::string lacks(const Capabilities&) const { return {}; }
  virtual void schedule(Pass& pass) const = 0;

  // Common to all policies; set by whoever makes one, before its first use.
  QueueOrder order = QueueOrder::fcfs;
  FairShare fair_share{};  // of the order `fairshare`
  StartSize start_size = StartSize::preferred;
  Duration priority_period{};  // how often an order that changes with time is sorted; 0: each pass
  std::string settings;        // "NAME:parameter=value,...", as a user would write it
};

}  // namespace ductile
