// The core against a hostile world and a policy without sense: the promises of the contract hold
// whatever happens.
//
// DUCTILE_CASES: how many random runs in all, 10000 for the whole proof. DUCTILE_SEED: only the run
// of this seed.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <gtest/gtest.h>

#include "support/hostile_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

/// Stops at the first failure.
void run_seeds(const Runs& runs) {
  HostileWorld::Figures sum;
  const std::uint64_t count = for_seeds(runs, [&](std::uint64_t seed) {
    HostileSettings settings = random_settings(seed);
    settings.has_budget = settings.rules.slow_for_power;
    HostileWorld world(settings);
    try {
      world.live();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\nat " << to_seconds(world.now()) << " s";
    }
    sum += world.figures();
  });
  std::printf(
      "%llu runs: %llu instants, %llu closes, %llu events, %llu stale, %llu decisions, %llu "
      "claims, %llu grants, %llu left draining nodes, %llu moves, %llu stops, %llu suspended, %llu "
      "other machines, %llu closes without what the policy needs, %llu slowed, %llu raised\n",
      static_cast<unsigned long long>(count_of(runs)),
      static_cast<unsigned long long>(sum.instants), static_cast<unsigned long long>(sum.closes),
      static_cast<unsigned long long>(sum.events), static_cast<unsigned long long>(sum.stale),
      static_cast<unsigned long long>(sum.decisions), static_cast<unsigned long long>(sum.claims),
      static_cast<unsigned long long>(sum.grants), static_cast<unsigned long long>(sum.vacated),
      static_cast<unsigned long long>(sum.moves), static_cast<unsigned long long>(sum.stops),
      static_cast<unsigned long long>(sum.suspended), static_cast<unsigned long long>(sum.machines),
      static_cast<unsigned long long>(sum.unable), static_cast<unsigned long long>(sum.slowed),
      static_cast<unsigned long long>(sum.raised));
  if (count == 0) return;
  EXPECT_GT(sum.machines, count / 10);
  EXPECT_GT(sum.unable, 0u);
  EXPECT_GT(sum.suspended, count / 10);
  EXPECT_GT(sum.slowed, count / 10);
  EXPECT_GT(sum.raised, count / 10);
}

/// In parts, so that they run at the same time.
class HostileRuns : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint64_t kParts = 4;
};

TEST_P(HostileRuns, KeepThePromises) {
  run_seeds({.usual = 5'000 / kParts,
             .first = GetParam() * 1'000'000 + 1,
             .enough = 100,
             .share = kParts});
}

INSTANTIATE_TEST_SUITE_P(Part, HostileRuns, ::testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace ductile::testing
