#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

Platform machine(Nodes nodes) { return {.nodes = nodes, .cores_per_node = 8}; }

// Job 1 ends at 11: to wait for it would be better for both.
TEST(Oversubscribe, WhoCannotStartSharesThoughNobodyGains) {
  for (const char* const policy : {"oversubscribe", "sd"}) {
    SmallWorld world(machine(1), policy);
    const JobId first = world.submit(malleable({1, 1}, 1, 11));
    world.close();
    world.at(10);
    const JobId second = world.submit(malleable({1, 1}, 1, 100));
    world.close();
    const bool shares = policy == std::string("oversubscribe");
    EXPECT_EQ(world.runs(second), shares) << policy;
    if (!shares) continue;
    EXPECT_EQ(world.why(second), Why::guest);
    EXPECT_EQ(world.core.job(first).pace, (Pace{4, 8}));
    EXPECT_EQ(world.core.job(second).pace, (Pace{4, 8}));
    // One second was left of it.
    EXPECT_EQ(world.core.job(first).limit, testing::at_s(12));
    // A third one finds nobody who is alone.
    const JobId third = world.submit(malleable({1, 1}, 1, 1));
    world.close();
    EXPECT_FALSE(world.runs(third));
  }
}

TEST(Oversubscribe, RigidJobsShareWithNobody) {
  SmallWorld world(machine(2), "oversubscribe");
  world.submit(rigid(1, 1000));
  world.submit(malleable({1, 1}, 1, 1000));
  world.close();
  world.at(10);
  const JobId waits = world.submit(rigid(1, 10));
  const JobId larger = world.submit(malleable({2, 2}, 2, 10));
  world.close();
  EXPECT_FALSE(world.runs(waits));
  EXPECT_FALSE(world.runs(larger));  // the rigid job leaves it no cores
}

TEST(Oversubscribe, MatesAreThoseThatStartedFirst) {
  SmallWorld world(machine(4), "oversubscribe");
  std::vector<JobId> running;
  for (const int start : {0, 1, 2}) {
    world.at(start);
    running.push_back(world.submit(malleable({1, 1}, 1, 1000)));
    world.close();
  }
  world.at(3);
  const JobId idle = world.submit(malleable({1, 1}, 1, 1000));
  const JobId small = world.submit(malleable({1, 1}, 1, 10));
  const JobId large = world.submit(malleable({2, 2}, 2, 10));
  world.close();
  EXPECT_EQ(world.why(idle), Why::in_order);
  EXPECT_EQ(world.core.job(small).holding.nodes, (NodeSet{{{0, 0}}}));
  EXPECT_EQ(world.core.job(large).holding.nodes, (NodeSet{{{1, 2}}}));
}

// Whole jobs, and no more of them than `mates`.
TEST(Oversubscribe, MatesHaveTogetherTheNodesOfTheGuest) {
  const auto starts = [](const std::string& policy, Nodes nodes) {
    SmallWorld world(machine(6), policy);
    for (const Nodes size : {1u, 1u, 4u}) world.submit(malleable({size, size}, size, 1000));
    world.close();
    world.at(1);
    const JobId guest = world.submit(malleable({nodes, nodes}, nodes, 10));
    world.close();
    return world.runs(guest);
  };
  EXPECT_TRUE(starts("oversubscribe", 5));
  EXPECT_FALSE(starts("oversubscribe", 3));
  EXPECT_FALSE(starts("oversubscribe", 6));
  EXPECT_TRUE(starts("oversubscribe:mates=3", 6));
  EXPECT_FALSE(starts("oversubscribe:mates=1", 2));
}

TEST(Oversubscribe, IdleNodesGoToJobsAsUnderEasy) {
  SmallWorld world(machine(3), "oversubscribe");
  world.submit(rigid(2, 100));
  world.close();
  world.at(1);
  const JobId first = world.submit(rigid(3, 10));
  const JobId longer = world.submit(rigid(1, 100));
  const JobId shorter = world.submit(rigid(1, 99));
  world.close();
  EXPECT_FALSE(world.runs(first));
  EXPECT_FALSE(world.runs(longer));
  EXPECT_EQ(world.why(shorter), Why::backfilled);
}

}  // namespace
}  // namespace ductile
