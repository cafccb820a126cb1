// Jobs that share nodes, in random histories: a policy that lets them share at random, and a world
// that delays, refuses, does a part, loses nodes and jobs. It keeps a naive book of who has how
// many cores of each node, and complains when there are more than it has, or when cores are spare
// of which somebody there could have more (`HostileWorld::check_shared`).
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <cstdint>

#include <gtest/gtest.h>

#include "support/hostile_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

TEST(PartsOfNodes, NoNodeHasFewerCoresThanItsJobs) {
  HostileWorld::Figures seen;
  const std::uint64_t cases = for_seeds(150, [&](std::uint64_t seed) {
    HostileWorld world(sharing_settings(seed));
    world.live();
    seen += world.figures();
  });
  if (cases == 0) return;
  EXPECT_GT(seen.guests, cases / 2);
  EXPECT_GT(seen.cuts, 2 * cases);
  EXPECT_GT(seen.spared, cases);
  EXPECT_GT(seen.outlived, cases / 10);
  EXPECT_GT(seen.moves_on, cases / 10);
}

}  // namespace
}  // namespace ductile::testing
