// The naive implementations and the bare EASY loop against small examples worked out by hand and
// against each other: EASY twice from its definition, once from a profile, once in a hurry.

#include "support/naive_backfill.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../bench/bare_easy.hpp"
#include "base/random.hpp"
#include "support/random_jobs.hpp"

namespace ductile {
namespace {

using naive::JobTimes;
using naive::kUnlimited;
using testing::random_jobs;

Time at(std::int64_t s) { return Time{whole_seconds(s)}; }

WorkloadJob job(std::int64_t submit_s, Nodes nodes, std::int64_t walltime_s, std::int64_t run_s) {
  WorkloadJob job;
  job.submit = at(submit_s);
  job.nodes = nodes;
  job.walltime = whole_seconds(walltime_s);
  job.runtime = whole_seconds(run_s);
  return job;
}

std::vector<std::int64_t> starts_s(const std::vector<JobTimes>& runs) {
  std::vector<std::int64_t> starts;
  for (const JobTimes& run : runs)
    starts.push_back(run.start.time_since_epoch() / whole_seconds(1));
  return starts;
}

using Starts = std::vector<std::int64_t>;

TEST(NaiveBackfill, AShortJobGoesAheadIfItEndsByTheShadowTime) {
  const std::vector<WorkloadJob> jobs = {job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 8, 8)};
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4)), (Starts{0, 10, 15}));
  EXPECT_EQ(starts_s(naive::easy(jobs, 4)), (Starts{0, 10, 2}));
  EXPECT_EQ(starts_s(naive::backfill(jobs, 4, kUnlimited)), (Starts{0, 10, 2}));
}

TEST(NaiveBackfill, ALongJobGoesAheadOnExtraNodesOnly) {
  const std::vector<WorkloadJob> jobs = {job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 90, 90),
                                         job(3, 1, 90, 90)};
  EXPECT_EQ(starts_s(naive::easy(jobs, 5)), (Starts{0, 10, 2, 15}));
}

TEST(NaiveBackfill, ConservativeProtectsTheSecondToo) {
  // The last job delays the third, which EASY does not mind.
  const std::vector<WorkloadJob> jobs = {job(0, 2, 10, 10), job(1, 3, 10, 10), job(2, 4, 10, 10),
                                         job(3, 1, 90, 90)};
  EXPECT_EQ(starts_s(naive::easy(jobs, 4)), (Starts{0, 10, 93, 3}));
  EXPECT_EQ(starts_s(naive::backfill(jobs, 4, 1)), (Starts{0, 10, 93, 3}));
  EXPECT_EQ(starts_s(naive::backfill(jobs, 4, 2)), (Starts{0, 10, 20, 30}));
  EXPECT_EQ(starts_s(naive::backfill(jobs, 4, kUnlimited)), (Starts{0, 10, 20, 30}));
}

TEST(NaiveBackfill, EndsComeBeforeSubmissionsOfTheSameInstant) {
  const std::vector<WorkloadJob> jobs = {job(0, 4, 10, 10), job(10, 4, 5, 5), job(15, 4, 5, 5)};
  EXPECT_EQ(starts_s(naive::easy(jobs, 4)), (Starts{0, 10, 15}));
}

TEST(NaiveBackfill, OverrunningJobsAreKilledOrTheirWalltimeIsRaised) {
  const std::vector<WorkloadJob> jobs = {job(0, 4, 5, 10), job(1, 4, 5, 5)};
  EXPECT_EQ(naive::easy(jobs, 4), (std::vector<JobTimes>{{at(0), at(10)}, {at(10), at(15)}}));
  EXPECT_EQ(naive::easy(jobs, 4, {.kill = true}),
            (std::vector<JobTimes>{{at(0), at(5)}, {at(5), at(10)}}));
}

TEST(NaiveBackfill, QueueOrders) {
  const std::vector<WorkloadJob> jobs = {job(0, 4, 10, 10), job(1, 3, 20, 20), job(2, 4, 10, 10),
                                         job(3, 2, 30, 30), job(4, 3, 20, 20)};
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4)), (Starts{0, 10, 30, 40, 70}));
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4, {.before = naive::sjf_order})),
            (Starts{0, 20, 10, 60, 40}));
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4, {.before = naive::ljf_order})),
            (Starts{0, 40, 80, 10, 60}));
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4, {.before = naive::smallest_order})),
            (Starts{0, 40, 80, 10, 60}));
  EXPECT_EQ(starts_s(naive::fcfs(jobs, 4, {.before = naive::largest_order})),
            (Starts{0, 20, 10, 60, 40}));
}

