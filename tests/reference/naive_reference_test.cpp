// The naive implementations and the bare EASY loop against results computed elsewhere.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../bench/bare_easy.hpp"
#include "support/malleable.hpp"
#include "support/naive_backfill.hpp"
#include "support/naive_expand_shrink.hpp"
#include "support/reference.hpp"

namespace ductile {
namespace {

using naive::JobTimes;

struct Policy {
  std::string name;
  std::size_t reservations;
};

const std::vector<Policy> kPolicies = {
    {"easy", 1}, {"depth5", 5}, {"conservative", naive::kUnlimited}};

std::vector<JobTimes> schedule(const Policy& policy, const std::vector<WorkloadJob>& jobs,
                               Nodes nodes) {
  return policy.name == "easy" ? naive::easy(jobs, nodes)
                               : naive::backfill(jobs, nodes, policy.reservations);
}

void expect_starts(const std::filesystem::path& reference, const std::vector<WorkloadJob>& jobs,
                   const std::vector<JobTimes>& times) {
  const std::map<std::uint64_t, Time> starts = reference_starts(reference);
  ASSERT_EQ(starts.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(starts.contains(jobs[i].name)) << "job " << jobs[i].name;
    ASSERT_EQ(to_seconds(times[i].start), to_seconds(starts.at(jobs[i].name)))
        << "job " << jobs[i].name;
  }
}

void expect_figures(const ReferenceFigures& figures, const Workload& workload,
                    const std::vector<JobTimes>& times) {
  EXPECT_EQ(workload.jobs.size(), figures.jobs);
  EXPECT_EQ(workload.skipped.total(), figures.skipped);
  double wait_s = 0, turnaround_s = 0, slowdown = 0;
  Time last_end = times.front().end;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    wait_s += to_seconds(times[i].start - job.submit);
    turnaround_s += to_seconds(times[i].end - job.submit);
    slowdown += to_seconds(times[i].end - job.submit) / to_seconds(job.runtime);
    last_end = std::max(last_end, times[i].end);
  }
  const auto jobs = static_cast<double>(times.size());
  EXPECT_NEAR(wait_s / jobs, figures.mean_wait_s, 1e-6);
  EXPECT_NEAR(turnaround_s / jobs, figures.mean_turnaround_s, 1e-6);
  EXPECT_NEAR(slowdown / jobs, figures.mean_slowdown, 1e-6);
  EXPECT_EQ(to_seconds(last_end - workload.jobs.front().submit), figures.makespan_s);
}

// ---- What is in the repository: always ----------------------------------------------------------

std::filesystem::path data_dir() {
  return std::filesystem::path(DUCTILE_SOURCE_DIR) / "tests/data";
}

Workload bundled(const std::string& name) {
  ReferenceLog log = reference_log(name);
  log.file = name + ".swf.xz";
  return read_reference_log(log, data_dir());
}

TEST(Bundled, NaiveSchedulesEqualTheReferenceJobByJob) {
  const Workload workload = bundled("rigid_5000");
  for (const Policy& policy : kPolicies) {
    SCOPED_TRACE(policy.name);
    expect_starts(data_dir() / (policy.name + "_rigid_5000.csv.xz"), workload.jobs,
                  schedule(policy, workload.jobs, 500));
  }
}

TEST(Bundled, NaiveSchedulesHaveTheReferenceFigures) {
  const auto figures = reference_figures(data_dir() / "rigid_figures.jsonl");
  for (const std::string name : {"rigid_1000", "rigid_5000"}) {
    const Workload workload = bundled(name);
    for (const Policy& policy : kPolicies) {
      SCOPED_TRACE(name + " " + policy.name);
      expect_figures(figures.at({name, policy.name}), workload,
                     schedule(policy, workload.jobs, 500));
    }
  }
}

// ---- What may be beside the checkout ------------------------------------------------------------

class Shared : public ::testing::Test {
 protected:
  void SetUp() override {
    shared_ = shared_dir(DUCTILE_SHARED_DIR);
    if (shared_.empty()) {
      GTEST_SKIP() << "no reference results at hand; DUCTILE_SHARED_DIR names their folder";
    }
  }
  std::filesystem::path shared_;
};

TEST_F(Shared, TheBundledFilesAreTheSame) {
  for (const std::string name : {"rigid_1000", "rigid_5000"}) {
    EXPECT_EQ(read_unpacked(data_dir() / (name + ".swf.xz")),
              read_unpacked(shared_ / reference_log(name).file));
  }
  for (const Policy& policy : kPolicies) {
    const std::string file = policy.name + "_rigid_5000.csv.xz";
    EXPECT_EQ(read_unpacked(data_dir() / file), read_unpacked(shared_ / "reference" / file));
  }
}

TEST_F(Shared, NaiveSchedulesOfKth) {
  const ReferenceLog& log = reference_log("KTH-SP2-1996-2");
  const Workload workload = read_reference_log(log, shared_);
  for (const Policy& policy : kPolicies) {
    SCOPED_TRACE(policy.name);
    expect_starts(shared_ / "reference" / (policy.name + "_" + log.name + ".csv.xz"), workload.jobs,
                  schedule(policy, workload.jobs, log.nodes));
  }
}

TEST_F(Shared, NaiveFiguresOfKit) {
  auto figures = reference_figures(shared_ / "reference/easy.jsonl");
  figures.merge(reference_figures(shared_ / "reference/backfill.jsonl"));
  const ReferenceLog& log = reference_log("KIT-FH2-2016-1-first25k-derived");
  const Workload workload = read_reference_log(log, shared_);
  for (const Policy& policy : kPolicies) {
    SCOPED_TRACE(policy.name);
    expect_figures(figures.at({log.name, policy.name}), workload,
                   schedule(policy, workload.jobs, log.nodes));
  }
}

/// Paper 001's setting: jobs start at their smallest sizes, deadlines do not move.
TEST_F(Shared, NaiveStrategiesOfPaper001) {
  const ReferenceLog& log = reference_log("rigid_1000");
  Workload workload = read_reference_log(log, shared_);
  testing::make_malleable(workload, log.nodes, 1, 4);
  for (WorkloadJob& job : workload.jobs) job.walltime = std::max(job.walltime, job.runtime);
  using naive::Strategy;
  for (const auto& [strategy, name] :
       std::map<Strategy, std::string>{{Strategy::dbes, "dbes"},
                                       {Strategy::equipartition, "equipartition"},
                                       {Strategy::edf, "edf"}}) {
    const auto runs = reference_runs(shared_ / "reference" / (name + "_rigid_1000.csv.xz"));
    ASSERT_EQ(runs.size(), workload.jobs.size());
    const auto times = naive::expand_shrink(workload, log.nodes, {.strategy = strategy});
    for (std::size_t i = 0; i < times.size(); ++i) {
      const ReferenceRun& want = runs.at(workload.jobs[i].name);
      ASSERT_NEAR(to_seconds(times[i].start), to_seconds(want.start), 1e-3) << name << ' ' << i;
      ASSERT_NEAR(to_seconds(times[i].end), to_seconds(want.end.value()), 1e-3) << name << ' ' << i;
    }
  }
}

TEST_F(Shared, TheBareLoopOnAllLogs) {
  const auto figures = reference_figures(shared_ / "reference/easy.jsonl");
  for (const ReferenceLog& log : reference_logs()) {
    SCOPED_TRACE(log.name);
    const Workload workload = read_reference_log(log, shared_);
    std::vector<JobTimes> times(workload.jobs.size());
    const bench::BareEasyResult result =
        bench::bare_easy(workload.jobs, log.nodes, [&](std::size_t i, Time now) {
          times[i] = {now, now + workload.jobs[i].runtime};
        });
    const ReferenceFigures& expected = figures.at({log.name, "easy"});
    expect_figures(expected, workload, times);
    EXPECT_NEAR(result.mean_wait_s, expected.mean_wait_s, 1e-6);
    const auto starts = shared_ / "reference" / ("easy_" + log.name + ".csv.xz");
    if (std::filesystem::exists(starts)) expect_starts(starts, workload.jobs, times);
  }
}

}  // namespace
}  // namespace ductile
