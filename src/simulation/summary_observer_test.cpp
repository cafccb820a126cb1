#include "simulation/summary_observer.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

TEST(SummaryObserver, FiguresOfARunByHand) {
  Workload workload = small_workload();
  workload.skipped.no_size = 2;
  const Summary s = small_run(workload, small_settings(), {});
  EXPECT_EQ(s.policy, "easy");
  EXPECT_EQ(s.seed, 1u);
  EXPECT_EQ(s.jobs, 3u);
  EXPECT_EQ(s.skipped, 2u);
  EXPECT_EQ(s.nodes, 4u);
  EXPECT_DOUBLE_EQ(s.makespan_s, 15);
  EXPECT_DOUBLE_EQ(s.utilization, (30.0 + 8 + 20) / 60);
  EXPECT_DOUBLE_EQ(s.utilization_net, s.utilization);
  EXPECT_DOUBLE_EQ(s.throughput_jobs_h, 3 / (15.0 / 3600));
  EXPECT_DOUBLE_EQ(s.mean_wait_s, 3);
  EXPECT_DOUBLE_EQ(s.max_wait_s, 9);
  EXPECT_EQ(s.backfilled, 1u);
  EXPECT_EQ(s.killed, 0u);
  EXPECT_EQ(s.jobs_left, 0u);
  EXPECT_FALSE(s.stopped);
  EXPECT_FALSE(s.energy_j);
  EXPECT_EQ(s.events, 6u);
}

TEST(SummaryObserver, AJobThatNeverRanIsRejectedAndNotAmongTheJobs) {
  Workload workload = small_workload();
  workload.jobs[1].nodes = 5;
  const Summary s = small_run(workload, small_settings(), {});
  EXPECT_EQ(s.jobs, 2u);
  EXPECT_EQ(s.rejected, 1u);
  EXPECT_DOUBLE_EQ(s.mean_wait_s, 0);
}

TEST(SummaryObserver, AKilledJobIsAmongTheJobs) {
  Workload workload = small_workload();
  workload.jobs[0].walltime = whole_seconds(4);
  SimulationSettings settings = small_settings();
  settings.kill_overrun = true;
  const Summary s = small_run(workload, settings, {});
  EXPECT_EQ(s.jobs, 3u);
  EXPECT_EQ(s.killed, 1u);
  EXPECT_DOUBLE_EQ(s.makespan_s, 4 + 5 + 8);  // one after the other
}

TEST(SummaryObserver, ARequeuedJobWaitsUntilItsLastStart) {
  const Workload workload = small_workload();
  SimulationSettings settings = small_settings();
  settings.node_events = {{Time{whole_seconds(4)}, NodeSet{{{0, 0}}}, Health::down},
                          {Time{whole_seconds(20)}, NodeSet{{{0, 0}}}, Health::up}};
  const Summary s = small_run(workload, settings, {});
  EXPECT_EQ(s.requeued, 1u);
  EXPECT_EQ(s.jobs, 3u);
  EXPECT_GE(s.max_wait_s, 4);
}

TEST(SummaryObserver, AStoppedRunSaysSo) {
  const Workload workload = small_workload();
  SimulationSettings settings = small_settings();
  const std::atomic<bool> stop = true;
  settings.stop = &stop;
  const Summary s = small_run(workload, settings, {});
  EXPECT_TRUE(s.stopped);
  EXPECT_EQ(s.jobs, 0u);
  EXPECT_EQ(s.jobs_left, 3u);
}

}  // namespace
}  // namespace ductile
