#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::SmallWorld;

// ---- Waiting jobs start on nodes that others give
// -------------------------------------------------

TEST(Elastic, ShrinksForWhatIsMissing) {
  SmallWorld world(10, "elastic");
  world.submit(malleable({2, 10}, 10, 1000));
  world.close();
  world.at(10);
  const JobId rigid_one = world.submit(rigid(3, 100));
  const JobId malleable_one = world.submit(malleable({2, 8}, 6, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 5u);
  EXPECT_EQ(world.size(rigid_one), 3u);
  EXPECT_EQ(world.size(malleable_one), 2u);
  EXPECT_EQ(world.why(malleable_one), Why::shrunk_for);
  // One resize for both.
  EXPECT_EQ(world.core.job(JobId{0}).shrinks, 1u);
}

// 3 of 10 nodes are idle. The first job of the queue waits for 8 nodes, or for the smallest size.
TEST(Elastic, WhoWaitsStartsByOneOfThreeRules) {
  for (const auto& [rule, small, large] : {std::tuple("shrink", 2u, 2u), std::tuple("idle", 2u, 0u),
                                           std::tuple("preferred", 0u, 0u)}) {
    SmallWorld world(10, std::string("elastic:expand=none,start=") + rule);
    world.submit(malleable({2, 10}, 7, 1000));
    world.close();
    world.at(10);
    const JobId first = world.submit(malleable({2, 8}, 8, 100));
    const JobId second = world.submit(malleable({2, 8}, 8, 100));
    world.close();
    EXPECT_EQ(world.runs(first) ? world.size(first) : 0, small) << rule;
    EXPECT_EQ(world.runs(second) ? world.size(second) : 0, large) << rule;
  }
}

TEST(Elastic, NobodyIsExpandedIfNobodyShallBe) {
  SmallWorld world(10, "elastic:expand=none");
  world.submit(malleable({2, 10}, 7, 1000));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 7u);
}

