#include <string>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

// ---- Shrinking
// ------------------------------------------------------------------------------------

// A full machine, on which job 0 has 10 nodes of 5 to 20; then a rigid job of `need` nodes comes.
SmallWorld crowded(const std::string& parameters, Nodes need) {
  SmallWorld world(10, "mebf:" + parameters);
  world.submit(malleable({5, 20}, 10, 1000));
  world.close();
  world.at(10);
  world.submit(rigid(need, 100));
  world.close();
  return world;
}

// ALGORITHMS.md G8: factor 0.4 of 10 nodes.
TEST(Mebf, AShrunkJobGivesItsShare) {
  const SmallWorld world = crowded("tick=0", 3);
  EXPECT_EQ(world.size(JobId{0}), 6u);
  EXPECT_EQ(world.size(JobId{1}), 3u);
  EXPECT_EQ(world.why(JobId{0}), Why::shrunk_for);
  EXPECT_EQ(world.why(JobId{1}), Why::in_order);
}

TEST(Mebf, TheShareIsCutToTheSmallestSize) {
  EXPECT_EQ(crowded("tick=0,share_factor=0.8", 3).size(JobId{0}), 5u);
  EXPECT_EQ(crowded("tick=0,share_factor=0.05", 3).size(JobId{0}), 10u);  // floor(0.5)
  EXPECT_EQ(crowded("tick=0,share_factor=0.1", 1).size(JobId{0}), 9u);
}

TEST(Mebf, ShrinksAreKeptEvenIfTheHeadStillDoesNotFit) {
  const SmallWorld each = crowded("tick=0", 8);
  EXPECT_EQ(each.size(JobId{0}), 6u);
  EXPECT_FALSE(each.runs(JobId{1}));
  EXPECT_EQ(crowded("tick=0,shrink_commit=only_if_head_fits", 8).size(JobId{0}), 10u);
  EXPECT_EQ(crowded("tick=0,shrink_commit=only_if_head_fits", 4).size(JobId{0}), 6u);
}

TEST(Mebf, AJobWithoutEnoughLeftIsNotShrunk) {
  for (const auto& [theta, size] : {std::pair("0.99", 6u), std::pair("0.991", 10u)}) {
    EXPECT_EQ(crowded(std::string("tick=0,theta=") + theta, 3).size(JobId{0}), size) << theta;
  }
}

// 990 s of 1000 are left; on 6 nodes they take 1650, in all 1660.
TEST(Mebf, AShrunkJobMayTakeSoMuchLonger) {
  EXPECT_EQ(crowded("tick=0,gamma=1.66", 3).size(JobId{0}), 6u);
  EXPECT_EQ(crowded("tick=0,gamma=1.659", 3).size(JobId{0}), 10u);
  // The whole job on 6 nodes: 1666.67 s.
  EXPECT_EQ(crowded("tick=0,gamma=1.66,feasible_time=full", 3).size(JobId{0}), 10u);
  EXPECT_EQ(crowded("tick=0,gamma=1.67,feasible_time=full", 3).size(JobId{0}), 6u);
}

TEST(Mebf, AJobIsShrunkOnce) {
  for (const auto& [limit, size] : {std::pair("1", 8u), std::pair("2", 5u), std::pair("0", 5u)}) {
    SmallWorld world(12, std::string("mebf:tick=0,gamma=9,max_reconf_for_shrink=") + limit);
    world.submit(malleable({1, 12}, 12, 1000));
    world.close();
    for (const std::int64_t second : {10, 20}) {  // it gives 4, then 3
      world.at(second);
      world.submit(rigid(4, 1000));
      world.close();
    }
    EXPECT_EQ(world.size(JobId{0}), size) << limit;
  }
}

// Three jobs on 12 nodes, of which one scales badly and one is large; a job of `need` nodes comes.
SmallWorld three(const std::string& parameters, Nodes need) {
  SmallWorld world(12, "mebf:" + parameters);
  const AdaptiveSpec bad{.speedup = {Speedup::Kind::powerlaw, 0.3}};
  world.submit(malleable({1, 3}, 3, 1000));
  world.submit(malleable({1, 3}, 3, 1000), bad);
  world.submit(malleable({1, 6}, 6, 1000));
  world.close();
  world.at(10);
  world.submit(rigid(need, 100));
  world.close();
  return world;
}

std::vector<Nodes> sizes(const SmallWorld& world) {
  std::vector<Nodes> result;
  for (std::uint32_t i = 0; i < 3; ++i) result.push_back(world.size(JobId{i}));
  return result;
}

using Sizes = std::vector<Nodes>;

TEST(Mebf, TheLeastScalableGoesFirstThenTheLargest) {
  EXPECT_EQ(sizes(three("tick=0", 1)), (Sizes{3, 2, 6}));
  EXPECT_EQ(sizes(three("tick=0", 2)), (Sizes{3, 2, 4}));
  EXPECT_EQ(sizes(three("tick=0", 4)), (Sizes{2, 2, 4}));
}

