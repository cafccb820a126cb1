#include "workload/workload.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(AdaptiveJob, PaysWhatWasMeasuredBesidesTheFormula) {
  AdaptiveJob job;
  job.size = {2, 5};
  job.cost = {.b_s = 1, .fixed_s = 0.5};
  EXPECT_EQ(job.resize_cost(2, 4), seconds(2.5));
  job.costs.after_s = SharedList(std::vector<double>{10, 20, 30, 40});
  job.costs.growth_s = SharedList(std::vector<double>{100, 200, 300});
  EXPECT_EQ(job.resize_cost(2, 4), seconds(2.5 + 30 + 200));
  EXPECT_EQ(job.resize_cost(5, 2), seconds(3.5 + 10));
  EXPECT_EQ(job.resize_cost(3, 3), Duration{});
  // Two of three nodes are replaced: what joins is measured like a growth by two.
  EXPECT_EQ(job.resize_cost(3, 3, 2) - job.cost.of(3, 3, 2),
            job.resize_cost(1, 3) - job.cost.of(1, 3));
  // Nodes may fail: then it is smaller than it may be.
  EXPECT_EQ(job.resize_cost(2, 1), seconds(1.5));
  EXPECT_EQ(job.resize_cost(1, 5), seconds(4.5 + 40));
}

TEST(AdaptiveJob, AsksForADifferenceOrForASize) {
  AdaptiveJob job;
  job.size = {2, 5};
  EvolvingStep step{.delta = -3};
  EXPECT_EQ(job.delta_of(step, 5), -3);
  EXPECT_EQ(job.delta_of(step, 4), -2);  // no further than its range
  EXPECT_EQ(job.delta_of(step, 2), 0);
  EXPECT_EQ(job.delta_of(step, 1), 0);  // a node failed
  step.delta = 4;
  EXPECT_EQ(job.delta_of(step, 3), 2);
  EXPECT_EQ(job.delta_of(step, 5), 0);
  step.wanted = SharedList(std::vector<Nodes>{4, 4, 4, 2});
  EXPECT_EQ(job.delta_of(step, 2), 2);
  EXPECT_EQ(job.delta_of(step, 4), 0);
  EXPECT_EQ(job.delta_of(step, 5), -3);
  EXPECT_EQ(job.delta_of(step, 1), 0);
  EXPECT_EQ(job.delta_of(step, 6), 0);
}

TEST(Workload, RigidJobsWithAPriorityDoNotAdapt) {
  Workload workload;
  workload.jobs.resize(3);
  workload.adaptive = {{.type = JobType::rigid, .priority = 1}, {.type = JobType::moldable}};
  workload.jobs[0].adaptive = 0;
  workload.jobs[2].adaptive = 1;
  EXPECT_EQ(workload.adapting(), 1u);
}

}  // namespace
}  // namespace ductile
