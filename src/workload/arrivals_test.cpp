#include "workload/arrivals.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "support/goodness_of_fit.hpp"

namespace ductile {
namespace {

// By the rectangles of its density.
double slow_gamma_share(double x, double shape, double scale) {
  constexpr int kSteps = 100'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double z = x * (i + 0.5) / kSteps / scale;
    sum += std::exp((shape - 1) * std::log(z) - z - std::lgamma(shape));
  }
  return sum * x / kSteps / scale;
}

TEST(GammaShare, IsTheAreaUnderTheDensity) {
  for (const double x : {0.5, 10.5, 30.0, 58.5}) {
    EXPECT_NEAR(gamma_share(x, 8.1737, 3.9631), slow_gamma_share(x, 8.1737, 3.9631), 1e-7) << x;
  }
  EXPECT_EQ(gamma_share(0, 3, 1), 0);
  EXPECT_EQ(gamma_share(-1, 3, 1), 0);
  EXPECT_NEAR(gamma_share(12, 639.1, 0.0156), 1, 1e-6);
}

TEST(DailyCycle, HasTheMeanOne) {
  for (const DailyCycle& cycle :
       {DailyCycle::even(), DailyCycle::halves(0.8, 27'000), DailyCycle::gamma(8.1737, 3.9631)}) {
    double sum = 0;
    for (std::size_t i = 0; i < DailyCycle::kBuckets; ++i) sum += cycle.weight(i);
    EXPECT_NEAR(sum, 48, 1e-9);
    EXPECT_NEAR(cycle.time_of(5 * 86'400.0), 5 * 86'400.0, 1e-6);
  }
}

TEST(DailyCycle, GammaIsThatOfTheModel) {
  const DailyCycle cycle = DailyCycle::gamma(8.1737, 3.9631);
  // The most around half past two in the afternoon, the mode of the gamma distribution: 28.4
  // half-hours; the least where its day begins, at five in the morning.
  std::size_t most = 0, least = 0;
  for (std::size_t i = 0; i < 48; ++i) {
    if (cycle.weight(i) > cycle.weight(most)) most = i;
    if (cycle.weight(i) < cycle.weight(least)) least = i;
  }
  EXPECT_EQ(most, 27u);
  EXPECT_EQ(least, 10u);
  const double all = gamma_share(58.5, 8.1737, 3.9631) - gamma_share(10.5, 8.1737, 3.9631);
  const double bucket_10 = gamma_share(11.5, 8.1737, 3.9631) - gamma_share(10.5, 8.1737, 3.9631);
  EXPECT_NEAR(cycle.weight(10), 48 * bucket_10 / all, 1e-12);
}

// The time grows as slowly as the rate is high.
TEST(DailyCycle, TimeIsTheInverseOfWhatHasCome) {
  const DailyCycle cycle = DailyCycle::halves(0.75, 8 * 3600.0);
  EXPECT_EQ(cycle.time_of(0), 0);
  EXPECT_NEAR(cycle.time_of(0.5 * 3600), 3600, 1e-9);                    // at night, half the rate
  EXPECT_NEAR(cycle.time_of(4 * 3600 + 1.5 * 60), 8 * 3600 + 60, 1e-9);  // and three halves of it
  double amount = 0;
  for (int second = 0; second < 3 * 86'400; second += 600) {
    EXPECT_NEAR(cycle.time_of(amount), second, 1e-5);
    amount += 600 * cycle.weight(static_cast<std::size_t>(second % 86'400) / 1800);
  }
}

std::vector<WorkloadJob> equal_jobs(std::size_t count) {
  std::vector<WorkloadJob> jobs(count);
  for (WorkloadJob& job : jobs) {
    job.nodes = 4;
    job.runtime = whole_seconds(1000);
  }
  return jobs;
}

std::vector<double> exponential_gaps(std::size_t count) {
  std::vector<double> gaps(count);
  Draws draws(7, Stream::test, 0);
  for (double& gap : gaps) gap = draws.exponential(1);
  return gaps;
}

double load_of(const std::vector<WorkloadJob>& jobs, Nodes nodes) {
  return offered_load(jobs, nodes, to_seconds(jobs.back().submit - jobs.front().submit));
}

TEST(SubmitAt, KeepsTheTimesOrHitsTheLoad) {
  std::vector<WorkloadJob> jobs = equal_jobs(3);
  submit_at(jobs, {10, 20.9, 1010});
  EXPECT_EQ(jobs[1].submit, Time{whole_seconds(20)});
  EXPECT_EQ(jobs[2].submit, Time{whole_seconds(1010)});
  submit_at(jobs, {10, 20.9, 1010}, 10, 0.6);  // 12,000 node-s in 2,000 s
  EXPECT_EQ(jobs[0].submit, Time{whole_seconds(20)});
  EXPECT_EQ(jobs[1].submit, Time{whole_seconds(41)});
  EXPECT_EQ(jobs[2].submit, Time{whole_seconds(2020)});
  EXPECT_THROW(submit_at(jobs, {10, 20, 1e13}), InputError);
}

// Half-hours have the jobs that they should: 200,000 jobs, chi-square.
TEST(SubmitByPoisson, FollowsTheDayAndHitsTheLoad) {
  constexpr std::size_t kJobs = 200'000;
  const DailyCycle cycle = DailyCycle::gamma(8.1737, 3.9631);
  std::vector<WorkloadJob> jobs = equal_jobs(kJobs);
  submit_by_poisson(jobs, exponential_gaps(kJobs), cycle, 100, 0.8);
  EXPECT_NEAR(load_of(jobs, 100), 0.8, 1e-6);
  // Only whole days: the last one is cut.
  const auto days =
      static_cast<std::int64_t>(to_seconds(jobs.back().submit.time_since_epoch()) / 86'400);
  std::vector<double> counts(48), shares(48);
  for (const WorkloadJob& job : jobs) {
    const auto second = static_cast<std::int64_t>(to_seconds(job.submit.time_since_epoch()));
    if (second < days * 86'400) ++counts[static_cast<std::size_t>(second % 86'400 / 1800)];
  }
  for (std::size_t i = 0; i < 48; ++i) shares[i] = cycle.weight(i) / 48;
  expect_shares(counts, shares);
}

TEST(SubmitByPoisson, AllLoadsAreHit) {
  for (const double load : {0.01, 0.5, 1.0, 7.0}) {
    std::vector<WorkloadJob> jobs = equal_jobs(1000);
    submit_by_poisson(jobs, exponential_gaps(1000), DailyCycle::halves(0.9, 0), 10, load);
    EXPECT_NEAR(load_of(jobs, 10) / load, 1, 1e-4) << load;
    EXPECT_TRUE(std::ranges::is_sorted(jobs, {}, &WorkloadJob::submit));
  }
  std::vector<WorkloadJob> none, one = equal_jobs(1);
  submit_by_poisson(none, {}, DailyCycle::even(), 10, 1);
  submit_by_poisson(one, {5}, DailyCycle::even(), 10, 1);
  EXPECT_EQ(one.front().submit, Time{whole_seconds(5)});
}

TEST(SolveForLoad, FindsItOrTheNearerEnd) {
  const auto falls = [](double x) { return 3 / x; };
  EXPECT_NEAR(solve_for_load(falls, 0.5, 0.01, 100), 6, 1e-5);
  EXPECT_NEAR(solve_for_load(falls, 0.0001, 0.01, 100), 100, 1e-5);
  EXPECT_NEAR(solve_for_load(falls, 1e9, 0.01, 100), 0.01, 1e-5);
}

}  // namespace
}  // namespace ductile
