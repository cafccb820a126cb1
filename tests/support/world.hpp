// A core under a registered policy, told by a test what happens. Resizes are done at once, as
// decided. Header only, for the unit tests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "support/scripted.hpp"

namespace ductile::testing {

/// Jobs are numbered from 0 in order of submission; times in seconds.
class SmallWorld {
 public:
  SmallWorld(const Platform& machine, const std::string& settings)
      : policy(make_policy(settings)),
        core(machine,
             {.moves = policy->wants.moves,
              .parts = policy->traits.needs.parts,
              .instant_cores = policy->traits.needs.parts},
             Rules{.identities = true, .check = true}, policy->traits) {}
  SmallWorld(Nodes nodes, const std::string& settings)
      : SmallWorld(Platform{.nodes = nodes}, settings) {}

  JobId submit(const JobSpec& spec, const AdaptiveSpec& adaptive = {},
               std::shared_ptr<const Where> where = {}) {
    core.apply(now, event::Submitted{spec, adaptive, std::move(where)});
    return JobId{core.state().jobs.size() - 1};
  }
  /// Everything of this instant up to its last close.
  void close() {
    decisions.clear();
    for (bool again = true; again;) {
      const auto some = core.close(now, *policy);
      decisions.insert(decisions.end(), some.begin(), some.end());
      again = false;
      for (const Decision& decision : core.unanswered()) {
        core.apply(now, event::Resized{decision.job, decision.id, decision.after, {}});
        again = true;
      }
    }
  }
  void at(std::int64_t second) { now = at_s(second); }
  void end(JobId id) { core.apply(now, event::Ended{id, EndState::completed, false}); }

  Nodes size(JobId id) const { return core.job(id).holding.count; }
  bool runs(JobId id) const { return core.job(id).status == Status::running; }
  Why why(JobId id) const {
    for (const Decision& decision : decisions) {
      if (decision.job == id) return decision.reason.why;
    }
    return Why::infeasible;
  }

  std::shared_ptr<const Policy> policy;
  Core core;
  Time now{};
  std::vector<Decision> decisions;  // of the last instant that was closed
};

}  // namespace ductile::testing
