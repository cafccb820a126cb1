// A policy: parameters only. What must be remembered lives in the core.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "scheduling/traits.hpp"

namespace ductile {

class Pass;

/// Decides in one pass, given its view and its pen. Const: the same core and the same events give
/// the same decisions, whoever asks. A world owns it, and closes instants with it
/// (`Core::close`); the core knows its traits.
class Policy {
 public:
  virtual ~Policy() = default;

  virtual void schedule(Pass& pass) const = 0;
  /// A whole pass. Of a policy that leaves evolving requests alone, these first: every shrink is
  /// granted, and growth as far as nodes are free (`grant_from_idle`).
  void operator()(Pass& pass) const;

  /// The constructor of a policy passes what is its own. `settings`, `order`, `priority_period` and
  /// `fair_share` are common to all policies: `Registry::make` sets them over what was passed.
  Traits traits;

 protected:
  explicit Policy(Traits its = {}) : traits(std::move(its)) {}
};

/// Makes a policy from its settings; throws what it likes where there is none.
using PolicyMaker = std::function<std::shared_ptr<const Policy>(std::string_view settings)>;

}  // namespace ductile
