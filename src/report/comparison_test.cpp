#include "report/comparison.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

RunPage run_of(const char* policy, std::uint64_t seed, double turnaround_s) {
  RunPage run;
  run.summary.policy = policy;
  run.summary.seed = seed;
  run.summary.nodes = 100;
  run.summary.jobs = 10;
  run.summary.makespan_s = 3600 * turnaround_s;
  run.summary.mean_turnaround_s = turnaround_s;
  return run;
}

constexpr const char* kJobsHead =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
    "requested_time,final_state,starting_time,finish_time,waiting_time,turnaround_time,user,"
    "start_nodes,end_nodes,reason,static_runtime\n";

const Difference* row_of(const Comparison& comparison, std::string_view key, std::size_t group) {
  for (const Difference& row : comparison.rows) {
    if (row.column.key == key && row.group == group) return &row;
  }
  return nullptr;
}

// The same with a few jobs, which are others for each seed.
RunPage run_of_log(const char* policy, std::uint64_t seed, double turnaround_s) {
  RunPage run = run_of(policy, seed, turnaround_s);
  run.path = fs::path(testing::TempDir()) / fmt::format("log-{}-{}", policy, seed);
  fs::create_directories(run.path);
  std::ofstream file(run.path / "jobs.csv");
  file << kJobsHead;
  for (std::uint64_t job = 1; job <= 3; ++job) {
    file << fmt::format("{0},log,rigid,{1},1,100,COMPLETED_SUCCESSFULLY,{1},{2},0,50,1,1,1,x,50\n",
                        job, 1000 * seed + job, 1000 * seed + job + 50);
  }
  return run;
}

TEST(Comparison, SeedsArePaired) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto load = static_cast<double>(100 * seed);
    runs.push_back(run_of_log("easy", seed, load));
    // In another order, and one that easy has not.
    runs.push_back(run_of_log("mebf", 6 - seed, 600 - load - static_cast<double>(10 + seed)));
  }
  runs.push_back(run_of_log("mebf", 9, 1));
  const Comparison comparison = compare(runs, 0);
  const Difference* row = row_of(comparison, "mean_turnaround_s", 1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->pairs.pairs, 5u);
  EXPECT_EQ(row->pairs.agree, 5u);
  EXPECT_NEAR(row->pairs.difference, -13, 1e-9);
  EXPECT_EQ(row->verdict, Difference::Verdict::better);
  EXPECT_GE(row->p, row->pairs.p);
  // Hours in tables, seconds here.
  EXPECT_NEAR(row_of(comparison, "makespan_s", 1)->pairs.difference, -13 * 3600, 1e-6);
  EXPECT_THAT(comparison.notes,
              Contains(HasSubstr("mebf: either it or easy only has the seed 9: left out")));
  EXPECT_THAT(comparison.method, HasSubstr("Student's t"));
  EXPECT_EQ(main_figure(comparison), "mean_turnaround_s");

  const Comparison other = compare(runs, 1);
  EXPECT_EQ(row_of(other, "mean_turnaround_s", 0)->verdict, Difference::Verdict::worse);
  EXPECT_EQ(row_of(other, "mean_turnaround_s", 1), nullptr);
}

TEST(Comparison, SeedsThatChangeNothingAreOne) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(run_of("easy", seed, 100));
    runs.push_back(run_of("mebf", seed, 90));
  }
  const Comparison comparison = compare(runs, 0);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("they count as one")));
  const Difference* row = row_of(comparison, "mean_turnaround_s", 1);
  EXPECT_EQ(row->pairs.difference, -10);
  EXPECT_TRUE(std::isnan(row->p));
  EXPECT_EQ(row->verdict, Difference::Verdict::open);
}

TEST(Comparison, WithoutASeedInCommonThereIsNothingToSay) {
  const std::vector<RunPage> runs{run_of("easy", 1, 100), run_of("mebf", 2, 90)};
  const Comparison comparison = compare(runs, 0);
  EXPECT_TRUE(comparison.rows.empty());
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("no seed in common")));
  EXPECT_EQ(main_figure(comparison), std::nullopt);
}

// How a run with jobs differs from others.
struct Log {
  std::uint64_t seed = 1;
  double faster_s = 0;   // less wait for all jobs of user 1
  std::uint64_t of = 1;  // of other numbers: another log
  int later_s = 0;       // all jobs come so much later
};

