// The simulator against results computed elsewhere: every start time and every figure, on real
// logs.
//
// All of them, fast:
//   cmake --preset release -DDUCTILE_BUILD_TESTS=ON && cmake --build --preset release
//   build/release/bin/reference_exactness_test

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/malleable.hpp"
#include "support/naive_expand_shrink.hpp"
#include "support/reference.hpp"

namespace ductile {
namespace {

/// Of each policy the name in the reference files, and ours.
const std::map<std::string, std::string> kPolicies = {
    {"easy", "easy"}, {"depth5", "backfill:depth=5"}, {"conservative", "conservative"}};

class Times final : public Observer {
 public:
  explicit Times(std::size_t jobs) : starts(jobs), ends(jobs) {}
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind != Decision::Kind::start) return;
    starts[index(decision.job)] = now;
    grown_starts += decision.after.count > core.job(decision.job).spec.preferred ? 1 : 0;
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    ends[index(id)] = now;
  }
  std::vector<Time> starts, ends;  // of the workload's jobs, in its order
  std::uint64_t grown_starts = 0;  // at more than the preferred size
};

struct Outcome {
  std::vector<Time> starts, ends;
  std::uint64_t grown_starts;
  Summary summary;
};

Outcome run(const Workload& workload, Nodes nodes, const std::string& policy, bool identities,
            Rules::Limit limit = Rules::Limit::scaled) {
  SimulationSettings settings;
  settings.platform.nodes = nodes;
  const auto reference = kPolicies.find(policy);
  settings.policy = make_policy(reference == kPolicies.end() ? policy : reference->second);
  settings.rules.identities = identities;
  settings.rules.limit = limit;
  settings.rules.check = false;  // in time for all jobs that live, after each event
  Times times(workload.jobs.size());
  SummaryObserver summary(workload);
  Observer* const observers[] = {&times, &summary};
  const SimulationCounts counts = simulate(workload, settings, observers);
  return {std::move(times.starts), std::move(times.ends), times.grown_starts,
          summary.summary(workload, settings, counts)};
}

void expect_figures(const ReferenceFigures& expected, const Summary& figures) {
  const auto near = [](const char* what, double value, double reference) {
    EXPECT_LE(std::abs(value - reference), 1e-6 * std::abs(reference))
        << what << ": " << value << " instead of " << reference;
  };
  EXPECT_EQ(figures.jobs, expected.jobs);
  EXPECT_EQ(figures.skipped, expected.skipped);
  EXPECT_EQ(figures.jobs_left, 0u);
  near("mean_wait_s", figures.mean_wait_s, expected.mean_wait_s);
  near("mean_turnaround_s", figures.mean_turnaround_s, expected.mean_turnaround_s);
  near("mean_slowdown", figures.mean_slowdown, expected.mean_slowdown);
  near("makespan_s", figures.makespan_s, expected.makespan_s);
  if (expected.mean_bounded_slowdown) {
    near("mean_bounded_slowdown", figures.mean_bounded_slowdown, *expected.mean_bounded_slowdown);
  }
  if (expected.utilization) near("utilization", figures.utilization, *expected.utilization);
}

void expect_starts(const std::filesystem::path& file, const Workload& workload,
                   const std::vector<Time>& starts) {
  const std::map<std::uint64_t, Time> expected = reference_starts(file);
  ASSERT_EQ(expected.size(), workload.jobs.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto its = expected.find(workload.jobs[i].name);
    ASSERT_NE(its, expected.end()) << "job " << workload.jobs[i].name;
    if (its->second == starts[i]) continue;
    if (different++ < 5) {
      ADD_FAILURE() << "job " << its->first << " starts at " << to_seconds(starts[i])
                    << " s instead of " << to_seconds(its->second) << " s";
    }
  }
  EXPECT_EQ(different, 0u) << "of " << starts.size() << " jobs";
}

/// Runs one workload under one policy, with and without identities, against all there is of both.
void check(const ReferenceLog& log, const std::string& policy, const Workload& workload,
           const std::filesystem::path& folder, const ReferenceFigures& figures) {
  const Outcome counted = run(workload, log.nodes, policy, false);
  expect_figures(figures, counted.summary);
  const auto starts = folder / (policy + "_" + log.name + ".csv.xz");
  if (std::filesystem::exists(starts)) expect_starts(starts, workload, counted.starts);
  const Outcome named = run(workload, log.nodes, policy, true);
  EXPECT_EQ(named.starts, counted.starts) << "with identities";
  expect_figures(figures, named.summary);
}

using Case = std::pair<std::string, std::string>;  // log, policy

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.first + "_" + info.param.second;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// ---- What is in the repository: always ----------------------------------------------------------

class Bundled : public ::testing::TestWithParam<Case> {};