TEST(Elastic, ShrinksNobodyInVain) {
  SmallWorld world(10, "elastic");
  world.submit(malleable({5, 10}, 10, 1000));
  world.close();
  world.at(10);
  const JobId too_large = world.submit(rigid(6, 100));
  const JobId fits = world.submit(rigid(5, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 5u);
  EXPECT_FALSE(world.runs(too_large));
  EXPECT_EQ(world.size(fits), 5u);
}

TEST(Elastic, TriesOnlySoManyWaitingJobs) {
  for (const auto& [depth, runs] : {std::pair("1", false), std::pair("2", true)}) {
    SmallWorld world(10, std::string("elastic:try_depth=") + depth);
    world.submit(malleable({5, 10}, 10, 1000));
    world.close();
    world.at(10);
    world.submit(rigid(6, 100));
    const JobId fits = world.submit(rigid(5, 100));
    world.close();
    EXPECT_EQ(world.runs(fits), runs) << depth;
  }
}

// On 4 nodes, 2 of them idle. Job 1 waits for all until 100 s; behind it a job of at least one
// node.
TEST(Elastic, WhileTheHeadWaitsIdleNodesAreForThoseWhoDoNotDelayIt) {
  for (const auto& [seconds, runs] : {std::pair(25, true), std::pair(26, false)}) {
    SmallWorld world(4, "elastic");
    world.submit(rigid(2, 100));
    world.submit(rigid(4, 100));
    const JobId third = world.submit(malleable({1, 4}, 4, seconds));
    world.close();
    EXPECT_EQ(world.runs(third), runs) << seconds;
    if (runs) {
      EXPECT_EQ(world.size(third), 1u);
    }
  }
}

TEST(Elastic, AJobStartedInAPassIsNotShrunkInIt) {
  SmallWorld world(10, "elastic");
  world.submit(malleable({2, 10}, 10, 1000));
  const JobId second = world.submit(rigid(3, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 10u);
  EXPECT_FALSE(world.runs(second));
}

// ---- Algorithms
// -----------------------------------------------------------------------------------

// Job 0 has 10 nodes of 2 to 10 for 100 s, job 1 two for 20 s; the machine has `nodes`. At `second`
// comes a job of `need` nodes. Does it start?
bool starts(const std::string& parameters, Nodes nodes, std::int64_t second, Nodes need) {
  SmallWorld world(nodes, "elastic:" + parameters);
  world.submit(malleable({2, 10}, 10, 100));
  world.submit(rigid(2, 20));
  world.close();
  world.at(second);
  const JobId id = world.submit(rigid(need, 50));
  world.close();
  return world.runs(id);
}

TEST(Elastic, ApplicationWaitsForAJobThatEndsSoon) {
  EXPECT_TRUE(starts("algorithm=application", 12, 14, 3));
  EXPECT_FALSE(starts("algorithm=application", 12, 15, 3));
  EXPECT_TRUE(starts("algorithm=default", 12, 15, 3));
  EXPECT_TRUE(starts("algorithm=application,t=4", 12, 15, 3));
}

TEST(Elastic, ApplicationSparesJobsThatAreAlmostDone) {
  EXPECT_TRUE(starts("algorithm=application,t=0,x=12", 12, 11, 3));
  EXPECT_FALSE(starts("algorithm=application,t=0,x=12", 12, 12, 3));
  EXPECT_TRUE(starts("algorithm=default,t=0,x=12", 12, 12, 3));
}

// 12 nodes of 15 are in use, 80 %.
TEST(Elastic, SystemShrinksOnlyWhileTheMachineIsNotFull) {
  EXPECT_TRUE(starts("algorithm=system", 15, 10, 4));
  EXPECT_FALSE(starts("algorithm=system,u=79", 15, 10, 4));
  EXPECT_TRUE(starts("algorithm=default,u=79", 15, 10, 4));
  EXPECT_TRUE(starts("algorithm=system,u=79,system_rule=listing", 15, 10, 4));
  EXPECT_FALSE(starts("algorithm=system,u=79,system_rule=listing", 15, 15, 4));
}

// ---- Victims
// --------------------------------------------------------------------------------------

Nodes taken(const SmallWorld& world, std::uint32_t id, Nodes before) {
  return before - world.size(JobId{id});
}

// Four jobs on 14 nodes: who gives the node for a job that comes at 10 s?
std::vector<Nodes> victims(const std::string& victim) {
  SmallWorld world(14, "elastic:victim=" + victim);
  world.submit(malleable({1, 3}, 3, 1000));
  world.submit(malleable({1, 4}, 4, 900), {.cost = {.fixed_s = 1}});
  world.submit(malleable({4, 5}, 5, 500), {.cost = {.fixed_s = 2}});
  world.submit(malleable({1, 2}, 2, 800), {.cost = {.fixed_s = 3}});
  world.close();
  world.at(10);
  world.submit(rigid(1, 100));
  world.close();
  return {taken(world, 0, 3), taken(world, 1, 4), taken(world, 2, 5), taken(world, 3, 2)};
}

using Taken = std::vector<Nodes>;

TEST(Elastic, VictimPolicies) {
  EXPECT_EQ(victims("adaptation"), (Taken{1, 0, 0, 0}));
  EXPECT_EQ(victims("shrinkable"), (Taken{0, 1, 0, 0}));
  EXPECT_EQ(victims("time"), (Taken{0, 0, 1, 0}));
  // All have gained nothing and were never expanded: the largest.
  EXPECT_EQ(victims("gain"), (Taken{0, 0, 1, 0}));
  EXPECT_EQ(victims("expansions"), (Taken{0, 0, 1, 0}));
}

// Job 0 is expanded twice, by one node each, job 1 once, by three; then job 1 is the larger one.
TEST(Elastic, GainCountsNodesAndExpansionsCountTimes) {
  for (const auto& [victim, size_0, size_1] :
       {std::tuple("gain", 4u, 5u), std::tuple("expansions", 3u, 6u)}) {
    SmallWorld world(10, std::string("elastic:victim=") + victim);
    world.submit(malleable({1, 4}, 2, 1000));
    world.submit(malleable({1, 6}, 3, 100));
    for (const Nodes nodes : {1u, 1u, 3u}) world.submit(rigid(nodes, 10));
    world.close();
    for (const std::uint32_t i : {2u, 3u, 4u}) {  // job 0 has longest to run
      world.at(i);
      world.end(JobId{i});
      world.close();
    }
    EXPECT_EQ(world.size(JobId{0}), 4u);
    EXPECT_EQ(world.size(JobId{1}), 6u);
    world.at(10);
    world.submit(rigid(1, 5));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), size_0) << victim;
    EXPECT_EQ(world.size(JobId{1}), size_1) << victim;
  }
}

