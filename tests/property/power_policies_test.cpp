// Policies that keep a power corridor, in simulation: what their scenarios do not show. Chadha,
// John and Gerndt 2020.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/small_run.hpp"
#include "workload/pi_heat.hpp"

namespace ductile {
namespace {

Time at(int s) { return Time{whole_seconds(s)}; }

// 14 nodes, idle at 71 W.
SimulationSettings settings(const std::string& policy, std::vector<CorridorLine> corridor) {
  SimulationSettings its = small_settings();
  its.platform.nodes = 14;
  its.platform.idle_w = its.platform.busy_w = 71;
  its.policy = make_policy(policy);
  its.corridor = std::move(corridor);
  return its;
}

void add(Workload& workload, int submit, Nodes nodes, int run, double watts,
         JobType type = JobType::rigid, Nodes max = 14) {
  WorkloadJob& job = workload.jobs.emplace_back();
  job.name = workload.jobs.size();
  job.submit = at(submit);
  job.nodes = nodes;
  job.runtime = job.walltime = whole_seconds(run);
  job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
  AdaptiveJob& its = workload.adaptive.emplace_back();
  its.type = type;
  its.size = type == JobType::rigid ? exactly(nodes) : SizeRange{1, max};
  its.believed.watts_per_node = watts;
}

/// When each job starts.
class Starts final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) at[index(decision.job) + 1] = now;
  }
  std::map<std::uint32_t, Time> at;
};

// Sizes of running jobs would do as well, but a start goes first, and the first job in the queue.
TEST(PowerAware, TriesWaitingJobsFirst) {
  Workload workload;
  add(workload, 0, 2, 600, 170, JobType::malleable);
  add(workload, 5, 3, 50, 250);
  add(workload, 6, 2, 50, 250);
  for (const auto& [policy, starts] :
       {std::pair("power_aware", true), std::pair("power_aware:first=running", false),
        std::pair("power_aware:waiting=0", false)}) {
    Starts seen;
    small_run(workload, settings(policy, {{Time{}, 1000, 1300}, {at(20), 1700, 2500}}), {&seen});
    EXPECT_EQ(seen.at[2] == at(20), starts) << policy;
  }
}

// Two together, where none of them alone is enough.
TEST(PowerAware, StartsTwoIfOneIsNotEnough) {
  Workload workload;
  add(workload, 0, 2, 600, 170, JobType::malleable, 3);
  add(workload, 5, 4, 50, 170);
  add(workload, 6, 4, 50, 170);
  Starts seen;
  const auto corridor =
      std::vector<CorridorLine>{{Time{}, 1000, 1300}, {at(20), 2000, 2500}, {at(60), 0, 9000}};
  small_run(workload, settings("power_aware", corridor), {&seen});
  EXPECT_EQ(seen.at[2], at(20));
  EXPECT_EQ(seen.at[3], at(20));
  Starts one;
  small_run(workload, settings("power_aware:waiting=1,infeasible=wait", corridor), {&one});
  EXPECT_EQ(one.at[2], at(60));
}

// Nothing keeps 5000 W: it is told, and not looped on; below, jobs start as inside, or wait.
TEST(PowerAware, TellsWhatCannotBeKept) {
  Workload workload;
  add(workload, 0, 2, 300, 170, JobType::malleable);
  add(workload, 40, 2, 100, 170);
  const std::vector<CorridorLine> corridor{{Time{}, 0, 9000}, {at(20), 5000, 9000}};
  const Summary starts = small_run(workload, settings("power_aware", corridor), {});
  EXPECT_GT(starts.corridor_unsolved, 5u);
  EXPECT_EQ(starts.jobs_left, 0u);
  EXPECT_LT(starts.passes, 40u);
  Starts seen;
  small_run(workload, settings("power_aware:infeasible=wait", corridor), {&seen});
  EXPECT_EQ(seen.at[2], at(300));  // when no malleable job runs any more
}

// Four nodes of 250 W never fit below 1700 W with the idle ones: the run ends, and says who waits.
TEST(PowerAware, WhoNeverFitsIsLeft) {
  Workload workload;
  add(workload, 0, 4, 50, 250);
  const Summary s = small_run(workload, settings("power_aware", {{Time{}, 1000, 1700}}), {});
  EXPECT_EQ(s.jobs_left, 1u);
}

// Under a cap as well the lower of both bounds counts.
TEST(PowerAware, KeepsTheLowerOfCorridorAndCap) {
  Workload workload;
  add(workload, 0, 4, 50, 170);
  add(workload, 0, 4, 50, 170);
  SimulationSettings its = settings("power_aware", {{Time{}, 0, 9000}});
  its.power_caps = {{Time{}, 994 + 4 * 99 + 50}};
  const Summary s = small_run(workload, its, {});
  EXPECT_DOUBLE_EQ(s.makespan_s, 100);
  EXPECT_DOUBLE_EQ(s.max_power_w.value(), 994 + 4 * 99);
}

// Inside nobody is expanded, but with grow=yes up to the upper bound.
TEST(PowerAware, GrowsInsideIfAsked) {
  Workload workload;
  add(workload, 0, 2, 300, 170, JobType::malleable);
  const std::vector<CorridorLine> corridor{{Time{}, 0, 1700}};
  EXPECT_EQ(small_run(workload, settings("power_aware", corridor), {}).expands, 0u);
  const Summary s = small_run(workload, settings("power_aware:grow=yes", corridor), {});
  EXPECT_DOUBLE_EQ(s.max_power_w.value(), 994 + 7 * 99);  // 8 nodes would draw 1786 W
}

// The corridors of paper 003, in two orders, on its jobs: kept, and nobody is left.
TEST(PowerAhead, KeepsTheCorridorsOfThePaper) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Workload workload = generate_pi_heat({}, seed);
    const Summary s =
        small_run(workload,
                  settings("power_ahead",
                           {{Time{}, 1700, 2500}, {at(450), 1000, 1700}, {at(900), 2500, 3500}}),
                  {});
    EXPECT_EQ(s.corridor_violations, 0u) << seed;
    EXPECT_EQ(s.jobs_left, 0u) << seed;
  }
}

// Heat is computed while much may be drawn, if it is known that less will be: then it is sooner
// over.
TEST(PowerAhead, DoesWorkThatDrawsMuchBeforeLittleMayBeDrawn) {
  const std::vector<CorridorLine> falls{{Time{}, 0, 3500}, {at(500), 0, 1700}};
  double planned = 0, least = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Workload workload = generate_pi_heat({}, seed);
    planned += small_run(workload, settings("power_ahead", falls), {}).makespan_s;
    least += small_run(workload, settings("power_ahead:prefer=least", falls), {}).makespan_s;
  }
  EXPECT_LT(planned, 0.9 * least);
}

// Without a corridor it is as many busy nodes as there can be.
TEST(PowerAhead, KeepsAllBusyWithoutACorridor) {
  const Workload workload = generate_pi_heat({}, 1);
  const Summary s = small_run(workload, settings("power_ahead", {}), {});
  EXPECT_EQ(s.jobs_left, 0u);
  EXPECT_GT(s.utilization, 0.97);
}

}  // namespace
}  // namespace ductile
