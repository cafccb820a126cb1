#include "workload/link_need.hpp"

#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

Stretches sends(std::vector<Stretch> stretches) { return Stretches(std::move(stretches)); }

/// So many nodes send so much together, until this share of the time is over.
Stretch sending(double until, double members, double most, std::vector<LinkUse> uses) {
  return {until, {{.members = members, .most = most, .uses = std::move(uses)}}};
}

/// Links of 100 and 50 bytes/s; one job of 2 to 3 nodes that asks for 3, of two phases.
Workload two_phases(JobType type = JobType::malleable) {
  Workload workload;
  workload.links = {100, 50};
  AdaptiveJob more;
  more.type = type;
  more.size = {2, 3};
  more.phases = {
      {.until = 0.5,
       .times_s = SharedList(std::vector<double>{10, 5}),
       // Of two nodes half of the time a half of the first link, of three all of it.
       .stretches = SharedList(std::vector<Stretches>{
           sends({sending(0.5, 2, 25, {{0, 1}}), {1, {}}}), sends({sending(1, 3, 40, {{0, 1}})})})},
      {.times_s = SharedList(std::vector<double>{10, 5})}};
  more.speedup = more.believed.speedup = measured_speedup(std::vector<double>{20, 10}, 2);
  more.believed.walltime_for = WalltimeFor::any_size;
  workload.adaptive.push_back(more);
  WorkloadJob job;
  job.nodes = 3;
  job.runtime = whole_seconds(10);
  job.walltime = whole_seconds(100);
  job.adaptive = 0;
  workload.jobs.push_back(job);
  return workload;
}

TEST(LinkNeed, IsTheMostThatANodeTakesInTheMeanOverAnIteration) {
  const Workload workload = two_phases();
  const AdaptiveJob& more = workload.adaptive[0];
  EXPECT_DOUBLE_EQ(link_need(workload, more, more.phases[0]), 1.0 / 3);  // 0.25 / 2, 1 / 3
  EXPECT_EQ(link_need(workload, more, more.phases[1]), 0);
  EXPECT_DOUBLE_EQ(link_need(workload, more), 1.0 / 3);
}

TEST(LinkNeed, GoesByTheLinkOfWhichMostIsTaken) {
  Workload workload = two_phases();
  const double any = std::numeric_limits<double>::infinity();
  const auto need = [&](std::vector<Stretch> stretches) {
    workload.adaptive[0].phases[0].stretches =
        SharedList(std::vector<Stretches>{sends(std::move(stretches))});
    return 2 * link_need(workload, workload.adaptive[0], workload.adaptive[0].phases[0]);
  };
  EXPECT_DOUBLE_EQ(need({sending(1, 2, 10, {{0, 0.5}, {1, 0.5}})}), 0.2);
  EXPECT_DOUBLE_EQ(need({sending(0.5, 1, 50, {{0, 1}}), sending(1, 1, 50, {{1, 1}})}), 0.5);
  EXPECT_DOUBLE_EQ(need({sending(1, 1, any, {{0, 1}})}), 1);  // no link is more than full
}

TEST(LinkNeed, IsWhatJobsTakeOfABudget) {
  Workload workload = two_phases();
  ASSERT_TRUE(budget_links(workload, 1));
  const AdaptiveJob& more = workload.adaptive[0];
  EXPECT_NEAR(more.believed.watts_per_node, 1e6 / 3, 1);
  EXPECT_EQ(workload.jobs[0].nodes, 3u);
  EXPECT_EQ(link_watts(workload, more, more.phases[0]), more.believed.watts_per_node);
  EXPECT_LE(link_watts(workload, more, more.phases[1]), 0.001);  // known, and as good as nothing
  EXPECT_GT(link_watts(workload, more, more.phases[1]), 0);
}

TEST(LinkNeed, AsksForAsManyNodesAsAreWithinTheBudget) {
  Workload workload = two_phases();
  ASSERT_TRUE(budget_links(workload, 0.8));
  EXPECT_EQ(workload.jobs[0].nodes, 2u);
  EXPECT_EQ(workload.jobs[0].runtime, whole_seconds(20));  // it takes twice as long on two
  EXPECT_EQ(workload.jobs[0].walltime, whole_seconds(100));
  workload = two_phases();
  ASSERT_TRUE(budget_links(workload, 0.5));  // less than two nodes take
  EXPECT_EQ(workload.jobs[0].nodes, 2u);
  EXPECT_LE(2 * workload.adaptive[0].believed.watts_per_node, 0.5e6);
  EXPECT_GT(2 * workload.adaptive[0].believed.watts_per_node, 0.5e6 - 0.01);
}

TEST(LinkNeed, IsNothingWhereNobodySends) {
  Workload workload = two_phases();
  workload.adaptive[0].phases[0].stretches = {};
  EXPECT_FALSE(budget_links(workload, 1));
  EXPECT_EQ(workload.adaptive[0].believed.watts_per_node, 0);
}

}  // namespace
}  // namespace ductile
