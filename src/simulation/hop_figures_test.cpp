#include "simulation/hop_figures.hpp"

#include <array>

#include <gtest/gtest.h>

#include "model/switch_tree.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

TEST(HopFigures, AreTheMeanByNodeTime) {
  SimulationSettings settings = small_settings();
  settings.platform.switches = even_switches(4, std::array{2u});
  // Job 1 has 0-2 for 10 s: 0, 2 and 2. Job 2 has all for 5 s: 8 of 12 ways are of two links, so
  // four of six pairs. Job 3 has one node.
  const Summary summary = small_run(small_workload(), settings, {});
  ASSERT_TRUE(summary.mean_hops);
  EXPECT_DOUBLE_EQ(*summary.mean_hops, (4.0 / 3 * 30 + 8.0 / 6 * 20) / 50);
}

TEST(HopFigures, FollowResizes) {
  SimulationSettings settings = small_settings();
  settings.platform.switches = even_switches(4, std::array{2u});
  settings.policy = make_policy(kSmallResizingPolicy);
  // Job 1 has a leaf for 8 s, then both for 6 s; job 2 has the other leaf for 4 s.
  const Summary summary = small_run(small_resizing_workload(), settings, {});
  ASSERT_TRUE(summary.mean_hops);
  EXPECT_DOUBLE_EQ(*summary.mean_hops, (8.0 / 6 * 24) / (16 + 24 + 8));
}

TEST(HopFigures, AreThereWithSwitchesAndIdentitiesOnly) {
  SimulationSettings settings = small_settings();
  EXPECT_FALSE(small_run(small_workload(), settings, {}).mean_hops);
  settings.platform.switches = even_switches(4, std::array{2u});
  settings.rules.identities = false;
  EXPECT_FALSE(small_run(small_workload(), settings, {}).mean_hops);
}

}  // namespace
}  // namespace ductile
