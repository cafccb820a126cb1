// What the scenarios of this name do not show. Prabhakaran et al. 2015 and its competitors.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

const std::vector<std::string> kAll{"equipartition", "equigrow", "esf", "edf", "ldf"};

TEST(ExpandShrink, JobsStartAtTheirSmallestSizes) {
  for (const std::string& policy : kAll) {
    SmallWorld world(9, policy);  // nothing idles
    AdaptiveSpec even;
    even.constraint.kind = SizeConstraint::Kind::even;
    world.submit(malleable({3, 4}, 3, 100), even);
    world.submit(testing::sized(JobType::moldable, {2, 8}, 4, 100));
    world.submit(testing::sized(JobType::evolving, {1, 8}, 3, 100));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 4u) << policy;
    EXPECT_EQ(world.size(JobId{1}), 2u) << policy;
    EXPECT_EQ(world.size(JobId{2}), 3u) << policy;
  }
}

// Moldable ones then or never get what idles, up to their largest size.
TEST(ExpandShrink, MoldableJobsStartOnWhatIdles) {
  for (const std::string& policy : kAll) {
    SmallWorld world(12, policy);
    world.submit(testing::sized(JobType::moldable, {2, 8}, 4, 100));
    world.submit(testing::sized(JobType::moldable, {2, 3}, 2, 100));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 8u) << policy;
    EXPECT_EQ(world.size(JobId{1}), 3u) << policy;
    EXPECT_EQ(world.decisions.size(), 2u) << policy;  // one start each
    world.at(10);
    world.end(JobId{1});
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 8u) << policy;
  }
}

// The walltime is that of the preferred size; the smallest takes longer.
TEST(ExpandShrink, PlansWithTheTimeOfTheSmallestSize) {
  SmallWorld world(4, "edf");
  world.submit(rigid(2, 100));
  world.submit(rigid(4, 10));
  world.submit(malleable({1, 1}, 1, 90));
  world.close();
  EXPECT_EQ(world.size(JobId{2}), 1u);  // ends by 100
  world.submit(malleable({1, 2}, 2, 90));
  world.close();
  EXPECT_EQ(world.size(JobId{3}), 0u);  // would end at 180
}

TEST(ExpandShrink, NobodyIsCutInVain) {
  for (const std::string& policy : kAll) {
    SmallWorld world(8, policy);
    world.submit(malleable({4, 8}, 4, 100));
    world.close();
    world.at(10);
    world.submit(rigid(5, 10));
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 8u) << policy;
    world.submit(rigid(4, 10));  // nor for the second in the queue
    world.close();
    EXPECT_EQ(world.size(JobId{0}), 8u) << policy;
  }
}

// One after the other, as long as there are nodes to be had.
TEST(ExpandShrink, SeveralJobsOfOnePassAreCutFor) {
  for (const std::string& policy : kAll) {
    SmallWorld world(8, policy);
    world.submit(malleable({1, 4}, 1, 100));
    world.submit(malleable({1, 4}, 1, 100));
    world.close();
    world.at(10);
    for (int i = 0; i < 4; ++i) world.submit(rigid(2, 10));
    world.close();
    EXPECT_EQ(world.size(JobId{4}), 2u) << policy;
    EXPECT_EQ(world.size(JobId{5}), 0u) << policy;
    EXPECT_EQ(world.size(JobId{0}) + world.size(JobId{1}), 2u) << policy;
  }
}

// A job that is started and expanded in one pass keeps the deadline of its smallest size.
TEST(ExpandShrink, AFixedDeadlineIsThatOfTheSmallestSize) {
  const auto policy = make_policy("edf");
  Core core({.nodes = 8}, {}, {.limit = Rules::Limit::fixed}, policy->traits);
  core.apply(Time{}, event::Submitted{malleable({2, 8}, 4, 100), {}});
  core.close(Time{}, *policy);
  EXPECT_EQ(core.job(JobId{0}).size(), 8u);
  EXPECT_EQ(core.job(JobId{0}).limit, Time{whole_seconds(200)});
}

TEST(ExpandShrink, ATickPlansAgain) {
  const auto policy = make_policy("edf:tick=60");
  Core core({.nodes = 8}, {}, {}, policy->traits);
  EXPECT_EQ(core.next_wake(), kNever);
  const Time now{whole_seconds(61)};
  core.apply(now, event::Submitted{rigid(2, 100), {}});
  core.close(now, *policy);
  EXPECT_EQ(core.next_wake(), Time{whole_seconds(120)});
}

// Requests come before the queue, in order of priority; a part is granted if it is wanted.
TEST(ExpandShrink, EvolvingRequests) {
  SmallWorld world(10, "esf");
  JobSpec low = testing::sized(JobType::evolving, {1, 10}, 2, 100), high = low;
  high.priority = 1;
  world.submit(low);
  world.submit(high);
  world.submit(malleable({2, 4}, 2, 100));
  world.close();
  ASSERT_EQ(world.size(JobId{2}), 4u);
  world.at(10);
  world.submit(rigid(2, 10));
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{0}, 4, 1});
  world.core.apply(world.now, event::EvolvingRequested{RequestId{1}, JobId{1}, 3, 0});
  world.close();
  EXPECT_EQ(world.size(JobId{1}), 5u);
  EXPECT_EQ(world.size(JobId{0}), 3u);
  EXPECT_EQ(world.size(JobId{2}), 2u);
  EXPECT_EQ(world.size(JobId{3}), 0u);
}

}  // namespace
}  // namespace ductile