TEST_P(Bundled, EqualsTheReference) {
  const auto& [name, policy] = GetParam();
  const auto folder = std::filesystem::path(DUCTILE_SOURCE_DIR) / "tests/data";
  ReferenceLog log = reference_log(name);
  log.file = name + ".swf.xz";
  const auto figures = reference_figures(folder / "rigid_figures.jsonl");
  check(log, policy, read_reference_log(log, folder), folder, figures.at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Exactness, Bundled,
                         ::testing::Values(Case("rigid_1000", "easy"), Case("rigid_1000", "depth5"),
                                           Case("rigid_1000", "conservative"),
                                           Case("rigid_5000", "easy"), Case("rigid_5000", "depth5"),
                                           Case("rigid_5000", "conservative")),
                         case_name);

// ---- What may be beside the checkout ------------------------------------------------------------

class Shared : public ::testing::TestWithParam<Case> {};

TEST_P(Shared, EqualsTheReference) {
  const auto shared = shared_dir(DUCTILE_SHARED_DIR);
  if (shared.empty()) {
    GTEST_SKIP() << "no reference results at hand; DUCTILE_SHARED_DIR names their folder";
  }
  const auto& [name, policy] = GetParam();
  auto all = reference_figures(shared / "reference/easy.jsonl");
  all.merge(reference_figures(shared / "reference/backfill.jsonl"));
  const ReferenceFigures& figures = all.at(GetParam());
  const ReferenceLog& log = reference_log(name);
  check(log, policy, read_reference_log(log, shared), shared / "reference", figures);
}

INSTANTIATE_TEST_SUITE_P(
    Exactness, Shared,
    ::testing::Values(Case("rigid_50000", "easy"), Case("KTH-SP2-1996-2", "easy"),
                      Case("KTH-SP2-1996-2", "depth5"), Case("KTH-SP2-1996-2", "conservative"),
                      Case("KIT-FH2-2016-1-first25k-derived", "easy"),
                      Case("KIT-FH2-2016-1-first25k-derived", "depth5"),
                      Case("KIT-FH2-2016-1-first25k-derived", "conservative"),
                      Case("LLNL-Atlas-2006-2.1-cln", "easy"), Case("HPC2N-2002-2.2-cln", "easy"),
                      Case("RICC-2010-2", "easy"),
                      Case("CEA-Curie-2011-2.1-cln_partition10", "easy")),
    case_name);

// ---- Adaptive policies --------------------------------------------------------------------------

struct AdaptiveCase {
  std::string file, policy;
  double mean_wait_s = 0, mean_turnaround_s = 0, makespan_s = 0;
  std::uint64_t expands = 0, shrinks = 0;
  std::optional<std::uint64_t> backfilled = {};
  double min = 0.5;     // smallest size, as a share of the preferred one
  bool perfect = true;  // estimates
  Rules::Limit limit = Rules::Limit::scaled;
  // A start and an expansion in one pass are one start to us; to some references, one of each.
  bool counts_grown_starts = false;
};

/// Paper 001's setting: jobs start at their smallest sizes, deadlines do not move.
AdaptiveCase case_001(const std::string& policy, double wait_s, double turnaround_s,
                      double makespan_s, std::uint64_t expands, std::uint64_t shrinks) {
  return {.file = policy + "_rigid_1000.csv.xz",
          .policy = policy,
          .mean_wait_s = wait_s,
          .mean_turnaround_s = turnaround_s,
          .makespan_s = makespan_s,
          .expands = expands,
          .shrinks = shrinks,
          .min = 1,
          .perfect = false,
          .limit = Rules::Limit::fixed,
          .counts_grown_starts = true};
}

class Adaptive : public ::testing::TestWithParam<AdaptiveCase> {};

TEST_P(Adaptive, EqualsTheReference) {
  const auto shared = shared_dir(DUCTILE_SHARED_DIR);
  if (shared.empty()) {
    GTEST_SKIP() << "no reference results at hand; DUCTILE_SHARED_DIR names their folder";
  }
  const AdaptiveCase& expected = GetParam();
  const ReferenceLog& log = reference_log("rigid_1000");
  Workload workload = read_reference_log(log, shared);
  testing::make_malleable(workload, log.nodes, expected.min, 4, expected.perfect);
  const auto runs = reference_runs(shared / "reference" / expected.file);
  ASSERT_EQ(runs.size(), workload.jobs.size());
  for (const bool identities : {false, true}) {
    SCOPED_TRACE(identities ? "with identities" : "without identities");
    const Outcome got = run(workload, log.nodes, expected.policy, identities, expected.limit);
    std::size_t different = 0;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const ReferenceRun& want = runs.at(workload.jobs[i].name);
      constexpr Duration kNear = std::chrono::milliseconds(1);
      const Duration start = got.starts[i] - want.start, end = got.ends[i] - want.end.value();
      if (std::chrono::abs(start) <= kNear && std::chrono::abs(end) <= kNear) continue;
      if (different++ < 5) {
        ADD_FAILURE() << "job " << workload.jobs[i].name << " runs " << to_seconds(got.starts[i])
                      << " to " << to_seconds(got.ends[i]) << " s instead of "
                      << to_seconds(want.start) << " to " << to_seconds(*want.end) << " s";
      }
    }
    EXPECT_EQ(different, 0u) << "of " << runs.size() << " jobs";
    EXPECT_NEAR(got.summary.mean_wait_s, expected.mean_wait_s, 1e-6);
    EXPECT_NEAR(got.summary.mean_turnaround_s, expected.mean_turnaround_s, 1e-6);
    EXPECT_NEAR(got.summary.makespan_s, expected.makespan_s, 1e-6);
    const std::uint64_t grown = expected.counts_grown_starts ? got.grown_starts : 0;
    EXPECT_EQ(got.summary.expands + grown, expected.expands);
    EXPECT_EQ(got.summary.shrinks, expected.shrinks);
    if (expected.backfilled) {
      EXPECT_EQ(got.summary.backfilled, *expected.backfilled);
    }
    EXPECT_EQ(got.summary.jobs_left, 0u);
  }
}