RunPage run_with_jobs(const char* policy, const Log& log) {
  RunPage run = run_of(policy, log.seed, 0);
  run.path = fs::path(testing::TempDir()) / fmt::format("{}-{}-{}", policy, log.seed, log.of);
  fs::create_directories(run.path);
  std::ofstream file(run.path / "jobs.csv");
  file << kJobsHead;
  // What seeds of one log change is small.
  Draws draws(log.of, Stream::test, 0), noise(log.seed, Stream::test, 1);
  double sum = 0;
  constexpr int kJobs = 4000;
  for (int job = 1; job <= kJobs; ++job) {
    const int user = job % 2 + 1, size = job % 4 == 0 ? 32 : 1, ran = job % 4 == 0 ? 7200 : 30;
    const auto wait = static_cast<std::int64_t>(
        std::round(draws.uniform(100, 200) + noise.uniform(0, 2) - (user == 1 ? log.faster_s : 0)));
    const std::int64_t submit = 10 * job + log.later_s + static_cast<std::int64_t>(log.of * log.of),
                       start = submit + wait;
    file << fmt::format("{},log,rigid,{},{},90000,COMPLETED_SUCCESSFULLY,{},{},{},{},{},1,1,x,{}\n",
                        job, submit, size, start, start + ran, wait, wait + ran, user, ran);
    sum += static_cast<double>(wait + ran);
  }
  run.summary.jobs = kJobs;
  run.summary.nodes = 64;
  run.summary.mean_turnaround_s = sum / kJobs;
  run.summary.mean_wait_s = 0;  // not what the jobs say, which are believed
  return run;
}

TEST(Comparison, JobsOfOneLogArePaired) {
  std::vector<RunPage> runs{run_with_jobs("easy", {}), run_with_jobs("mebf", {.faster_s = 50})};
  const Comparison comparison = compare(runs, 0);
  const Difference* row = row_of(comparison, "mean_wait_s", 1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->pairs.pairs, 4000u);
  EXPECT_NEAR(row->pairs.difference, -25, 1);
  EXPECT_LT(row->pairs.difference_95.low, -25);
  EXPECT_LT(row->pairs.difference_95.high, 0);
  EXPECT_EQ(row->verdict, Difference::Verdict::better);
  EXPECT_THAT(comparison.method, HasSubstr("bootstrap"));
  // Of others nothing is known but the values.
  EXPECT_TRUE(std::isnan(row_of(comparison, "makespan_s", 1)->pairs.p));

  ASSERT_EQ(comparison.users.size(), 2u);
  EXPECT_EQ(comparison.users[0].part, "1");
  EXPECT_EQ(comparison.users[0].jobs, 2000u);
  EXPECT_NEAR(comparison.users[0].total_s, -2000 * 50, 2000);
  EXPECT_EQ(comparison.users[1].total_s, 0);
  ASSERT_EQ(comparison.classes.size(), 2u);
  EXPECT_EQ(comparison.classes[0].part, "1 node, ≤ 1 min");
  EXPECT_EQ(comparison.classes[0].jobs, 3000u);
  EXPECT_EQ(comparison.classes[1].part, "> 16 nodes, > 1 min");

  const std::vector<std::string> names{"easy", "mebf"};
  const std::string text = comparison_text(comparison, names);
  EXPECT_THAT(text, HasSubstr("Against easy. One log: jobs paired by number (up to 4000)"));
  EXPECT_THAT(text,
              HasSubstr("mebf: users who gain: 1, who lose: 0 (clearly: 1 and 0); not shown: 1."));
  EXPECT_THAT(comparison_json(comparison, names), HasSubstr("\"figure\":\"mean_wait_s\""));
  EXPECT_THAT(comparison_csv(comparison, names), HasSubstr("user,mebf,easy,1,mean_wait_s,s,2000,"));
}