TEST(Mebf, HowManyAreShrunk) {
  EXPECT_EQ(sizes(three("tick=0,shrink_scope=one", 4)), (Sizes{3, 2, 6}));
  EXPECT_EQ(sizes(three("tick=0,shrink_scope=all", 1)), (Sizes{2, 2, 4}));
}

// The nodes that are left over go to whoever is next; the head takes no more than it prefers.
TEST(Mebf, TheQueueIsServedOnceMoreAfterAShrink) {
  SmallWorld world(20, "mebf:tick=0");
  world.submit(malleable({1, 20}, 20, 1000));
  world.close();
  world.at(10);
  world.submit(malleable({2, 8}, 3, 100));
  world.submit(malleable({2, 8}, 8, 100));
  world.submit(rigid(1, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 12u);
  EXPECT_EQ(world.size(JobId{1}), 3u);
  EXPECT_EQ(world.size(JobId{2}), 5u);
  EXPECT_FALSE(world.runs(JobId{3}));
}

// ---- Expanding
// ------------------------------------------------------------------------------------

// Job 0 has 4 nodes, and may have up to 20; `free` nodes are idle, and nobody waits.
SmallWorld spacious(const std::string& parameters, Nodes free, std::int64_t second = 30) {
  SmallWorld world(40, "mebf:" + parameters);
  world.submit(malleable({2, 20}, 4, 1000));
  world.submit(rigid(36 - free, 10'000));
  world.close();
  world.at(second);
  world.core.apply(world.now, event::TimerFired{});
  world.close();
  return world;
}

// ALGORITHMS.md G9.
TEST(Mebf, HandoffTakesMoreThanTheJobHas) {
  EXPECT_EQ(spacious("expand=handoff", 4).size(JobId{0}), 4u);
  EXPECT_EQ(spacious("expand=handoff", 5).size(JobId{0}), 9u);
}

// ALGORITHMS.md G10.
TEST(Mebf, SpareLeavesSomeIdle) {
  EXPECT_EQ(spacious("expand=spare", 2).size(JobId{0}), 4u);
  EXPECT_EQ(spacious("expand=spare", 10).size(JobId{0}), 12u);
  EXPECT_EQ(spacious("expand=spare,spare_reserve=none", 10).size(JobId{0}), 14u);
  EXPECT_EQ(spacious("expand=spare", 30).size(JobId{0}), 20u);
  EXPECT_EQ(spacious("expand=spare,spare_ratio=0.25", 2).size(JobId{0}), 5u);
}

// The policy asks about what the job would really get.
TEST(Mebf, SizeConstraintsBindShrinksAndExpansions) {
  const AdaptiveSpec cubic{.constraint = {SizeConstraint::Kind::cubic}};
  const auto size = [&](const char* expand, Nodes free) {
    SmallWorld world(40, std::string("mebf:expand=") + expand);
    world.submit(malleable({1, 40}, 8, 1000), cubic);
    world.submit(rigid(32 - free, 10'000));
    world.close();
    world.at(30);
    world.core.apply(world.now, event::TimerFired{});
    world.close();
    return world.size(JobId{0});
  };
  EXPECT_EQ(size("intensive", 18), 8u);
  EXPECT_EQ(size("intensive", 19), 27u);
  EXPECT_EQ(size("handoff", 19), 27u);
  EXPECT_EQ(size("spare", 20), 8u);  // four stay idle
  EXPECT_EQ(size("spare", 23), 27u);
  for (const auto& [factor, left] : {std::pair("0.8", 8u), std::pair("0.9", 1u)}) {
    SmallWorld world(8, std::string("mebf:tick=0,gamma=9,share_factor=") + factor);
    world.submit(malleable({1, 40}, 8, 1000), cubic);
    world.close();
    world.at(10);
    world.submit(rigid(1, 10));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), left) << factor;
  }
}

TEST(Mebf, IntensiveTakesAnything) {
  EXPECT_EQ(spacious("expand=intensive", 1).size(JobId{0}), 5u);
  EXPECT_EQ(spacious("expand=intensive", 30).size(JobId{0}), 20u);
}

TEST(Mebf, ThetaBindsExpansionsUnlessToldOtherwise) {
  EXPECT_EQ(spacious("expand=intensive,tick=500", 1, 500).size(JobId{0}), 5u);
  EXPECT_EQ(spacious("expand=intensive,tick=501", 1, 501).size(JobId{0}), 4u);
  EXPECT_EQ(spacious("expand=intensive,tick=501,theta_for=shrinks", 1, 501).size(JobId{0}), 5u);
}

TEST(Mebf, AnExpansionMustBringTheEndForward) {
  for (const auto& [benefit, size] : {std::pair("on", 4u), std::pair("off", 5u)}) {
    SmallWorld world(5, std::string("mebf:expand=intensive,expand_benefit=") + benefit);
    // 970 s are left; on 5 nodes 776, and 194 for the resize: no gain.
    world.submit(malleable({2, 20}, 4, 1000), {.cost = {.fixed_s = 194}});
    world.close();
    world.at(30);
    world.core.apply(world.now, event::TimerFired{});
    world.close();
    EXPECT_EQ(world.size(JobId{0}), size);
  }
}

TEST(Mebf, AnExpandedJobIsNotShrunkUnlessOnlyShrinksCount) {
  for (const auto& [counts, size] : {std::pair("all", 10u), std::pair("shrinks", 6u)}) {
    SmallWorld world(10, std::string("mebf:expand=intensive,reconf_counts=") + counts);
    world.submit(malleable({2, 20}, 9, 1000));
    world.close();
    world.at(30);
    world.core.apply(world.now, event::TimerFired{});
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 10u);
    world.at(31);
    world.submit(rigid(2, 100));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), size) << counts;
  }
}

