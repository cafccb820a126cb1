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

struct Energies final : Observer {
  explicit Energies(const Workload& workload) : its(workload) {}
  void on_close(Time now, const Core& core) override { its.note(now, core.state()); }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    its.leave(now, id);
  }
  JobEnergies its;
};

// Two nodes of 4 cores, 100 W idle and 300 W busy: a core draws 50 W. Job 1 can use 3 cores of its
// node; job 2 can use 2, and is inside of it from 20 to 40, where each of them has 2.
TEST(JobEnergies, AreByTheCoresThatAreBusyAndSumUpToTheRuns) {
  Workload workload = two_jobs();
  workload.jobs[1].nodes = 1;
  workload.jobs[0].cores = 3;
  workload.jobs[1].cores = 2;
  workload.jobs[0].adaptive = 0;
  workload.jobs[1].adaptive = 1;
  workload.adaptive.assign(2, {.type = JobType::malleable, .size = {1, 1}});
  const auto script = std::make_shared<testing::Scripted>();
  script->write = [](Pass& pass) {
    if (pass.now() == Time{}) pass.start(JobId{0}, exactly(1), {Why::in_order});
    if (pass.now() != at(20)) return;
    const Cut cut{.victim = JobId{0}, .to = 1, .each = Slice{.cores = 2}};
    Gain gain{.job = JobId{1}, .size = exactly(1)};
    gain.on = NodeSet{{{0, 0}}};
    EXPECT_TRUE(pass.carry_out({&cut, 1}, {&gain, 1}, {Why::guest}));
  };
  SimulationSettings settings = four_nodes();
  settings.platform.nodes = 2;
  settings.platform.cores_per_node = 4;
  settings.policy = script;
  settings.shares = true;
  Energies seen(workload);
  const Summary s = small_run(workload, settings, {&seen});
  // Job 1: 3 cores for 20 s, 2 for 20 s, and 3 for the 50 core-seconds that are left.
  const double last_s = 50.0 / 3;
  EXPECT_NEAR(s.makespan_s, 40 + last_s, 1e-6);
  const auto joules = [&](std::uint32_t id) {
    return static_cast<double>(seen.its.nanojoules(JobId{id})) / 1e9;
  };
  EXPECT_NEAR(joules(0), 150 * 20 + 100 * 20 + 150 * last_s, 1e-3);
  EXPECT_DOUBLE_EQ(joules(1), 100 * 20);
  EXPECT_DOUBLE_EQ(s.energy_j.value(), joules(0) + joules(1) + 200 * s.makespan_s);
  EXPECT_DOUBLE_EQ(s.max_power_w.value(), 200 + 100 + 100);
}

TEST(JobEnergies, OfAJobThatStartsAgainAreOfBothStarts) {
  Workload workload = two_jobs();
  workload.jobs.resize(1);
  SimulationSettings settings = four_nodes();
  settings.node_events = {{at(30), NodeSet{{{0, 0}}}, Health::down}};
  Energies seen(workload);
  const Summary s = small_run(workload, settings, {&seen});
  EXPECT_NEAR(s.makespan_s, 30 + 50, 1e-5);
  EXPECT_EQ(seen.its.nanojoules(JobId{0}), Wide{200 * 80} * 1'000'000'000);
}

}  // namespace
}  // namespace ductile
