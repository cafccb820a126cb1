#include "report/resizes.hpp"

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

ResizeCounter::ByReason counted(const ResizeBehaviour& resize) {
  const Workload workload = small_resizing_workload();
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  settings.resize = resize;
  ResizeCounter counter;
  small_run(workload, settings, {&counter});
  return counter.by_reason();
}

TEST(Resizes, AreCountedByReason) {
  const ResizeCounter::ByReason expected{{Why::hand_out, {.expands = 1, .gained = 2}}};
  EXPECT_EQ(counted({}), expected);
}

TEST(Resizes, RefusedOnesAreNotDone) {
  ResizeBehaviour refusing;
  refusing.refuse = 1;
  const auto counts = counted(refusing);
  ASSERT_TRUE(counts.contains(Why::hand_out));
  EXPECT_EQ(counts.at(Why::hand_out), ResizeCounts{.not_done = 1});
}

TEST(Resizes, ThatComeAfterTheEndAreNotDone) {
  ResizeBehaviour slow;
  slow.delay = {.a = whole_seconds(60), .b = whole_seconds(60)};
  EXPECT_EQ(counted(slow).at(Why::hand_out), ResizeCounts{.not_done = 1});
}

TEST(Resizes, WithoutADecisionANodeFailed) {
  const Workload workload = small_resizing_workload();
  SimulationSettings settings = small_settings();
  settings.on_failure = SimulationSettings::OnFailure::shrink;
  settings.node_events = {{Time{whole_seconds(1)}, NodeSet{{{0, 0}}}, Health::down}};
  ResizeCounter counter;
  small_run(workload, settings, {&counter});
  const ResizeCounter::ByReason expected{{std::nullopt, {.shrinks = 1, .given = 1}}};
  EXPECT_EQ(counter.by_reason(), expected);
}

}  // namespace
}  // namespace ductile
