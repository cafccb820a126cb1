// Bookings: whatever policies write, and whatever the world does to what they decided, nobody gets
// nodes that others have booked for when he is believed to run, and jobs of a booking run on its
// nodes while it lasts. The naive model (support/hostile_world.cpp) knows bookings node by node.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <cstdint>
#include <exception>
#include <memory>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "support/hostile_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

HostileWorld::Figures live(std::uint64_t cases, void (*change)(HostileSettings&)) {
  HostileWorld::Figures sum;
  const Runs runs{.usual = cases, .first = 1, .enough = 100};
  const std::uint64_t count = for_seeds(runs, [&](std::uint64_t seed) {
    HostileSettings settings = random_settings(seed);
    settings.rules.identities = settings.cells = settings.bookings = true;
    settings.has_budget = seed % 4 == 0;
    settings.rules.slow_for_power = false;  // lower frequencies are tried without bookings
    settings.platform.steps.clear();
    settings.platform.nodes = 8 + settings.platform.nodes % 25;
    change(settings);
    HostileWorld world(settings);
    try {
      world.live();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\nat " << to_seconds(world.now()) << " s";
    }
    sum += world.figures();
  });
  if (count == 0) return {};
  EXPECT_GT(sum.bookings, count * 3);
  EXPECT_GT(sum.booked, count / 5);
  return sum;
}

TEST(Bookings, AreKeptWhateverIsWritten) {
  const HostileWorld::Figures sum = live(1000, [](HostileSettings&) {});
  if (sum.instants > 0) EXPECT_GT(sum.ordered_off, 10u);
}

TEST(Bookings, AreKeptByThePolicies) {
  live(600, [](HostileSettings& settings) {
    settings.make_policy = [](Draws& draws) {
      const auto all = built_in_policies();
      return make_policy(all[draws.below(all.size())].name);
    };
  });
}

}  // namespace
}  // namespace ductile::testing
