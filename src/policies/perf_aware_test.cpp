// What its scenario does not show. Chadha, John and Gerndt 2020.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

TEST(Fpsma, NothingPassesTheFirstJob) {
  SmallWorld world(8, "fpsma");
  world.submit(rigid(6, 100));
  world.submit(rigid(4, 10));
  world.submit(rigid(1, 10));
  world.close();
  EXPECT_EQ(world.size(JobId{2}), 0u);
}

// One waiting job per pass, and its nodes are not handed out.
TEST(Fpsma, ShrinksForTheFirstOnly) {
  SmallWorld world(8, "fpsma");
  world.submit(malleable({1, 8}, 4, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 8u);
  world.at(10);
  world.submit(rigid(2, 100));
  world.submit(rigid(2, 100));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 6u);
  EXPECT_EQ(world.size(JobId{1}), 2u);
  EXPECT_EQ(world.size(JobId{2}), 0u);
  world.at(30);
  world.core.apply(world.now, event::TimerFired{});
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 4u);
  EXPECT_EQ(world.size(JobId{2}), 2u);
}

// Nothing is resized while a resize is under way, and nothing passes the job that waits for it.
TEST(Fpsma, WaitsForResizesUnderWay) {
  const auto policy = make_policy("fpsma");
  Core core({.nodes = 8}, {}, {.limit = Rules::Limit::fixed}, policy->traits);
  core.apply(Time{}, event::Submitted{malleable({1, 8}, 4, 100), {}});
  core.close(Time{}, *policy);
  Time now{whole_seconds(10)};
  core.apply(now, event::Submitted{rigid(2, 100), {}});
  const auto cut = core.close(now, *policy);
  ASSERT_EQ(cut.size(), 1u);
  const DecisionId shrink = cut[0].id;
  now += whole_seconds(1);
  core.apply(now, event::Submitted{rigid(1, 100), {}});
  EXPECT_TRUE(core.close(now, *policy).empty());
  now += whole_seconds(1);
  core.apply(now, event::Resized{JobId{0}, shrink, {6, {}}, {}});
  ASSERT_EQ(core.close(now, *policy).size(), 1u);  // the claim's start, and no pass
  EXPECT_EQ(core.job(JobId{1}).status, Status::running);
  EXPECT_EQ(core.job(JobId{2}).status, Status::pending);
}

// Two jobs of 4 of 16 nodes, of which 8 idle until one of 8 has ended.
struct Measured {
  explicit Measured(const std::string& settings) : world(16, settings) {
    const JobId other = world.submit(rigid(8, 100));
    first = world.submit(malleable({2, 6}, 4, 1000));
    second = world.submit(malleable({2, 6}, 4, 1000));
    world.close();
    world.at(10);
    ended = other;
  }
  void measure(JobId id, double mtct) {
    world.core.apply(world.now, event::Believed{id, 0, mtct, 0});
  }
  /// Nodes of both once 2 idle; `need`: for a job that waits for so many.
  std::pair<Nodes, Nodes> sizes_after_two_more() {
    world.end(ended);
    world.submit(rigid(6, 100));
    world.close();
    return {world.size(first), world.size(second)};
  }
  std::pair<Nodes, Nodes> sizes_after_two_fewer() {
    world.submit(rigid(2, 100));
    world.close();
    return {world.size(first), world.size(second)};
  }
  SmallWorld world;
  JobId first{}, second{}, ended{};
};
using Sizes = std::pair<Nodes, Nodes>;

// Who spends more time in MPI is cut first, and expanded last; or the other way round.
TEST(PerfAware, KeyTurnsTheOrderRound) {
  for (const bool reversed : {false, true}) {
    const std::string settings = reversed ? "perf_aware:key=reversed" : "perf_aware";
    Measured grows(settings), shrinks(settings);
    for (Measured* its : {&grows, &shrinks}) {
      its->measure(its->first, 0.5);
      its->measure(its->second, 0.1);
    }
    EXPECT_EQ(grows.sizes_after_two_more(), reversed ? Sizes(6, 4) : Sizes(4, 6));
    EXPECT_EQ(shrinks.sizes_after_two_fewer(), reversed ? Sizes(4, 2) : Sizes(2, 4));
  }
}

// Where jobs go that are not measured.
TEST(PerfAware, UnknownJobsAreLastOrFirstOrLeftAlone) {
  for (const std::string policy : {"perf_aware", "perf_gain"}) {
    const auto after = [&](const std::string& unknown, bool grow) {
      Measured its(policy + ":unknown=" + unknown);
      its.measure(its.second, 0.5);
      return grow ? its.sizes_after_two_more() : its.sizes_after_two_fewer();
    };
    EXPECT_EQ(after("last", true), Sizes(4, 6)) << policy;
    EXPECT_EQ(after("last", false), Sizes(4, 2)) << policy;
    EXPECT_EQ(after("first", true), Sizes(6, 4)) << policy;
    EXPECT_EQ(after("first", false), Sizes(2, 4)) << policy;
    EXPECT_EQ(after("skip", true), Sizes(4, 6)) << policy;
    EXPECT_EQ(after("skip", false), Sizes(4, 2)) << policy;
  }
}

// The second job scales worse and is as good as over: a node more makes it no earlier, but does
// most of what is left of it.
TEST(PerfGain, ByWhatANodeIsWorth) {
  for (const auto& [by, sizes] : {std::pair("speed", Sizes(6, 4)), std::pair("time", Sizes(6, 4)),
                                  std::pair("share", Sizes(4, 6))}) {
    SmallWorld world(16, std::string("perf_gain:expand_benefit=off,by=") + by);
    const JobId other = world.submit(rigid(8, 100)),
                first = world.submit(malleable({2, 6}, 4, 100'000)),
                second = world.submit(malleable({2, 6}, 4, 100));
    world.close();
    world.at(10);
    world.core.apply(world.now, event::Believed{first, 0, 0.1, 0});
    world.core.apply(world.now, event::Believed{second, 0, 0.2, 0});
    world.end(other);
    world.submit(rigid(6, 100));
    world.close();
    EXPECT_EQ(Sizes(world.size(first), world.size(second)), sizes) << by;
  }
}

}  // namespace
}  // namespace ductile
