// A core whose passes and events a test writes by hand. Header only, for the unit tests too.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile::testing {

/// A policy that is a function; the test changes it from pass to pass.
class Scripted final : public Policy {
 public:
  Scripted() : Policy({.answers_requests = true}) {}
  void schedule(Pass& pass) const override {
    ++asked;
    if (write) write(pass);
  }

  std::function<void(Pass&)> write;
  mutable int asked = 0;  // passes so far
};

inline JobSpec rigid(Nodes nodes, std::int64_t walltime_s) {
  JobSpec spec;
  spec.preferred = nodes;
  spec.size = exactly(nodes);
  spec.walltime = whole_seconds(walltime_s);
  return spec;
}

inline JobSpec sized(JobType type, SizeRange size, Nodes preferred, std::int64_t walltime_s) {
  JobSpec spec = rigid(preferred, walltime_s);
  spec.type = type;
  spec.size = size;
  return spec;
}

inline JobSpec malleable(SizeRange size, Nodes preferred, std::int64_t walltime_s = 100) {
  return sized(JobType::malleable, size, preferred, walltime_s);
}

inline Time at_s(std::int64_t second) { return Time{whole_seconds(second)}; }

inline NodeSet nodes(std::initializer_list<Interval> parts) { return NodeSet{parts}; }

inline Holding holding(std::initializer_list<Interval> parts) {
  NodeSet set{parts};
  const Nodes count = set.count();
  return {count, std::move(set)};
}

/// A machine, a core with a scripted policy, and the time. Unless said otherwise: 8 nodes with
/// identities, starts are instant, invariants are checked.
class Stage {
 public:
  struct Setup {
    Platform platform{.nodes = 8, .cores_per_node = 4};
    Capabilities can;
    Rules rules{.limit = Rules::Limit::scaled, .identities = true, .record = true, .check = true};
  };

  Stage() : Stage(Setup{}) {}
  explicit Stage(const Setup& setup)
      : script(std::make_shared<Scripted>()),
        core(setup.platform, setup.can, setup.rules, script->traits) {}

  const State& state() const { return core.state(); }
  const Job& job(JobId id) const { return core.job(id); }
  Nodes idle() const { return state().idle.count(); }

  /// From now on it is this time.
  void at(std::int64_t second) { now = at_s(second); }
  bool tell(const Event& event) { return core.apply(now, event); }

  JobId submit(const JobSpec& spec) { return submit(spec, std::nullopt); }
  JobId submit(const JobSpec& spec, const std::optional<AdaptiveSpec>& adaptive) {
    tell(event::Submitted{spec, adaptive});
    return JobId{state().jobs.size() - 1};
  }

  /// Closes the instant; the policy, if it is asked, does nothing.
  std::vector<Decision> close() {
    return close([](Pass&) {});
  }
  /// Closes the instant; the policy, if it is asked, does this.
  std::vector<Decision> close(const std::function<void(Pass&)>& write) {
    script->write = write;
    const auto decisions = core.close(now, *script);
    script->write = nullptr;
    return {decisions.begin(), decisions.end()};
  }
  /// The same, and the policy is asked in any case, with the traits that it has now.
  std::vector<Decision> pass(const std::function<void(Pass&)>& write) {
    tell(event::ConfigChanged{script->traits});
    return close(write);
  }

  /// Submits and starts a job.
  JobId run(const JobSpec& spec) { return run(spec, spec.preferred, std::nullopt); }
  JobId run(const JobSpec& spec, Nodes n, const std::optional<AdaptiveSpec>& adaptive) {
    const JobId id = submit(spec, adaptive);
    pass([&](Pass& p) { p.start(id, exactly(n), {Why::in_order}); });
    if (job(id).doing == Doing::starting) started(id);
    now += kTick;
    return id;
  }

  /// The world's answers to the job's open decision.
  bool started(JobId id) { return tell(event::Started{id, job(id).decision, {}, {}}); }
  /// Done as decided.
  bool resized(JobId id) {
    for (const Decision& decision : core.unanswered()) {
      if (decision.job == id) return resized(id, decision.after);
    }
    return false;
  }
  bool resized(JobId id, const Holding& holds, Time retry_at = {}) {
    return tell(event::Resized{id, job(id).decision, holds, retry_at});
  }
  /// Holds what it held before.
  bool refused(JobId id, Time retry_at = {}) { return resized(id, job(id).holding, retry_at); }
  bool ended(JobId id, bool requeue = false) {
    return tell(event::Ended{id, EndState::completed, requeue});
  }

  std::shared_ptr<Scripted> script;
  Core core;
  Time now{};
};

}  // namespace ductile::testing
