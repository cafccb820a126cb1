// The strategies of paper 001 against results computed elsewhere: every start and end, and the
// figures.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/reference.hpp"

namespace ductile {
namespace {

/// Every job malleable from its size up to four times that, with linear speedup.
void make_malleable(Workload& workload, Nodes nodes) {
  for (WorkloadJob& job : workload.jobs) {
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    workload.adaptive.push_back({.size = {job.nodes, std::min(4 * job.nodes, nodes)}});
  }
}

class Times final : public Observer {
 public:
  void on_decision(Time, const Decision& decision, const Core& core) override {
    if (decision.kind != Decision::Kind::start) return;
    grown_starts += decision.after.count > core.job(decision.job).spec.preferred ? 1 : 0;
  }
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState, bool,
              const Core& core) override {
    runs[job.name] = {core.job(id).started, now};
  }
  std::map<std::uint64_t, ReferenceRun> runs;
  std::uint64_t grown_starts = 0;  // started and expanded in one pass
};

struct Expected {
  std::string policy;
  double mean_wait_s, mean_turnaround_s, makespan_s;
  std::uint64_t expands, shrinks;
};

class Reference : public ::testing::TestWithParam<Expected> {};

TEST_P(Reference, EveryStartAndEnd) {
  const auto shared = shared_dir(DUCTILE_SHARED_DIR);
  if (shared.empty()) {
    GTEST_SKIP() << "no reference results at hand; DUCTILE_SHARED_DIR names their folder";
  }
  const ReferenceLog& log = reference_log("rigid_1000");
  Workload workload = read_reference_log(log, shared);
  make_malleable(workload, log.nodes);
  const Expected& expected = GetParam();
  for (const bool identities : {false, true}) {
    SimulationSettings settings;
    settings.platform.nodes = log.nodes;
    settings.policy = make_policy(expected.policy);
    settings.rules.limit = Rules::Limit::fixed;
    settings.rules.identities = identities;
    settings.rules.check = identities;
    Times times;
    SummaryObserver observer(workload);
    Observer* const observers[] = {&times, &observer};
    const SimulationCounts counts = simulate(workload, settings, observers);
    const Summary figures = observer.summary(workload, settings, counts);

    const auto reference =
        reference_runs(shared / "reference" / (expected.policy + "_rigid_1000.csv.xz"));
    ASSERT_EQ(reference.size(), times.runs.size());
    std::size_t different = 0;
    for (const auto& [name, run] : reference) {
      const ReferenceRun& ours = times.runs.at(name);
      const auto near = [](Time a, Time b) { return std::chrono::abs(a - b) <= seconds(0.001); };
      if (near(run.start, ours.start) && near(*run.end, *ours.end)) continue;
      if (different++ < 5) {
        ADD_FAILURE() << "job " << name << " runs from " << to_seconds(ours.start) << " s to "
                      << to_seconds(*ours.end) << " s instead of " << to_seconds(run.start)
                      << " s to " << to_seconds(*run.end) << " s";
      }
    }
    EXPECT_EQ(different, 0u) << "of " << reference.size() << " jobs";
    EXPECT_NEAR(figures.mean_wait_s, expected.mean_wait_s, 1e-6);
    EXPECT_NEAR(figures.mean_turnaround_s, expected.mean_turnaround_s, 1e-6);
    EXPECT_NEAR(figures.makespan_s, expected.makespan_s, 1e-6);
    // To us a start and an expansion in one pass are one start; to the reference, one of each.
    EXPECT_EQ(figures.expands + times.grown_starts, expected.expands);
    EXPECT_EQ(figures.shrinks, expected.shrinks);
  }
}

INSTANTIATE_TEST_SUITE_P(
    ExpandShrink, Reference,
    ::testing::Values(Expected{"equipartition", 26.583534, 2364.240611, 205117.633182, 4945, 3488},
                      Expected{"edf", 0.628720, 2299.829003, 206613.981753, 1847, 936}),
    [](const auto& its) { return its.param.policy; });

}  // namespace
}  // namespace ductile