TEST(NaiveBackfill, AJobLargerThanTheMachineIsRefused) {
  const std::vector<WorkloadJob> jobs = {job(0, 5, 10, 10)};
  EXPECT_THROW(naive::easy(jobs, 4), std::invalid_argument);
  EXPECT_THROW(bench::bare_easy(jobs, 4), std::invalid_argument);
}

/// Nobody starts before being submitted, nor are more nodes used than there are.
void check_valid(const std::vector<WorkloadJob>& jobs, const std::vector<JobTimes>& runs,
                 Nodes nodes) {
  std::map<Time, std::int64_t> change;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_GE(runs[i].start, jobs[i].submit);
    change[runs[i].start] += jobs[i].nodes;
    change[runs[i].end] -= jobs[i].nodes;
  }
  std::int64_t used = 0;
  for (const auto& [time, nodes_more] : change) {
    used += nodes_more;
    ASSERT_LE(used, nodes);
  }
}

class RandomWorkloads : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int kSeeds = 40;
  std::vector<WorkloadJob> jobs(std::uint64_t seed) const {
    return random_jobs(seed, 250, nodes(seed), GetParam());
  }
  static Nodes nodes(std::uint64_t seed) { return static_cast<Nodes>(1 + mixed(seed) % 40); }
};

TEST_P(RandomWorkloads, EasyIsOneReservation) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const bool kill : {false, true}) {
      for (const auto& before : {naive::fcfs_order, naive::sjf_order, naive::ljf_order,
                                 naive::smallest_order, naive::largest_order}) {
        const auto all = jobs(seed);
        const auto runs = naive::easy(all, nodes(seed), {before, kill});
        ASSERT_EQ(runs, naive::backfill(all, nodes(seed), 1, {before, kill})) << "seed " << seed;
        check_valid(all, runs, nodes(seed));
      }
    }
  }
}

TEST_P(RandomWorkloads, AllDepthsGiveValidSchedules) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto all = jobs(seed);
    for (const std::size_t depth : {std::size_t{0}, std::size_t{3}, kUnlimited}) {
      check_valid(all, naive::backfill(all, nodes(seed), depth), nodes(seed));
    }
  }
}

TEST_P(RandomWorkloads, TheBareLoopIsEasy) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto all = jobs(seed);
    const auto runs = naive::easy(all, nodes(seed));
    std::vector<Time> starts(all.size());
    const bench::BareEasyResult result =
        bench::bare_easy(all, nodes(seed), [&](std::size_t i, Time now) { starts[i] = now; });
    Duration wait{};
    Time last_end{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(starts[i], runs[i].start) << "seed " << seed << ", job " << i + 1;
      wait += runs[i].start - all[i].submit;
      last_end = std::max(last_end, runs[i].end);
    }
    EXPECT_EQ(result.jobs, all.size());
    EXPECT_DOUBLE_EQ(result.total_wait_s, to_seconds(wait));
    EXPECT_EQ(result.last_end, last_end);
  }
}

INSTANTIATE_TEST_SUITE_P(Grain, RandomWorkloads, ::testing::Values(1, 1'000'000, 10'000'000),
                         [](const auto& grain) { return std::to_string(grain.param) + "us"; });

/// Long queues and many running jobs: several blocks and groups of the bare loop's structures.
TEST(BareEasy, DeepQueues) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    auto jobs = random_jobs(seed, 6'000, 700, seed == 0 ? 1'000'000 : 1);
    for (WorkloadJob& job : jobs) {
      job.submit = Time{job.submit.time_since_epoch() / 400};
      if (job.name % 50 != 0) job.nodes = 1 + job.nodes % 4;
    }
    const auto runs = naive::easy(jobs, 700);
    bench::bare_easy(jobs, 700, [&](std::size_t i, Time now) {
      ASSERT_EQ(now, runs[i].start) << "seed " << seed << ", job " << i + 1;
    });
  }
}

}  // namespace
}  // namespace ductile