// What is gained falls with each cut, those of the same pass too.
TEST(Elastic, TheOrderOfVictimsSeesTheCutsOfThePass) {
  SmallWorld world(12, "elastic:victim=shrinkable");
  world.submit(malleable({1, 6}, 6, 1000));
  world.submit(malleable({1, 6}, 6, 1000));
  world.close();
  world.at(10);
  world.submit(rigid(2, 100));
  world.submit(rigid(3, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 4u);  // for the first; then the other one has more to give
  EXPECT_EQ(world.size(JobId{1}), 3u);
}

TEST(Elastic, RandomVictimsAreDrawnAnewAndRepeatable) {
  std::vector<Nodes> sum(3);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto cut = [&] {
      const auto policy = make_policy("elastic:victim=random");
      Core core({.nodes = 6}, {}, Rules{.seed = seed}, policy->traits);
      for (int i = 0; i < 3; ++i) {
        core.apply(Time{}, event::Submitted{malleable({1, 2}, 2, 1000), {}});
      }
      core.close(Time{}, *policy);
      const Time then{whole_seconds(10)};
      core.apply(then, event::Submitted{rigid(1, 10), {}});
      core.close(then, *policy);
      std::vector<Nodes> given;
      for (std::uint32_t i = 0; i < 3; ++i) given.push_back(2 - core.job(JobId{i}).size());
      return given;
    };
    const auto given = cut();
    EXPECT_EQ(given, cut());
    for (std::size_t i = 0; i < 3; ++i) sum[i] += given[i];
  }
  for (const Nodes times : sum) EXPECT_GT(times, 8u);
}

// ---- Expansions
// -----------------------------------------------------------------------------------

TEST(Elastic, IdleNodesGoToThoseWhoRunLongest) {
  SmallWorld world(12, "elastic");
  world.submit(malleable({1, 4}, 2, 100));
  world.submit(malleable({1, 4}, 2, 300));
  world.submit(malleable({1, 4}, 2, 200));
  world.submit(rigid(3, 50));
  world.submit(rigid(3, 1000));
  world.close();
  EXPECT_EQ(world.size(JobId{1}), 2u);  // started in this pass
  world.at(50);
  world.end(JobId{3});
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 2u);
  EXPECT_EQ(world.size(JobId{1}), 4u);
  EXPECT_EQ(world.size(JobId{2}), 3u);
  EXPECT_EQ(world.why(JobId{1}), Why::hand_out);
}

// ---- Evolving requests
// ----------------------------------------------------------------------------

// On 8 nodes job 0 has 4, job 1 can give two of its three; one is idle.
SmallWorld asked(std::int32_t delta, Nodes at_least = 0) {
  SmallWorld world(8, "elastic");
  world.submit(sized(JobType::evolving, {1, 8}, 4, 1000));
  world.submit(malleable({1, 3}, 3, 1000));
  world.close();
  world.at(10);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{0}, delta, at_least});
  world.close();
  return world;
}

TEST(Elastic, EvolvingRequestsTakeIdleNodesThenThoseOfVictims) {
  EXPECT_EQ(asked(-2).size(JobId{0}), 2u);
  EXPECT_EQ(asked(1).size(JobId{0}), 5u);
  EXPECT_EQ(asked(1).size(JobId{1}), 3u);
  EXPECT_EQ(asked(3).size(JobId{0}), 7u);
  EXPECT_EQ(asked(3).size(JobId{1}), 1u);
  const SmallWorld denied = asked(4);
  EXPECT_EQ(denied.size(JobId{0}), 4u);
  EXPECT_EQ(denied.size(JobId{1}), 3u);
  EXPECT_EQ(denied.decisions.front().kind, Decision::Kind::deny);
  EXPECT_EQ(asked(4, 1).size(JobId{0}), 5u);  // what is idle will do
}

TEST(Elastic, EvolvingRequestsComeBeforeTheQueue) {
  SmallWorld world(8, "elastic");
  world.submit(sized(JobType::adaptive, {1, 8}, 4, 1000));
  world.submit(malleable({1, 4}, 4, 1000));
  world.close();
  world.at(10);
  const JobId waiting = world.submit(rigid(3, 10));
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{0}, 2, 0});
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 6u);
  EXPECT_EQ(world.size(JobId{1}), 2u);
  EXPECT_FALSE(world.runs(waiting));
}

}  // namespace
}  // namespace ductile
