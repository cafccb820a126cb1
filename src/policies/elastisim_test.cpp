#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

TEST(ElastiSim, StartsAsLargeAsIdleNodesAllow) {
  SmallWorld world(10, "elastisim");
  world.submit(malleable({2, 6}, 3, 100));
  world.submit(malleable({2, 6}, 3, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 6u);
  EXPECT_EQ(world.size(JobId{1}), 4u);
}

TEST(ElastiSim, NobodyPassesTheFirstThatDoesNotFit) {
  SmallWorld world(10, "elastisim");
  world.submit(rigid(8, 100));
  const JobId waits = world.submit(rigid(4, 100));
  const JobId would_fit = world.submit(rigid(1, 10));
  world.close();
  EXPECT_FALSE(world.runs(waits));
  EXPECT_FALSE(world.runs(would_fit));
}

TEST(ElastiSim, ExpandsWhileJobsWaitAndShrinksNobody) {
  SmallWorld world(10, "elastisim");
  world.submit(rigid(6, 10));
  world.submit(malleable({1, 8}, 2, 1000));
  world.submit(rigid(7, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{1}), 4u);
  world.at(10);
  world.end(JobId{0});
  world.close();
  EXPECT_EQ(world.size(JobId{1}), 8u);
  EXPECT_FALSE(world.runs(JobId{2}));
}

// 34 s of work are left at 4 nodes: a resize of 50 s brings nothing forward.
TEST(ElastiSim, DoesNotAskWhatAnExpansionBrings) {
  for (const auto& [benefit, size] : {std::pair("off", 8u), std::pair("on", 4u)}) {
    SmallWorld world(8, std::string("elastisim:expand_benefit=") + benefit);
    world.submit(rigid(4, 10));
    world.submit(malleable({1, 8}, 8, 22), {.cost = {.fixed_s = 50}});
    world.close();
    world.at(10);
    world.end(JobId{0});
    world.close();
    EXPECT_EQ(world.size(JobId{1}), size) << benefit;
  }
}

}  // namespace
}  // namespace ductile
