#include "simulation/power_figures.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/pass.hpp"
#include "support/scripted.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

Time at(int s) { return Time{whole_seconds(s)}; }

// 4 nodes of 100 W; job 1 has one of them from 0 to 50, job 2 two from 20 to 40: what is drawn is
// 600, 1000 and 600 W.
Workload two_jobs() {
  Workload workload;
  workload.jobs = {{.name = 1, .runtime = whole_seconds(50), .nodes = 1},
                   {.name = 2, .submit = at(20), .runtime = whole_seconds(20), .nodes = 2}};
  for (WorkloadJob& job : workload.jobs) job.walltime = job.runtime;
  return workload;
}
SimulationSettings four_nodes() {
  SimulationSettings settings = small_settings();
  settings.platform.nodes = 4;
  settings.platform.idle_w = 100;
  settings.platform.busy_w = 300;
  settings.violation_grace = whole_seconds(10);
  return settings;
}

TEST(PowerFigures, WithoutACorridorThereIsNothingOutside) {
  const Summary s = small_run(two_jobs(), four_nodes(), {});
  EXPECT_FALSE(s.corridor_outside_s);
  EXPECT_FALSE(s.corridor_violations);
}

TEST(PowerFigures, CountTimesOutsideOfTheCorridor) {
  SimulationSettings settings = four_nodes();
  settings.corridor = {{Time{}, 650, 1000}};
  Summary s = small_run(two_jobs(), settings, {});
  EXPECT_DOUBLE_EQ(s.corridor_outside_s.value(), 20 + 10);
  EXPECT_DOUBLE_EQ(s.corridor_outside_ws.value(), 50 * 30);
  EXPECT_EQ(s.corridor_excursions, 2u);
  EXPECT_EQ(s.corridor_violations, 1u);  // the second one takes no longer than is tolerated
}

// Above and below are one excursion; where the corridor changes another one begins.
TEST(PowerFigures, AnExcursionIsWithinOneLine) {
  SimulationSettings settings = four_nodes();
  settings.corridor = {{Time{}, 700, 900}};
  Summary s = small_run(two_jobs(), settings, {});
  EXPECT_EQ(s.corridor_excursions, 1u);
  EXPECT_DOUBLE_EQ(s.corridor_outside_s.value(), 50);
  EXPECT_DOUBLE_EQ(s.corridor_outside_ws.value(), 100.0 * 50);
  settings.corridor = {{Time{}, 700, 900}, {at(5), 600, 800}, {at(25), 0, 999}, {at(60), 0, 1}};
  s = small_run(two_jobs(), settings, {});
  EXPECT_EQ(s.corridor_excursions, 3u);  // 0 to 5, 20 to 25, 25 to 40
  EXPECT_EQ(s.corridor_violations, 1u);
  EXPECT_DOUBLE_EQ(s.corridor_outside_s.value(), 25);
}

// Its user says 200 to 400 W a node, and it draws 250: that counts from the beginning on, whatever
// is believed until it is measured.
TEST(PowerFigures, AreOfWhatIsTrulyDrawn) {
  Workload workload = two_jobs();
  workload.jobs.resize(1);
  workload.jobs[0].adaptive = 0;
  AdaptiveJob& its = workload.adaptive.emplace_back();
  its.type = JobType::rigid;
  its.size = {1, 1};
  its.believed.watts_per_node = 400;
  its.believed.least_watts_per_node = 200;
  its.watts = 250;
  SimulationSettings settings = four_nodes();
  const Summary s = small_run(workload, settings, {});
  EXPECT_DOUBLE_EQ(s.max_power_w.value(), 550);
  EXPECT_DOUBLE_EQ(s.energy_j.value(), 550 * 50);
}

// Nodes on their way to a job that grows are idle until it has them.
TEST(PowerFigures, WhoGrowsDrawsMoreWhenItHasGrown) {
  Workload workload = two_jobs();
  workload.jobs.resize(1);
  workload.jobs[0].adaptive = 0;
  workload.adaptive = {{.type = JobType::malleable, .size = {1, 4}}};
  const auto script = std::make_shared<testing::Scripted>();
  script->write = [](Pass& pass) {
    if (pass.now() == Time{}) pass.start(JobId{0}, exactly(1), {Why::in_order});
    if (pass.now() == Time{}) pass.wake_by(at(10));
    if (pass.now() == at(10)) pass.resize(JobId{0}, 2, {Why::hand_out});
  };
  SimulationSettings settings = four_nodes();
  settings.policy = script;
  settings.resize.delay.a = whole_seconds(20);
  const Summary s = small_run(workload, settings, {});
  EXPECT_DOUBLE_EQ(s.makespan_s, 40);  // 30 s of one node, 10 s of two
  EXPECT_DOUBLE_EQ(s.energy_j.value(), 600 * 30 + 800 * 10);
}

}  // namespace
}  // namespace ductile
