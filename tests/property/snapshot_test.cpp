// What is saved between two instants is all that a restart needs: from it the core goes on as it
// would have.
//
// DUCTILE_CASES: how many random histories.
#include "scheduling/snapshot.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "support/hostile_world.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

/// The same core, as a restart finds it.
Core restarted(const Core& core) {
  State state = load(save(core.state()));
  state.rules.record = core.state().rules.record;
  state.rules.check = core.state().rules.check;
  return Core(std::move(state));
}

/// Tells it the record. At a close the policy decides.
std::vector<Decision> tell(Core& core, const Record& record) {
  if (record.event) {
    EXPECT_EQ(core.apply(record.time, *record.event), record.accepted);
    return {};
  }
  const auto decisions = core.close(record.time, *record.policy);
  return {decisions.begin(), decisions.end()};
}

/// What was in what was saved.
struct Seen {
  std::size_t snapshots = 0, claims = 0, unanswered = 0, requests = 0, planned = 0, boots = 0,
              sick = 0, shared = 0;
};

/// Lives the history again; from many of its moments a second core goes on that was saved and
/// loaded there.
void go_on_from_everywhere(const HostileWorld& world, Draws draws, Seen& seen) {
  Core core = world.first();
  std::optional<Core> other;
  for (std::size_t i = 0; i < world.journal().size(); ++i) {
    SCOPED_TRACE("record " + std::to_string(i));
    const Record& record = world.journal()[i];
    const auto decisions = tell(core, record);
    if (other) {
      ASSERT_EQ(tell(*other, record), decisions);
      ASSERT_TRUE(std::ranges::equal(other->pen_calls(), core.pen_calls()));
    }
    if (record.event) continue;
    const State& state = core.state();
    const std::string text = save(state);
    if (other) {
      ASSERT_EQ(save(other->state()), text);
      ASSERT_EQ(other->next_wake(), core.next_wake());
      ASSERT_EQ(other->unanswered(), core.unanswered());
      if (draws.chance(0.6)) continue;
    }
    other = restarted(core);
    ASSERT_EQ(save(other->state()), text);
    ++seen.snapshots;
    seen.claims += state.claims.size();
    seen.unanswered += state.unanswered.size();
    seen.requests += state.requests.size();
    seen.planned += state.planned_delays.size();
    seen.boots += state.boots.size();
    seen.sick += state.not_up.count();
    seen.shared += state.sharers.size();
  }
}

TEST(Snapshots, ACoreGoesOnFromThemAsIfNothingHadHappened) {
  Seen seen;
  const std::uint64_t cases = for_seeds(300, [&](std::uint64_t seed) {
    HostileSettings settings = seed % 4 == 3 ? sharing_settings(seed) : random_settings(seed);
    settings.journal = settings.rules.record = true;
    HostileWorld world(settings);
    world.live();
    go_on_from_everywhere(world, Draws(seed, Stream::test, 17), seen);
  });
  if (cases == 0) return;
  EXPECT_GT(seen.snapshots, 10 * cases);
  EXPECT_GT(seen.claims, cases);
  EXPECT_GT(seen.unanswered, cases);
  EXPECT_GT(seen.requests, cases);
  EXPECT_GT(seen.planned, cases / 10);
  EXPECT_GT(seen.boots, cases / 10);
  EXPECT_GT(seen.sick, cases);
  EXPECT_GT(seen.shared, cases);
}

/// Their memos are gone then, and nothing else.
TEST(Snapshots, EveryPolicyGoesOnFromThem) {
  for_seeds(10 * policies().size(), [](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    if (seed % 3 == 0) settings.rules.fairness = parse_fairness("both,single=60,target=100");
    settings.make_policy = [seed](Draws& draws) {
      // Now and then it becomes another one.
      const bool same = draws.chance(0.8);
      const PolicyInfo& info = policies()[(seed + (same ? 0 : draws.below(9))) % policies().size()];
      return make_policy(random_parameters(info, draws));
    };
    HostileWorld world(settings);
    world.live();
    Seen seen;
    go_on_from_everywhere(world, Draws(seed, Stream::test, 17), seen);
  });
}

}  // namespace
}  // namespace ductile::testing
