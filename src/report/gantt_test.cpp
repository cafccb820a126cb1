#include "report/gantt.hpp"

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

Time at(std::int64_t seconds) { return Time{whole_seconds(seconds)}; }

TEST(Gantt, BarsOfASmallRun) {
  const Workload workload = small_workload();
  GanttRecorder recorder(workload);
  small_run(workload, small_settings(), {&recorder});
  const Gantt& gantt = recorder.gantt();
  EXPECT_TRUE(gantt.whole);
  EXPECT_EQ(gantt.nodes, 4u);
  EXPECT_EQ(gantt.begin, at(0));
  EXPECT_EQ(gantt.end, at(15));
  ASSERT_EQ(gantt.bars.size(), 3u);
  const GanttBar& second = gantt.bars[1];
  EXPECT_EQ(second.job, 3u);
  EXPECT_EQ(second.nodes, (Interval{3, 3}));
  EXPECT_EQ(second.from, at(2));
  EXPECT_EQ(second.to, at(10));
  EXPECT_EQ(second.why, Why::backfilled);
}

TEST(Gantt, WithoutIdentitiesThereIsNothingToShow) {
  const Workload workload = small_workload();
  SimulationSettings settings = small_settings();
  settings.rules.identities = false;
  GanttRecorder recorder(workload);
  small_run(workload, settings, {&recorder});
  EXPECT_TRUE(recorder.gantt().bars.empty());
}

TEST(Gantt, ALongRunIsShownUpToATime) {
  Workload workload = small_workload();
  const WorkloadJob job = workload.jobs[2];
  workload.jobs.clear();
  for (std::uint64_t i = 0; i < GanttRecorder::kMostStarts + 10; ++i) {
    workload.jobs.push_back(job);
    workload.jobs.back().name = i + 1;
    workload.jobs.back().submit = at(static_cast<std::int64_t>(i) * 5);
  }
  GanttRecorder recorder(workload);
  small_run(workload, small_settings(), {&recorder});
  const Gantt& gantt = recorder.gantt();
  EXPECT_FALSE(gantt.whole);
  EXPECT_EQ(gantt.bars.size(), GanttRecorder::kMostStarts);
  EXPECT_EQ(gantt.end, at(5 * static_cast<std::int64_t>(GanttRecorder::kMostStarts)));
  for (const GanttBar& bar : gantt.bars) EXPECT_LE(bar.to, gantt.end);
}

}  // namespace
}  // namespace ductile
