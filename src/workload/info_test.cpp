#include "workload/info.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

WorkloadJob job(std::int64_t submit, Nodes nodes, std::int64_t runtime, std::int64_t walltime,
                std::uint32_t user) {
  return {.submit = Time{whole_seconds(submit)},
          .runtime = whole_seconds(runtime),
          .walltime = whole_seconds(walltime),
          .nodes = nodes,
          .user = user};
}

TEST(WorkloadInfo, NothingIsKnownOfNoJobs) {
  const WorkloadInfo info = describe({}, 10);
  EXPECT_EQ(info.jobs, 0u);
  EXPECT_EQ(info.runtime_s.max, 0);
  EXPECT_FALSE(info.offered_load);
  EXPECT_FALSE(info.accuracy_mean);
}

TEST(WorkloadInfo, OneJobHasNoLoad) {
  Workload workload;
  workload.jobs = {job(5, 3, 10, 0, 0)};
  const WorkloadInfo info = describe(workload, 10);
  EXPECT_EQ(info.first_submit_s, 5);
  EXPECT_EQ(info.span_s, 0);
  EXPECT_EQ(info.users, 0u);
  EXPECT_EQ(info.size_nodes.median, 3);
  EXPECT_EQ(info.size_nodes.p95, 3);
  EXPECT_EQ(info.interarrival_s.max, 0);
  EXPECT_EQ(info.power_of_two_share, 0);
  EXPECT_EQ(info.requested_share, 0);
  EXPECT_FALSE(info.offered_load);
  EXPECT_FALSE(info.overrun_share);
}

TEST(WorkloadInfo, FactsAreWhatTheyAreByHand) {
  Workload workload;
  workload.jobs = {job(100, 1, 10, 20, 1), job(100, 2, 40, 20, 2), job(130, 3, 20, 0, 1),
                   job(200, 4, 30, 40, 0)};
  const WorkloadInfo info = describe(workload, 4);
  EXPECT_EQ(info.jobs, 4u);
  EXPECT_EQ(info.users, 2u);
  EXPECT_EQ(info.first_submit_s, 100);
  EXPECT_EQ(info.span_s, 100);
  EXPECT_EQ(info.work_node_s, 10 + 80 + 60 + 120);
  EXPECT_DOUBLE_EQ(*info.offered_load, 270.0 / 400);
  EXPECT_EQ(info.size_nodes.min, 1);
  EXPECT_EQ(info.size_nodes.median, 2.5);
  EXPECT_EQ(info.size_nodes.mean, 2.5);
  EXPECT_DOUBLE_EQ(info.size_nodes.p95, 3.85);
  EXPECT_EQ(info.size_nodes.max, 4);
  EXPECT_EQ(info.runtime_s.median, 25);
  EXPECT_EQ(info.interarrival_s.min, 0);
  EXPECT_EQ(info.interarrival_s.median, 30);
  EXPECT_EQ(info.interarrival_s.max, 70);
  EXPECT_EQ(info.serial_share, 0.25);
  EXPECT_EQ(info.power_of_two_share, 0.75);
  EXPECT_EQ(info.requested_share, 0.75);
  EXPECT_DOUBLE_EQ(*info.overrun_share, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*info.accuracy_mean, (0.5 + 2 + 0.75) / 3);
  EXPECT_EQ(*info.accuracy_median, 0.75);
  EXPECT_FALSE(describe(workload, 0).offered_load);
}

}  // namespace
}  // namespace ductile
