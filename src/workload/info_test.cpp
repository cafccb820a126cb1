#include "workload/info.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;

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

std::vector<std::uint64_t> jobs_of(const std::vector<Bin>& bins) {
  std::vector<std::uint64_t> jobs;
  for (const Bin& bin : bins) jobs.push_back(bin.jobs);
  return jobs;
}

TEST(WorkloadInfo, JobsFallIntoBins) {
  Workload workload;
  workload.jobs = {job(0, 1, 5, 50, 1), job(1, 2, 60, 60, 1), job(2, 4, 10, 9, 0),
                   job(3, 5, 700'000, 0, 2)};
  const WorkloadInfo info = describe(workload, 8);
  EXPECT_THAT(jobs_of(info.sizes), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(info.sizes[2].from, 3);
  EXPECT_EQ(info.sizes[2].to, 5);
  EXPECT_EQ(info.sizes[2].work_node_s, 40);
  EXPECT_THAT(jobs_of(info.runtimes), ElementsAre(1, 1, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(jobs_of(info.accuracies), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(info.without_user, 1u);
  EXPECT_EQ(info.without_group, 4u);
  ASSERT_EQ(info.top_users.size(), 2u);
  EXPECT_EQ(info.top_users[0].user, 2u);
  EXPECT_EQ(info.top_users[1].jobs, 2u);
  EXPECT_EQ(info.top_users[1].work_node_s, 5 + 120);
  EXPECT_TRUE(info.by_hour.empty());
}

TEST(WorkloadInfo, DaysAndHoursAreThoseOfTheCalendar) {
  Workload workload;
  // From Thursday, 00:00: 23:00 of the same day, and 01:00 of Monday.
  workload.jobs = {job(23 * 3600, 1, 10, 0, 1), job(97 * 3600, 2, 10, 0, 1)};
  const WorkloadInfo info = describe(workload, 8, {.unix_start_time = 0});
  EXPECT_EQ(info.by_hour.at(23).jobs, 1u);
  EXPECT_EQ(info.by_hour.at(1).work_node_s, 20);
  EXPECT_THAT(jobs_of(info.by_weekday), ElementsAre(1, 0, 0, 1, 0, 0, 0));
  const WorkloadInfo before = describe(
      workload, 8, {.unix_start_time = 0, .utc_offset = whole_seconds(std::int64_t{-2} * 3600)});
  EXPECT_EQ(before.by_hour.at(21).jobs, 1u);
  EXPECT_THAT(jobs_of(before.by_weekday), ElementsAre(0, 0, 0, 1, 0, 0, 1));
  const WorkloadInfo early = describe(workload, 8, {.unix_start_time = -86'400});
  EXPECT_THAT(jobs_of(early.by_weekday), ElementsAre(0, 0, 1, 0, 0, 0, 1));
  EXPECT_TRUE(describe(workload, 8, {.unix_start_time = INT64_MAX}).by_hour.empty());
}

TEST(WorkloadInfo, FlurriesAreThoseThatWereAskedFor) {
  Workload workload;
  workload.jobs = {job(0, 1, 1, 0, 7), job(1, 1, 1, 0, 7), job(2, 1, 1, 0, 1)};
  EXPECT_TRUE(describe(workload, 8).flurries.empty());
  EXPECT_EQ(describe(workload, 8, {.flurry = {.jobs = 2}}).flurries.at(0).user, 7u);
}

}  // namespace
}  // namespace ductile
