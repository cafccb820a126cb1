// What the scenarios dbes_*.txt do not show. Prabhakaran et al. 2015.
#include <string>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::SmallWorld;

// Of a dependency that is at its largest size nothing can be gained: its nodes are spread.
TEST(Dbes, LeavesToOthersWhatADependencyCannotTake) {
  SmallWorld world(10, "dbes");
  const JobId longer = world.submit(malleable({2, 8}, 2, 400));
  const JobId shorter = world.submit(malleable({2, 3}, 2, 100));
  world.submit(rigid(7, 10));
  world.close();
  EXPECT_EQ(world.size(shorter), 3u);
  EXPECT_EQ(world.size(longer), 7u);
  EXPECT_EQ(world.core.job(shorter).tag, JobId{2});
  EXPECT_EQ(world.core.job(longer).tag, JobId::none);
}

// Nobody remembers a job that is gone.
TEST(Dbes, ForgetsForWhomItExpandedWhenThatJobIsGone) {
  SmallWorld world(10, "dbes");
  const JobId job = world.submit(malleable({2, 6}, 2, 100));
  const JobId waits = world.submit(rigid(9, 10));
  world.close();
  EXPECT_EQ(world.core.job(job).tag, waits);
  world.at(10);
  world.core.apply(world.now, event::Ended{waits, EndState::cancelled, false});
  world.submit(rigid(10, 10));
  world.close();
  EXPECT_EQ(world.core.job(job).tag, JobId::none);
}

// Step 6: jobs without a reservation start at their smallest size, on idle nodes only.
TEST(Dbes, BackfillsAtTheSmallestSize) {
  SmallWorld world(10, "dbes:depth=1");
  world.submit(rigid(6, 100));
  world.submit(rigid(8, 10));
  const JobId small = world.submit(malleable({1, 3}, 3, 30));
  const JobId large = world.submit(malleable({4, 8}, 4, 30));
  world.close();
  EXPECT_TRUE(world.runs(small));
  EXPECT_EQ(world.why(small), Why::backfilled);
  EXPECT_FALSE(world.runs(large));
  EXPECT_EQ(world.size(small), 3u);  // step 7: and is expanded in the same pass
}

TEST(Dbes, EvolvingJobsAreNotShrunk) {
  SmallWorld world(8, "dbes");
  const JobId evolves = world.submit(sized(JobType::evolving, {1, 8}, 6, 100));
  const JobId waits = world.submit(rigid(4, 10));
  world.close();
  EXPECT_EQ(world.size(evolves), 6u);
  EXPECT_FALSE(world.runs(waits));
}

// What is asked for is not had in vain: if all extra nodes do not suffice, nobody is shrunk.
TEST(Dbes, NobodyIsShrunkForARequestThatCannotBeGranted) {
  SmallWorld world(8, "dbes");
  const JobId evolves = world.submit(sized(JobType::evolving, {1, 8}, 2, 100));
  const JobId job = world.submit(malleable({3, 6}, 3, 100));
  world.close();
  EXPECT_EQ(world.size(job), 6u);
  world.at(10);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{1}, evolves, 4, 0});
  world.close();
  EXPECT_EQ(world.size(job), 6u);
  ASSERT_EQ(world.decisions.size(), 1u);
  EXPECT_EQ(world.decisions.front().kind, Decision::Kind::deny);
}

}  // namespace
}  // namespace ductile
