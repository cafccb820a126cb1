#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::SmallWorld;

const JobId kLarge{0}, kSmall{1}, kNew{2};

// Two jobs have all 12 nodes: 10 of 2 to 10, preferred 6; and 2 of 1 to 2. Then another one comes.
SmallWorld crowded(const std::string& policy, const JobSpec& comes) {
  SmallWorld world(12, policy);
  world.submit(malleable({2, 10}, 6, 1000));
  world.submit(malleable({1, 2}, 2, 1000));
  world.close();
  EXPECT_EQ(world.size(kLarge), 10u);
  EXPECT_EQ(world.size(kSmall), 2u);
  world.at(10);
  world.submit(comes);
  world.close();
  return world;
}

// ---- The strategy `pref` and its three rounds
// -------------------------------------------------------------------------------------

TEST(Wagomu, FirstTheNewJobGetsItsPreferredSizeOfWhatOthersHaveBeyondTheirs) {
  const SmallWorld world = crowded("wagomu:strategy=pref", malleable({2, 8}, 4, 100));
  EXPECT_EQ(world.size(kLarge), 6u);
  EXPECT_EQ(world.size(kSmall), 2u);
  EXPECT_EQ(world.size(kNew), 4u);
  EXPECT_EQ(world.why(kLarge), Why::shrunk_for);
}

TEST(Wagomu, ThenItsSmallestSizeOfThat) {
  const SmallWorld world = crowded("wagomu:strategy=pref", malleable({3, 8}, 5, 100));
  EXPECT_EQ(world.size(kLarge), 7u);
  EXPECT_EQ(world.size(kSmall), 2u);
  EXPECT_EQ(world.size(kNew), 3u);
}

TEST(Wagomu, ThenItsSmallestSizeOfAllThatOthersHaveBeyondTheirSmallestOnes) {
  const SmallWorld world = crowded("wagomu:strategy=pref", malleable({5, 8}, 8, 100));
  EXPECT_EQ(world.size(kLarge), 5u);
  EXPECT_EQ(world.size(kSmall), 2u);
  EXPECT_EQ(world.size(kNew), 5u);
  EXPECT_EQ(crowded("wagomu:strategy=pref", rigid(9, 100)).size(kSmall), 1u);
}

TEST(Wagomu, NobodyIsShrunkInVain) {
  for (const char* strategy : {"min", "pref", "average"}) {
    const SmallWorld world = crowded(std::string("wagomu:strategy=") + strategy, rigid(10, 100));
    EXPECT_EQ(world.size(kLarge), 10u) << strategy;
    EXPECT_EQ(world.size(kSmall), 2u) << strategy;
    EXPECT_FALSE(world.runs(kNew)) << strategy;
  }
}

// ---- The others
// -------------------------------------------------------------------------------------

TEST(Wagomu, ByMinANewJobGetsItsSmallestSize) {
  const SmallWorld world = crowded("wagomu:strategy=min", malleable({2, 8}, 4, 100));
  EXPECT_EQ(world.size(kLarge), 8u);
  EXPECT_EQ(world.size(kNew), 2u);
}

// Both use all of their range. The first one gives a node (7/8), then the second its only one, then
// the first one again.
TEST(Wagomu, ByAverageNodesComeFromWhoUsesTheLargestPartOfItsRange) {
  const SmallWorld world = crowded("wagomu:strategy=average", rigid(3, 100));
  EXPECT_EQ(world.size(kLarge), 8u);
  EXPECT_EQ(world.size(kSmall), 1u);
}

TEST(Wagomu, ByAverageNodesGoToWhoUsesTheSmallestPartOfItsRange) {
  SmallWorld world(12, "wagomu:strategy=average,starts=smallest");
  world.submit(malleable({2, 10}, 6, 1000));  // 1/8 a node
  world.submit(malleable({1, 5}, 2, 1000));   // 1/4 a node
  world.close();
  EXPECT_EQ(world.size(kLarge), 8u);
  EXPECT_EQ(world.size(kSmall), 4u);
}

TEST(Wagomu, JobsThatCannotChangeDoNotGetAny) {
  SmallWorld world(12, "wagomu:strategy=average");
  world.submit(malleable({4, 4}, 4, 1000));
  world.submit(sized(JobType::moldable, {1, 8}, 2, 1000));
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 4u);
  EXPECT_EQ(world.size(JobId{1}), 2u);
}

TEST(Wagomu, StartsSayTheSize) {
  const auto starts = [](const std::string& parameters) {
    SmallWorld world(10, "wagomu:" + parameters);
    world.submit(rigid(7, 100));
    world.submit(sized(JobType::moldable, {2, 8}, 4, 100));
    world.close();
    return world.size(JobId{1});
  };
  EXPECT_EQ(starts("strategy=min"), 2u);
  EXPECT_EQ(starts("strategy=min,starts=preferred"), 3u);
  EXPECT_EQ(starts("strategy=average"), 3u);
  EXPECT_EQ(starts("strategy=pref,starts=smallest"), 2u);
}

// ---- keeppref
// -------------------------------------------------------------------------------------

TEST(KeepPref, AboveTheirPreferredSizesJobsAreWhileNobodyWaits) {
  SmallWorld world = crowded("keeppref", rigid(12, 100));
  EXPECT_FALSE(world.runs(kNew));
  EXPECT_EQ(world.size(kLarge), 6u);
  EXPECT_EQ(world.size(kSmall), 2u);
  world.at(20);
  world.end(kSmall);
  world.close();
  EXPECT_EQ(world.size(kLarge), 6u);  // it still waits
}

TEST(KeepPref, BelowThemTheyAreWhereAJobStartsByIt) {
  const SmallWorld world = crowded("keeppref", rigid(7, 100));
  EXPECT_EQ(world.size(kLarge), 3u);
  EXPECT_EQ(world.size(kNew), 7u);
}

TEST(KeepPref, JobsGetBackWhatTheyPreferBeforeOthersStart) {
  for (const auto& [policy, size] : {std::pair("keeppref", 5u), std::pair("wagomu", 2u)}) {
    SmallWorld world(12, policy);
    world.submit(malleable({2, 10}, 6, 1000));
    world.submit(rigid(2, 50));
    world.close();
    world.at(10);
    world.submit(rigid(7, 100));
    world.close();
    ASSERT_EQ(world.size(kLarge), 3u);
    const JobId waits = world.submit(rigid(3, 100));
    world.close();
    ASSERT_FALSE(world.runs(waits));
    world.at(50);
    world.end(JobId{1});
    world.close();
    EXPECT_EQ(world.size(kLarge), size) << policy;
    EXPECT_EQ(world.runs(waits), size == 2) << policy;
  }
}

}  // namespace
}  // namespace ductile