/// The figures are those of the references' README.md.
INSTANTIATE_TEST_SUITE_P(
    Exactness, Adaptive,
    ::testing::Values(AdaptiveCase{"mebf_basic_handoff_rigid_1000.csv.xz", "mebf:tick=0",
                                   163.115359, 2726.707344, 206540.245454, 865, 292, 160},
                      AdaptiveCase{"elastic_default_gain_rigid_1000.csv.xz", "elastic", 0,
                                   3296.490324, 202680.084943, 1260, 761, 0},
                      case_001("dbes", 17.963363, 2364.498858, 205075.858864, 4669, 1239),
                      case_001("equipartition", 26.583534, 2364.240611, 205117.633182, 4945, 3488),
                      case_001("edf", 0.628720, 2299.829003, 206613.981753, 1847, 936)),
    [](const auto& its) { return its.param.policy.substr(0, its.param.policy.find(':')); });

/// A longer run, in which jobs that are cut for one waiting job are cut further for another.
TEST(NaiveDbes, IsTheSameOnFiveThousandJobs) {
  const ReferenceLog& log = reference_log("rigid_5000");
  ReferenceLog bundled = log;
  bundled.file = "rigid_5000.swf.xz";
  Workload workload =
      read_reference_log(bundled, std::filesystem::path(DUCTILE_SOURCE_DIR) / "tests/data");
  testing::make_malleable(workload, log.nodes, 1, 4);
  const Outcome ours = run(workload, log.nodes, "dbes", false, Rules::Limit::fixed);
  for (WorkloadJob& job : workload.jobs) job.walltime = std::max(job.walltime, job.runtime);
  const auto naive = naive::expand_shrink(workload, log.nodes, {});
  std::size_t different = 0;
  for (std::size_t i = 0; i < naive.size(); ++i) {
    different += ours.starts[i] != naive[i].start || ours.ends[i] != naive[i].end;
  }
  EXPECT_EQ(different, 0u) << "of " << naive.size() << " jobs";
}

/// With no malleable job they are a rigid policy.
class RigidBaseline : public ::testing::TestWithParam<Case> {};

TEST_P(RigidBaseline, IsTheSame) {
  const auto& [policy, baseline] = GetParam();
  const ReferenceLog& log = reference_log("rigid_1000");
  ReferenceLog bundled = log;
  bundled.file = "rigid_1000.swf.xz";
  Workload workload =
      read_reference_log(bundled, std::filesystem::path(DUCTILE_SOURCE_DIR) / "tests/data");
  for (const double easy_wait_s : {685.627, 814.232}) {  // walltimes as requested, and perfect ones
    const Outcome rigid = run(workload, log.nodes, baseline, false);
    const Outcome adaptive = run(workload, log.nodes, policy, false);
    EXPECT_EQ(adaptive.starts, rigid.starts);
    if (baseline == "easy") {
      EXPECT_NEAR(adaptive.summary.mean_wait_s, easy_wait_s, 5e-4);
    }
    for (WorkloadJob& job : workload.jobs) job.walltime = job.runtime;
  }
}

INSTANTIATE_TEST_SUITE_P(Exactness, RigidBaseline,
                         ::testing::Values(Case("mebf", "easy"), Case("elastic", "easy"),
                                           Case("dbes", "depth5"), Case("equipartition", "depth5"),
                                           Case("equigrow", "depth5"), Case("esf", "depth5"),
                                           Case("edf", "depth5"), Case("ldf", "depth5"),
                                           Case("fpsma", "fcfs")),
                         [](const auto& its) { return its.param.first; });

/// No line of the reference figures is left out above.
TEST(SharedFigures, AreAllCompared) {
  const auto shared = shared_dir(DUCTILE_SHARED_DIR);
  if (shared.empty()) {
    GTEST_SKIP() << "no reference results at hand; DUCTILE_SHARED_DIR names their folder";
  }
  auto all = reference_figures(shared / "reference/easy.jsonl");
  all.merge(reference_figures(shared / "reference/backfill.jsonl"));
  EXPECT_EQ(all.size(), 6u + 11u);
}

}  // namespace
}  // namespace ductile
