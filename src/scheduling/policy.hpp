// A policy: parameters only. What must be remembered lives in the core.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "scheduling/portfolio.hpp"
#include "scheduling/traits.hpp"

namespace ductile {

class Pass;

/// What a policy wants to hear of beyond what all policies are told; others would only pay for it.
struct Wants {
  bool mtct = false;  // MPI time over compute time of jobs whose size may change
  bool corridor =
      false;            // the bounds of power that the machine shall keep; the upper one binds then
  bool points = false;  // that running jobs are where they can be resized (`event::AtPoint`)
  bool contention = false;  // what jobs that share nodes are seen to lose by each other
  bool moves = false;       // nothing, but that jobs can be moved, where the world can do it
};

/// Decides in one pass, given its view and its pen. Const: the same core and the same events give
/// the same decisions, whoever asks. A world owns it, and closes instants with it
/// (`Core::close`); the core knows its traits.
class Policy {
 public:
  virtual ~Policy() = default;

  virtual void schedule(Pass& pass) const = 0;
  /// A whole pass. Of a policy that leaves evolving requests alone, these first: every shrink is
  /// granted, and growth as far as nodes are free (`grant_from_idle`). At the end nodes are
  /// switched off and on, if the rules want that (`switch_nodes`).
  void operator()(Pass& pass) const;
  /// Of a policy that is several of which one rules; the world sees to who does. Null: it is one.
  virtual const Portfolio* portfolio() const { return nullptr; }

  /// The constructor of a policy passes what is its own. `settings`, `order`, `priority_period` and
  /// `fair_share` are common to all policies: `Registry::make` sets them over what was passed.
  Traits traits;
  Wants wants;
  /// Who decides is outside of this program, and nobody can ask him again: a replay folds what was
  /// written (simulation/replay.hpp).
  bool is_outside = false;
  /// Of a policy with several clocks (`Pass::wake_by`) the longest time between two of a kind: when
  /// it was woken and did nothing, it may do something at another one up to so much later. 0: who
  /// does nothing once will do nothing until something happens.
  Duration slowest_clock{};

 protected:
  explicit Policy(Traits its = {}, Wants what = {}) : traits(std::move(its)), wants(what) {}
};

/// Makes a policy from its settings; throws what it likes where there is none.
using PolicyMaker = std::function<std::shared_ptr<const Policy>(std::string_view settings)>;

}  // namespace ductile
