#include "simulation/measured.hpp"

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

constexpr Time at(double time_s) { return Time{seconds(time_s)}; }

TEST(Measured, SharesAreOfTheTimeOfSubmissions) {
  Workload workload = small_workload();  // submitted at 0, 1 and 2
  for (WorkloadJob& job : workload.jobs) job.submit += whole_seconds(10);
  const auto share = [&](double its) {
    return times_of({.from = MeasuredBound{.share = its}, .until = MeasuredBound{.share = its}},
                    workload);
  };
  EXPECT_EQ(share(0.25).from, at(10.5));
  EXPECT_EQ(share(0.25).until, at(10.5));
  EXPECT_EQ(share(1).from, at(12));
  EXPECT_EQ(share(1).until, kNever);
  EXPECT_TRUE(times_of({}, workload).contains(Time{}));
}

Summary figures_of(const Workload& workload, const MeasuredPart& measured) {
  const SimulationSettings settings = small_settings();
  SummaryObserver observer(workload, {}, measured);
  Observer* const observers[] = {&observer};
  const SimulationCounts counts = simulate(workload, settings, observers);
  return observer.summary(workload, settings, counts);
}

/// Job 1 runs on 3 of 4 nodes from 0 to 10, job 3 on one from 2 to 10, job 2 on all from 10 to 15.
TEST(Measured, FiguresAreOfJobsSubmittedThenAndOfNodesHeldThen) {
  const Workload workload = small_workload();
  const auto figures = [&](MeasuredPart part) { return figures_of(workload, part); };
  const Summary some =
      figures({.from = MeasuredBound{.at = at(1)}, .until = MeasuredBound{.at = at(12)}});
  EXPECT_EQ(some.jobs, 2u);
  EXPECT_EQ(some.jobs_in_all, 3u);
  EXPECT_EQ(some.measured_from_s, 1.0);
  EXPECT_EQ(some.measured_until_s, 12.0);
  EXPECT_EQ(some.mean_wait_s, 4.5);
  EXPECT_DOUBLE_EQ(some.utilization, (3 * 9 + 8 + 4 * 2) / (4 * 11.0));
  EXPECT_DOUBLE_EQ(some.throughput_jobs_h, 2 / (11.0 / 3600));
  EXPECT_EQ(some.makespan_s, 15);
  const Summary early = figures({.until = MeasuredBound{.at = at(1)}});
  EXPECT_EQ(early.jobs, 1u);
  EXPECT_EQ(early.measured_from_s, 0.0);
  EXPECT_DOUBLE_EQ(early.utilization, 0.75);
  const Summary all = figures({});
  EXPECT_EQ(all.jobs, 3u);
  EXPECT_FALSE(all.jobs_in_all);
  EXPECT_DOUBLE_EQ(all.utilization, (3 * 10 + 8 + 4 * 5) / (4 * 15.0));
  EXPECT_EQ(figures({.from = MeasuredBound{.at = at(100)}}).jobs, 0u);
}

// On one node jobs of 10 s come each 5 s at first, and then each 20 s: the queue of the beginning
// is gone at some time, and what comes then does not wait.
TEST(Measured, AWarmUpIsDetected) {
  Workload workload = small_workload();
  const WorkloadJob model = workload.jobs[0];
  workload.jobs.clear();
  Time submit{};
  for (std::uint64_t name = 1; name <= 400; ++name) {
    WorkloadJob job = model;
    job.name = name;
    job.submit = submit;
    job.nodes = 4;
    workload.jobs.push_back(job);
    submit += whole_seconds(name < 40 ? 5 : 20);
  }
  const auto figures = [&](MeasuredPart part) { return figures_of(workload, part); };
  const Summary found = figures({.from = MeasuredBound{.detected = true}});
  EXPECT_EQ(found.mean_wait_s, 0);
  EXPECT_EQ(found.jobs_in_all, 400u);
  ASSERT_TRUE(found.measured_from_s);
  // The same as if it had been given.
  const Summary given =
      figures({.from = MeasuredBound{.at = Time{seconds(*found.measured_from_s)}}});
  EXPECT_EQ(found.jobs, given.jobs);
  EXPECT_EQ(found.utilization, given.utilization);
  EXPECT_EQ(found.throughput_jobs_h, given.throughput_jobs_h);
  EXPECT_EQ(found.mean_turnaround_s, given.mean_turnaround_s);
  // Of the jobs before a time alone.
  const Summary early = figures({.from = MeasuredBound{.detected = true},
                                 .until = MeasuredBound{.at = Time{whole_seconds(190)}}});
  EXPECT_FALSE(early.measured_from_s);
  EXPECT_EQ(early.jobs, 38u);
  EXPECT_EQ(early.jobs_in_all, 400u);
}

}  // namespace
}  // namespace ductile