// Seeds that change who adapts, or what resizes cost: one log, though each has figures of its own.
TEST(Comparison, SeedsOfOneLogAreNoSample) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(run_with_jobs("easy", {.seed = seed}));
    runs.push_back(run_with_jobs("mebf", {.seed = seed, .faster_s = 50}));
    runs.back().summary.makespan_s = 3600;
  }
  const Comparison comparison = compare(runs, 0);
  const Difference* row = row_of(comparison, "mean_wait_s", 1);
  EXPECT_EQ(row->pairs.pairs, 4000u);
  EXPECT_NEAR(row->pairs.difference, -25, 1);
  EXPECT_EQ(row->verdict, Difference::Verdict::better);
  EXPECT_THAT(
      comparison.notes,
      Contains(HasSubstr("mebf: all 3 seeds have the same log, and say nothing of another")));
  EXPECT_THAT(comparison.method, HasSubstr("One log: jobs paired by number (up to 4000)"));
  EXPECT_THAT(comparison.method, testing::Not(HasSubstr("Student")));
  // The mean of the seeds, and in how many of them it is so: no more.
  const Difference* makespan = row_of(comparison, "makespan_s", 1);
  EXPECT_EQ(makespan->pairs.pairs, 3u);
  EXPECT_TRUE(std::isnan(makespan->pairs.p));
  EXPECT_TRUE(std::isnan(makespan->pairs.difference_95.low));
  EXPECT_EQ(makespan->verdict, Difference::Verdict::open);
  // Parts are of all runs.
  ASSERT_EQ(comparison.users.size(), 2u);
  EXPECT_EQ(comparison.users[0].jobs, 6000u);
  EXPECT_NEAR(comparison.users[0].total_s, -6000 * 50, 6000);
}

// As with --feedback: the jobs come at other times in each run.
TEST(Comparison, SeedsOfOneLogThatUsersMoveAreNoSample) {
  std::vector<RunPage> runs;
  for (const int seed : {1, 2, 3}) {
    const auto its = static_cast<std::uint64_t>(seed);
    runs.push_back(run_with_jobs("easy", {.seed = its, .later_s = 100 * seed}));
    runs.push_back(run_with_jobs("mebf", {.seed = its, .faster_s = 50, .later_s = 100 * seed + 7}));
  }
  const Comparison comparison = compare(runs, 0);
  EXPECT_EQ(row_of(comparison, "mean_wait_s", 1)->pairs.pairs, 4000u);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("mebf: all 3 seeds have the same log")));
}

TEST(Comparison, WithoutFilesOfJobsNobodyKnowsHowSureItIs) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto load = static_cast<double>(100 * seed);
    runs.push_back(run_of("easy", seed, load));
    runs.push_back(run_of("mebf", seed, load - static_cast<double>(10 + seed)));
  }
  const Comparison comparison = compare(runs, 0);
  const Difference* row = row_of(comparison, "mean_turnaround_s", 1);
  EXPECT_NEAR(row->pairs.difference, -12, 1e-9);
  EXPECT_EQ(row->pairs.agree, 3u);
  EXPECT_TRUE(std::isnan(row->pairs.p));
  EXPECT_TRUE(std::isnan(row->pairs.difference_95.low));
  EXPECT_EQ(row->verdict, Difference::Verdict::open);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("nor how sure a difference is")));
  EXPECT_THAT(comparison.method, HasSubstr("Nothing is paired"));
}

TEST(Comparison, WhatIsTheSameInAllRunsIsNotCorrectedFor) {
  std::vector<RunPage> runs, others;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto load = static_cast<double>(100 * seed);
    for (std::vector<RunPage>* its : {&runs, &others}) {
      its->push_back(run_of_log("easy", seed, load));
      its->push_back(run_of_log("mebf", seed, load - static_cast<double>(10 + seed)));
    }
    runs.push_back(run_of_log("twin", seed, load));
  }
  const Comparison comparison = compare(runs, 0);
  const Difference* twin = row_of(comparison, "mean_turnaround_s", 2);
  EXPECT_EQ(twin->verdict, Difference::Verdict::same);
  EXPECT_EQ(word(twin->verdict), "same");
  EXPECT_TRUE(std::isnan(twin->p));
  EXPECT_THAT(comparison.notes,
              Contains("twin: its figures are the same as those of easy in all runs."));
  EXPECT_EQ(effect_word(comparison.users.back().turnaround), "same");
  const Comparison without = compare(others, 0);
  EXPECT_EQ(comparison.made, without.made);
  EXPECT_EQ(row_of(comparison, "mean_turnaround_s", 1)->p,
            row_of(without, "mean_turnaround_s", 1)->p);
}

TEST(Comparison, OneLogWithTheSameResultsSaysSo) {
  const std::vector<RunPage> runs{run_with_jobs("easy", {}), run_with_jobs("twin", {})};
  const Comparison comparison = compare(runs, 0);
  EXPECT_EQ(row_of(comparison, "mean_wait_s", 1)->verdict, Difference::Verdict::same);
  EXPECT_EQ(comparison.made, 0u);
  EXPECT_THAT(comparison.method,
              HasSubstr("jobs paired by number (up to 4000), which fared the same in all runs."));
}

