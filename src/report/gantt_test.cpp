#include "report/gantt.hpp"

#include <utility>
#include <vector>

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

TEST(Gantt, BarsOfSharedNodesHaveTheirCores) {
  const Workload workload = small_sharing_workload();
  GanttRecorder recorder(workload);
  small_run(workload, small_sharing_settings(), {&recorder});
  struct Expected {
    std::uint64_t job;
    int from, to;
    std::uint32_t cores;
    bool is_guest;
    Why why;
  };
  const std::vector<Expected> all{{1, 0, 10, 0, false, Why::in_order},
                                  {2, 10, 14, 4, true, Why::guest},
                                  {1, 10, 14, 4, false, Why::in_order},
                                  {1, 14, 102, 0, false, Why::in_order}};
  const Gantt& gantt = recorder.gantt();
  ASSERT_EQ(gantt.bars.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const GanttBar& bar = gantt.bars[i];
    EXPECT_EQ(bar.job, all[i].job) << i;
    EXPECT_EQ(bar.nodes, (Interval{0, 1})) << i;
    EXPECT_EQ(bar.from, at(all[i].from)) << i;
    EXPECT_EQ(bar.to, at(all[i].to)) << i;
    EXPECT_EQ(bar.cores, all[i].cores) << i;
    EXPECT_EQ(bar.of, all[i].cores == 0 ? 0u : 8u) << i;
    EXPECT_EQ(bar.is_guest, all[i].is_guest) << i;
    EXPECT_EQ(bar.why, all[i].why) << i;
  }
}

// The guest outlives its mate, and is a mate at once, with as many cores as before: now it was
// there first.
TEST(Gantt, AGuestThatIsAMateLaterIsDrawnAsTheFirstOne) {
  Workload workload = small_sharing_workload();
  workload.jobs[0].runtime = whole_seconds(20);  // it is believed to take 100
  workload.jobs[1].runtime = workload.jobs[1].walltime = whole_seconds(30);
  workload.jobs.push_back(workload.jobs[1]);
  workload.jobs.back().name = 3;
  workload.jobs.back().submit = at(25);
  workload.jobs.back().runtime = workload.jobs.back().walltime = whole_seconds(2);
  workload.jobs.back().adaptive = 2;
  workload.adaptive.push_back(workload.adaptive[1]);
  GanttRecorder recorder(workload);
  small_run(workload, small_sharing_settings(), {&recorder});
  std::vector<std::pair<Time, bool>> of_second;
  for (const GanttBar& bar : recorder.gantt().bars) {
    if (bar.job == 2 && bar.cores > 0) of_second.emplace_back(bar.from, bar.is_guest);
  }
  const std::vector<std::pair<Time, bool>> expected{{at(10), true}, {at(30), false}};
  EXPECT_EQ(of_second, expected);
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