TEST(Mebf, ALimitOnExpansions) {
  for (const auto& [most, size] : {std::pair("0", 7u), std::pair("2", 6u), std::pair("1", 5u)}) {
    SmallWorld world(7, std::string("mebf:tick=0,expand=intensive,max_reconf_for_expand=") + most);
    world.submit(malleable({2, 20}, 4, 1000));
    for (int i = 0; i < 3; ++i) world.submit(rigid(1, 10));
    world.close();
    for (const std::uint32_t i : {1u, 2u, 3u}) {
      world.at(i);
      world.end(JobId{i});
      world.close();
    }
    EXPECT_EQ(world.size(JobId{0}), size) << most;
  }
}

// ---- Gaps
// -----------------------------------------------------------------------------------------

// Job 0 has 6 nodes of 8, job 1 needs 4: two are idle.
TEST(Mebf, AGapIsLeftOrFilled) {
  for (const auto& [gap, size] :
       {std::pair("basic", 6u), std::pair("shrink+", 4u), std::pair("expand+", 8u)}) {
    SmallWorld world(8, std::string("mebf:tick=0,expand=intensive,gap=") + gap);
    world.submit(malleable({2, 8}, 6, 1000));
    world.close();
    world.at(10);
    world.submit(rigid(4, 100));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), size) << gap;
    EXPECT_EQ(world.runs(JobId{1}), size == 4u) << gap;
  }
}

// ---- The queue
// ------------------------------------------------------------------------------------

TEST(Mebf, StartsBelowThePreferredSize) {
  SmallWorld world(10, "mebf:tick=0");
  const JobId moldable = world.submit(testing::sized(JobType::moldable, {2, 8}, 6, 100));
  const JobId cramped = world.submit(malleable({2, 8}, 6, 100));
  world.close();
  EXPECT_EQ(world.size(moldable), 6u);
  EXPECT_EQ(world.size(cramped), 4u);
}

// Job 1 is reserved at 100 s on all nodes; job 3 ends by then on one node, job 2 would not.
TEST(Mebf, BackfillsAtTheSizeThatIsThere) {
  SmallWorld world(4, "mebf:tick=0");
  world.submit(rigid(2, 100));
  world.submit(rigid(4, 100));
  const JobId long_one = world.submit(malleable({1, 4}, 4, 60));
  const JobId short_one = world.submit(malleable({1, 4}, 4, 50));
  world.close();
  EXPECT_FALSE(world.runs(long_one));
  EXPECT_EQ(world.size(short_one), 2u);
  EXPECT_EQ(world.why(short_one), Why::backfilled);
}

TEST(Mebf, TriesOnlySoManyWaitingJobs) {
  for (const auto& [depth, runs] : {std::pair("1", false), std::pair("2", true)}) {
    SmallWorld world(4, std::string("mebf:tick=0,try_depth=") + depth);
    world.submit(rigid(3, 100));
    world.submit(rigid(4, 100));
    world.submit(rigid(2, 10));  // there are no nodes for it
    world.submit(rigid(1, 101));
    const JobId fits = world.submit(rigid(1, 100));
    world.close();
    EXPECT_EQ(world.runs(fits), runs) << depth;
  }
}

TEST(Mebf, EvolvingRequestsAreGrantedFromIdleNodesOnly) {
  SmallWorld world(8, "mebf:tick=0");
  const JobId id = world.submit(testing::sized(JobType::evolving, {1, 8}, 4, 1000));
  world.submit(rigid(2, 1000));
  world.close();
  world.at(10);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, id, 3, 0});
  world.close();
  EXPECT_EQ(world.size(id), 4u);
  EXPECT_EQ(world.decisions.front().kind, Decision::Kind::deny);
  world.at(20);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{1}, id, 2, 0});
  world.close();
  EXPECT_EQ(world.size(id), 6u);
  world.at(30);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{2}, id, -4, 0});
  world.close();
  EXPECT_EQ(world.size(id), 2u);
}

}  // namespace
}  // namespace ductile