TEST(Comparison, SeedsWithLogsOfTheirOwnAreASample) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(run_with_jobs("easy", {.seed = seed, .of = seed}));
    runs.push_back(run_with_jobs("mebf", {.seed = seed, .faster_s = 50, .of = seed}));
  }
  const Comparison comparison = compare(runs, 0);
  EXPECT_EQ(row_of(comparison, "mean_turnaround_s", 1)->pairs.pairs, 3u);
  EXPECT_TRUE(comparison.notes.empty());
  EXPECT_THAT(comparison.method, HasSubstr("Paired by seed (up to 3)"));
}

TEST(Comparison, OtherJobsAreNotPairedByTheirSeed) {
  std::vector<RunPage> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(run_with_jobs("easy", {.seed = seed, .of = seed}));
    RunPage other = run_with_jobs("other", {.seed = seed, .of = seed + 10});
    // As if of 8,000 jobs.
    std::ifstream file(other.path / "jobs.csv");
    std::string all, line;
    for (int number = 0; std::getline(file, line); ++number) {
      all += (number == 0 ? "" : fmt::format("{}", 2 * number)) +
             line.substr(number == 0 ? 0 : line.find(',')) + '\n';
    }
    file.close();
    std::ofstream(other.path / "jobs.csv") << all;
    runs.push_back(other);
  }
  const Comparison comparison = compare(runs, 0);
  const Difference* row = row_of(comparison, "mean_turnaround_s", 1);
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(std::isfinite(row->pairs.difference));
  EXPECT_EQ(row->pairs.pairs, 0u);
  EXPECT_TRUE(std::isnan(row->p));
  EXPECT_EQ(row->verdict, Difference::Verdict::open);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("other: it had other jobs than easy")));
  EXPECT_TRUE(comparison.users.empty());
  EXPECT_THAT(comparison.method, HasSubstr("Nothing is paired"));
}

TEST(Comparison, JobsThatComeAtOtherTimesAreTold) {
  const std::vector<RunPage> runs{run_with_jobs("easy", {}), run_with_jobs("mebf", {.later_s = 5})};
  const Comparison comparison = compare(runs, 0);
  EXPECT_THAT(comparison.notes,
              Contains(HasSubstr("mebf: its jobs came at other times than those of easy")));
  EXPECT_EQ(row_of(comparison, "mean_wait_s", 1)->pairs.pairs, 4000u);
}

// What is told of several is told once.
TEST(Comparison, RemarksNameAllWhomTheyAreOf) {
  std::vector<RunPage> runs{run_of("easy", 1, 100)};
  for (const char* policy : {"a", "b", "c", "d", "e", "f", "g"})
    runs.push_back(run_of(policy, 2, 90));
  const Comparison comparison = compare(runs, 0);
  EXPECT_THAT(comparison.notes,
              Contains("a, b, c, d, e and 2 more: it has no seed in common with easy."));
}

TEST(Comparison, SeveralBaselinesAreCorrectedTogether) {
  std::vector<RunPage> a, b;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto load = static_cast<double>(100 * seed);
    for (std::vector<RunPage>* runs : {&a, &b}) {
      runs->push_back(run_of_log("easy", seed, load));
      runs->push_back(run_of_log("mebf", seed, load - static_cast<double>(10 + seed)));
    }
  }
  const Comparison alone = compare(a, 0);
  const std::vector<Compared> both{{a, 0}, {b, 0}};
  const std::vector<Comparison> together = compare(both);
  ASSERT_EQ(together.size(), 2u);
  EXPECT_EQ(together[0].made, 2 * alone.made);
  EXPECT_EQ(together[1].made, together[0].made);
  const Difference *one = row_of(alone, "mean_turnaround_s", 1),
                   *of_two = row_of(together[1], "mean_turnaround_s", 1);
  EXPECT_EQ(one->pairs.p, of_two->pairs.p);
  EXPECT_GT(of_two->p, one->p);
  EXPECT_THAT(together[0].method, HasSubstr("(Holm), those against all baselines."));
}

TEST(Comparison, JobsOutsideOfWhatWasMeasuredDoNotCount) {
  std::vector<RunPage> runs{run_with_jobs("easy", {}), run_with_jobs("mebf", {.faster_s = 50})};
  for (RunPage& run : runs) {
    run.summary.measured_from_s = 1000;
    run.summary.measured_until_s = 3000;
  }
  const Comparison comparison = compare(runs, 0);
  EXPECT_EQ(row_of(comparison, "mean_wait_s", 1)->pairs.pairs, 200u);
  EXPECT_EQ(comparison.users[0].jobs, 100u);
}

}  // namespace
}  // namespace ductile
