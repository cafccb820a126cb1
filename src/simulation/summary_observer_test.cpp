#include "simulation/summary_observer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/pass.hpp"
#include "support/scripted.hpp"
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
  EXPECT_DOUBLE_EQ(s.efficiency, s.utilization);
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

// 4 nodes of 100 W, 300 busy. From 0 to 10 two jobs of 1 and 3 nodes, of which the second one goes
// on to 20. The cap falls at 5, to less than is drawn then.
TEST(SummaryObserver, CountsPowerUpToTheLastEnd) {
  Workload workload;
  workload.jobs.push_back({.name = 1, .runtime = whole_seconds(10), .nodes = 1});
  workload.jobs.push_back({.name = 2, .runtime = whole_seconds(20), .nodes = 3});
  for (WorkloadJob& job : workload.jobs) job.walltime = job.runtime;
  SimulationSettings settings = small_settings();
  settings.platform.nodes = 4;
  settings.platform.idle_w = 100;
  settings.platform.busy_w = 300;
  EXPECT_DOUBLE_EQ(small_run(workload, settings, {}).energy_j.value(), 12'000 + 10'000);
  EXPECT_FALSE(small_run(workload, settings, {}).power_cap_w);
  settings.power_caps = {{Time{}, 2000}, {Time{whole_seconds(5)}, 1100}};
  const Summary s = small_run(workload, settings, {});
  EXPECT_DOUBLE_EQ(s.energy_j.value(), 12'000 + 10'000);
  EXPECT_DOUBLE_EQ(s.max_power_w.value(), 1200);
  EXPECT_DOUBLE_EQ(s.power_cap_w.value(), 1100);
  EXPECT_DOUBLE_EQ(s.above_power_cap_s.value(), 5);
  EXPECT_EQ(s.rejected_for_power, 0u);
  // Neither line leaves 600 W for job 2; job 1 alone draws 600.
  settings.power_caps = {{Time{}, 700}, {Time{whole_seconds(5)}, 999}};
  const Summary low = small_run(workload, settings, {});
  EXPECT_EQ(low.jobs, 1u);
  EXPECT_EQ(low.rejected, 1u);
  EXPECT_EQ(low.rejected_for_power, 1u);
  EXPECT_DOUBLE_EQ(low.energy_j.value(), 6'000);
  EXPECT_DOUBLE_EQ(low.above_power_cap_s.value(), 0);
}

// A job of 2 nodes and 100 s is told at 10 s to take 4. It works on 2 until its scheduling point at
// 14 s, pays until 19 s, and does the 172 node-seconds that are left on 4 nodes until 62 s. It
// holds the new nodes from the order on: nobody else can have them.
TEST(SummaryObserver, AResizedJobIsCountedWithWhatItHolds) {
  Workload workload;
  workload.jobs = {{.name = 1,
                    .submit = Time{whole_seconds(5)},
                    .runtime = whole_seconds(100),
                    .walltime = whole_seconds(100),
                    .nodes = 2,
                    .adaptive = 0}};
  workload.adaptive = {{.type = JobType::malleable, .size = {2, 4}, .cost = {.fixed_s = 5}}};
  const auto script = std::make_shared<testing::Scripted>();
  script->write = [](Pass& pass) {
    if (pass.now() == Time{whole_seconds(5)}) pass.wake_by(Time{whole_seconds(6)});
    if (pass.now() == Time{whole_seconds(6)}) pass.start(JobId{0}, exactly(2), {Why::in_order});
    if (pass.now() == Time{whole_seconds(6)}) pass.wake_by(Time{whole_seconds(16)});
    if (pass.now() == Time{whole_seconds(16)}) pass.resize(JobId{0}, 4, {Why::hand_out});
  };
  SimulationSettings settings = small_settings();
  settings.policy = script;
  settings.resize.delay.a = settings.resize.delay.b = whole_seconds(4);
  const Summary s = small_run(workload, settings, {});
  EXPECT_EQ(s.expands, 1u);
  EXPECT_EQ(s.expanded_jobs, 1u);
  const double held = 2 * 10 + 4 * (62 - 10), lasted = 1 + 62;
  EXPECT_DOUBLE_EQ(s.makespan_s, lasted);
  EXPECT_DOUBLE_EQ(s.utilization, held / (4 * lasted));
  EXPECT_DOUBLE_EQ(s.reconfiguration_node_s, 5 * 4);
  EXPECT_DOUBLE_EQ(s.utilization_net, (held - 5 * 4) / (4 * lasted));
  EXPECT_DOUBLE_EQ(s.efficiency, 2 * 100 / (4 * lasted));  // at the size it asked for
  EXPECT_DOUBLE_EQ(s.mean_slowdown, lasted / 100);         // by its run time at 2 nodes
  EXPECT_DOUBLE_EQ(s.mean_slowdown_actual, lasted / 62);   // by the run time it had
  EXPECT_DOUBLE_EQ(s.slowdown_of_means, lasted / 100);
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
  EXPECT_DOUBLE_EQ(s.makespan_s, 4 + 5 + 8);              // one after the other
  EXPECT_DOUBLE_EQ(s.efficiency, (8.0 + 20) / (4 * 17));  // what was killed is no work done
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

// Job 1 has three nodes until they fail at 4 and do not come back; job 3 is gone by then.
TEST(SummaryObserver, TimeHeldAfterTheLastEndIsPartOfTheRun) {
  Workload workload = small_workload();
  workload.jobs.erase(workload.jobs.begin() + 1);
  workload.jobs[1].submit = Time{};
  workload.jobs[1].runtime = workload.jobs[1].walltime = whole_seconds(1);
  SimulationSettings settings = small_settings();
  settings.node_events = {{Time{whole_seconds(4)}, NodeSet{{{0, 3}}}, Health::down}};
  const Summary s = small_run(workload, settings, {});
  EXPECT_EQ(s.jobs, 1u);
  EXPECT_EQ(s.jobs_left, 1u);
  EXPECT_FALSE(s.stopped);
  EXPECT_DOUBLE_EQ(s.makespan_s, 4);
  EXPECT_DOUBLE_EQ(s.utilization, (3 * 4 + 1 * 1) / (4 * 4.0));
  EXPECT_DOUBLE_EQ(s.efficiency, 1 / (4 * 4.0));
  EXPECT_DOUBLE_EQ(s.throughput_jobs_h, 1 / (4 / 3600.0));
}

// A job of 2 nodes and 100 s is told at 10 s to take 4, which costs 5 s; at 13 s it is over.
TEST(SummaryObserver, WhatWasPaidForAResizeUpToAnEndCounts) {
  Workload workload = small_workload();
  workload.jobs.resize(1);
  WorkloadJob& job = workload.jobs[0];
  job.nodes = 2;
  job.runtime = whole_seconds(100);
  job.walltime = whole_seconds(13);
  job.adaptive = 0;
  workload.adaptive = {{.type = JobType::malleable, .size = {2, 4}, .cost = {.fixed_s = 5}}};
  const auto script = std::make_shared<testing::Scripted>();
  script->write = [](Pass& pass) {
    if (pass.now() == Time{}) pass.start(JobId{0}, exactly(2), {Why::in_order});
    if (pass.now() == Time{}) pass.wake_by(Time{whole_seconds(10)});
    if (pass.now() == Time{whole_seconds(10)}) pass.resize(JobId{0}, 4, {Why::hand_out});
  };
  SimulationSettings settings = small_settings();
  settings.policy = script;
  settings.rules.limit = Rules::Limit::fixed;
  settings.kill_overrun = true;
  const Summary killed = small_run(workload, settings, {});
  EXPECT_EQ(killed.killed, 1u);
  EXPECT_DOUBLE_EQ(killed.makespan_s, 13);
  EXPECT_DOUBLE_EQ(killed.reconfiguration_node_s, 3 * 4);
  EXPECT_DOUBLE_EQ(killed.utilization - killed.utilization_net, 3 * 4 / (13 * 4.0));

  settings.kill_overrun = false;
  settings.node_events = {{Time{whole_seconds(13)}, NodeSet{{{0, 3}}}, Health::down}};
  using OnFailure = SimulationSettings::OnFailure;
  for (const OnFailure what : {OnFailure::requeue, OnFailure::kill}) {
    settings.on_failure = what;
    const Summary failed = small_run(workload, settings, {});
    EXPECT_DOUBLE_EQ(failed.makespan_s, 13);
    EXPECT_DOUBLE_EQ(failed.reconfiguration_node_s, 3 * 4);
  }
}

// A job of 4 nodes that needs 15 s of the 20 s it asked for is cut to 2 nodes at 5 s: it would need
// until 25 s.
TEST(SummaryObserver, JobsThatResizesKilledAreCountedApart) {
  Workload workload = small_workload();
  workload.jobs.resize(1);
  WorkloadJob& job = workload.jobs[0];
  job.nodes = 4;
  job.runtime = whole_seconds(15);
  job.walltime = whole_seconds(20);
  job.adaptive = 0;
  workload.adaptive = {{.type = JobType::malleable, .size = {2, 4}}};
  const auto script = std::make_shared<testing::Scripted>();
  script->write = [](Pass& pass) {
    if (pass.now() == Time{}) pass.start(JobId{0}, exactly(4), {Why::in_order});
    if (pass.now() == Time{}) pass.wake_by(Time{whole_seconds(5)});
    if (pass.now() == Time{whole_seconds(5)}) pass.resize(JobId{0}, 2, {Why::corridor});
  };
  SimulationSettings settings = small_settings();
  settings.policy = script;
  settings.rules.limit = Rules::Limit::fixed;
  settings.kill_overrun = true;
  const auto figures = [&](int runtime_s) {
    job.runtime = whole_seconds(runtime_s);
    const Summary s = small_run(workload, settings, {});
    return std::pair(s.killed, s.killed_by_resizes);
  };
  using Figures = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(figures(12), Figures(0, 0));  // until 19 s
  EXPECT_EQ(figures(15), Figures(1, 1));
  EXPECT_EQ(figures(20), Figures(1, 1));  // to the microsecond
  EXPECT_EQ(figures(21), Figures(1, 0));  // it would have been killed anyway
  settings.rules.limit = Rules::Limit::scaled;
  EXPECT_EQ(figures(15), Figures(0, 0));
  EXPECT_EQ(figures(21), Figures(1, 0));
  // What takes longer than its user knows is no fault of resizes, nor is what is killed at the size
  // it always had.
  settings.rules.limit = Rules::Limit::fixed;
  script->write = [](Pass& pass) {
    if (pass.now() == Time{}) pass.start(JobId{0}, exactly(2), {Why::in_order});
  };
  EXPECT_EQ(figures(20), Figures(0, 0));
  std::vector<TimeAt> truth{{2, 80}, {4, 20}};  // and not 40 s
  workload.adaptive[0].speedup = {.kind = Speedup::Kind::table,
                                  .times = SharedList(std::move(truth))};
  EXPECT_EQ(figures(20), Figures(1, 0));
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
