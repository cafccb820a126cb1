// What its scenario does not show. Chadha, John and Gerndt 2020.
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

}  // namespace
}  // namespace ductile
