// A placement is a preference: with one cell, no start, size or end is another one because of it.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "model/switch_tree.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/hostile_world.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

std::vector<Switch> random_switches(Nodes nodes, std::uint64_t seed) {
  Draws draws(seed, Stream::test, 21);
  const std::uint32_t below[] = {static_cast<std::uint32_t>(1 + draws.below(8)),
                                 static_cast<std::uint32_t>(2 + draws.below(3))};
  return even_switches(nodes, below);
}

/// All that happens, without which nodes; and a sum over these.
class Story final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core&) override {
    add(now, "decision", decision.job, decision.after.count);
    lines.back() += ' ' + std::to_string(static_cast<int>(decision.kind));
    for (const Interval& part : decision.after.nodes.parts) {
      which = which * 1'000'003 + part.first * 1000 + part.last;
    }
  }
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override {
    add(now, "resized", id, core.job(id).size());
    lines.back() += ' ' + std::to_string(before);
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool requeued,
              const Core&) override {
    add(now, requeued ? "requeued" : "end", id, static_cast<Nodes>(state));
  }
  void on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) override {
    add(now, "suspended", id, 0);
  }

  std::vector<std::string> lines;
  std::uint64_t which = 0;

 private:
  void add(Time now, const char* what, JobId id, Nodes n) {
    lines.push_back(std::to_string(now.time_since_epoch().count()) + ' ' + what + ' ' +
                    std::to_string(index(id)) + ' ' + std::to_string(n));
  }
};

constexpr Placement kOthers[] = {Placement::contiguous, Placement::compact, Placement::spread};

/// Of the registry, with any parameters, one after the other.
std::string some_policy(std::uint64_t seed) {
  Draws draws(seed, Stream::test, 7);
  return random_parameters(policies()[seed % policies().size()], draws);
}

/// In the simulated world, where nodes neither fail nor are switched: resizes are delayed, refused,
/// lost and done in part.
TEST(Placement, ChangesNoTimeAndNoSize) {
  std::uint64_t others = 0;
  const std::uint64_t runs = for_seeds(400, [&](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    t.settings.node_events.clear();
    t.settings.rules.identities = true;
    t.settings.platform.switches = random_switches(t.settings.platform.nodes, seed);
    const std::string policy = some_policy(seed);
    SCOPED_TRACE(policy);
    t.settings.policy = make_policy(policy);
    const auto told = [&](Placement how) {
      t.settings.rules.placement = how;
      Story story;
      Observer* const observers[] = {&story};
      simulate(t.workload, t.settings, observers);
      return story;
    };
    const Story first = told(Placement::first);
    for (const Placement how : kOthers) {
      const Story other = told(how);
      ASSERT_EQ(other.lines, first.lines) << kPlacementWords[static_cast<std::size_t>(how)];
      others += other.which == first.which ? 0 : 1;
    }
  });
  if (runs >= 20) EXPECT_GT(others, runs / 2);  // other nodes are taken
}

/// In a world that meddles, under a policy without sense; but nodes do not fail, and those that it
/// takes unasked are idle: which claim loses some depends on which nodes they are, and so does what
/// is switched, or whom an operator sends off nodes.
TEST(Placement, ChangesNoTimeAndNoSizeInAHostileWorld) {
  for_seeds(80, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.rules.identities = true;
    settings.node_events = settings.machine_events = false;
    settings.takes_from_claims = settings.capabilities.moves = false;
    settings.capabilities.power_control = false;
    settings.platform.switches = random_switches(settings.platform.nodes, seed);
    const auto told = [&](Placement how) {
      settings.rules.placement = how;
      HostileWorld world(settings);
      world.live();
      std::vector<std::string> lines;
      for (const Record& record : world.journal()) {
        for (const Decision& decision : record.decisions) {
          lines.push_back(std::to_string(record.time.time_since_epoch().count()) + ' ' +
                          std::to_string(index(decision.job)) + ' ' +
                          std::to_string(static_cast<int>(decision.kind)) + ' ' +
                          std::to_string(decision.after.count));
        }
      }
      return lines;
    };
    const std::vector<std::string> first = told(Placement::first);
    for (const Placement how : kOthers) {
      ASSERT_EQ(told(how), first) << kPlacementWords[static_cast<std::size_t>(how)];
    }
  });
}

/// With failures, and with nodes that are told apart, the promises of the contract hold.
TEST(Placement, KeepsThePromisesInAHostileWorld) {
  for_seeds(200, [](std::uint64_t seed) {
    HostileSettings settings = seed % 4 == 0 ? sharing_settings(seed) : random_settings(seed);
    settings.rules.identities = true;
    settings.cells = seed % 3 == 0;
    settings.rules.placement = kOthers[seed % 3 == 0 ? seed / 3 % 3 : seed % 3];
    settings.platform.switches = random_switches(settings.platform.nodes, seed);
    HostileWorld world(settings);
    world.live();
  });
}

}  // namespace
}  // namespace ductile::testing
