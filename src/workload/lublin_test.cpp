#include "workload/lublin.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/goodness_of_fit.hpp"
#include "workload/arrivals.hpp"
#include "workload/info.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Types = LublinModel::Types;

// The share of x of the two-stage uniform distribution up to a value.
double share_of_x(const LublinTable& table, double x) {
  const auto uniform = [&](double low, double high) {
    return std::clamp((x - low) / (high - low), 0.0, 1.0);
  };
  return table.u_prob * uniform(table.u_low, table.u_med) +
         (1 - table.u_prob) * uniform(table.u_med, table.u_hi);
}

// The shares of sizes 1 to 128, by the formulas.
std::vector<double> shares_of_sizes(const LublinTable& table) {
  std::vector<double> shares(128);
  shares[0] = table.p_serial;
  for (int power = 1; power <= 7; ++power) {
    shares[(1u << power) - 1] +=
        table.p_power_of_two * (share_of_x(table, power + 0.5) - share_of_x(table, power - 0.5));
  }
  const double rest = 1 - table.p_serial - table.p_power_of_two;
  for (int size = 2; size <= 128; ++size) {
    shares[static_cast<std::size_t>(size) - 1] += rest * (share_of_x(table, std::log2(size + 0.5)) -
                                                          share_of_x(table, std::log2(size - 0.5)));
  }
  return shares;
}

// The share of run times of whole seconds up to one, of jobs of a size.
double share_of_runtimes(const LublinTable& table, double size, double runtime_s) {
  const double p = std::clamp(table.pa * size + table.pb, 0.0, 1.0);
  const auto share = [&](double x) {
    return p * gamma_share(x, table.a1, table.b1) + (1 - p) * gamma_share(x, table.a2, table.b2);
  };
  return std::min(share(std::log(runtime_s + 1)) / share(12), 1.0);
}

std::vector<WorkloadJob> jobs_of(const Workload& workload, std::uint32_t group) {
  std::vector<WorkloadJob> jobs;
  for (const WorkloadJob& job : workload.jobs) {
    if (job.group == group) jobs.push_back(job);
  }
  return jobs;
}

// Sizes by chi-square, run times of single sizes by Kolmogorov and Smirnov.
void expect_the_model(const std::vector<WorkloadJob>& jobs, const LublinTable& table) {
  ASSERT_GT(jobs.size(), 5000u);
  std::vector<double> counts(128);
  std::map<Nodes, std::vector<double>> runtimes;
  for (const WorkloadJob& job : jobs) {
    ++counts.at(job.nodes - 1);
    runtimes[job.nodes].push_back(to_seconds(job.runtime));
  }
  expect_shares(counts, shares_of_sizes(table));
  for (const Nodes size : {1u, 4u, 32u}) {
    const std::vector<double>& its = runtimes[size];
    ASSERT_GT(its.size(), 200u);
    EXPECT_LT(ks_distance(its, [&](double s) { return share_of_runtimes(table, size, s); }),
              ks_limit(its.size()))
        << size;
  }
}

TEST(Lublin, HasTheDistributionsOfThePaper) {
  expect_the_model(jobs_of(generate_lublin({.jobs = 40'000, .types = Types::one}, 3), 1),
                   kLublinOneType);
  const Workload both = generate_lublin({.jobs = 80'000}, 4);
  expect_the_model(jobs_of(both, 1), kLublinBatch);
  expect_the_model(jobs_of(both, 2), kLublinInteractive);
}

// What has come at the mean rate until a time: the other way round than DailyCycle::time_of.
double amount_until(const DailyCycle& cycle, double time_s) {
  const double day = std::floor(time_s / 86'400);
  double amount = day * 86'400, left = time_s - amount;
  for (std::size_t i = 0; left > 0; ++i, left -= 1800) {
    amount += cycle.weight(i) * std::min(left, 1800.0);
  }
  return amount;
}

// Gaps, before the day shapes them, are exponentials of gamma values up to 13. Whole seconds blur
// those of a few seconds: the distance is taken from 20 s on.
TEST(Lublin, HasTheArrivalsOfThePaper) {
  const Workload workload = generate_lublin({.jobs = 20'000, .types = Types::one}, 8);
  const LublinTable& table = kLublinOneType;
  const DailyCycle cycle = DailyCycle::gamma(table.a_num, table.b_num);
  std::vector<double> gaps;
  double last = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const double amount = amount_until(cycle, to_seconds(job.submit.time_since_epoch()));
    gaps.push_back(std::max(amount - last, 20.0));
    last = amount;
  }
  const auto share = [&](double x) {
    return gamma_share(x, table.a_arr * table.arar, table.b_arr);
  };
  EXPECT_LT(ks_distance(gaps, [&](double gap) { return share(std::log(gap)) / share(13); }),
            ks_limit(gaps.size()) + 0.005);
}

TEST(Lublin, LoadsAreHitBothWays) {
  for (const Types types : {Types::both, Types::one}) {
    for (const auto by : {LublinModel::LoadBy::gaps, LublinModel::LoadBy::barr}) {
      for (const double load : {0.3, 0.9}) {
        const Workload workload = generate_lublin(
            {.jobs = 3000, .nodes = 256, .types = types, .load = load, .load_by = by}, 2);
        EXPECT_NEAR(describe(workload, 256).offered_load.value() / load, 1, 1e-5);
        EXPECT_TRUE(std::ranges::is_sorted(workload.jobs, {}, &WorkloadJob::submit));
      }
    }
  }
}

// With gaps the day keeps its cycle: mornings are as quiet as the model has them.
TEST(Lublin, ALoadLeavesTheJobsAndTheDay) {
  const Workload model = generate_lublin({.jobs = 20'000, .types = Types::one}, 5);
  const Workload busy = generate_lublin({.jobs = 20'000, .types = Types::one, .load = 1.2}, 5);
  const auto share_of_mornings = [](const Workload& workload) {
    double early = 0;
    for (const WorkloadJob& job : workload.jobs) {
      const double hour = std::fmod(to_seconds(job.submit.time_since_epoch()), 86'400) / 3600;
      if (3 <= hour && hour < 9) ++early;
    }
    return early / 20'000;
  };
  const DailyCycle cycle = DailyCycle::gamma(kLublinOneType.a_num, kLublinOneType.b_num);
  double expected = 0;
  for (std::size_t i = 6; i < 18; ++i) expected += cycle.weight(i) / 48;
  EXPECT_NEAR(share_of_mornings(model), expected, 0.02);
  EXPECT_NEAR(share_of_mornings(busy), expected, 0.02);
  for (std::size_t i = 0; i < model.jobs.size(); ++i) {
    EXPECT_EQ(model.jobs[i].nodes, busy.jobs[i].nodes);
    EXPECT_EQ(model.jobs[i].runtime, busy.jobs[i].runtime);
  }
}

TEST(Lublin, MoreJobsBeginWithTheSame) {
  const Workload many = generate_lublin({.jobs = 1000}, 7), few = generate_lublin({.jobs = 100}, 7);
  EXPECT_TRUE(std::equal(few.jobs.begin(), few.jobs.end(), many.jobs.begin()));
  EXPECT_NE(generate_lublin({.jobs = 100}, 8).jobs, few.jobs);
}

TEST(Lublin, IsScaledToTheMachine) {
  const LublinTable same = scaled(kLublinBatch, {.nodes = 128});
  EXPECT_EQ(same.u_hi, 7);
  EXPECT_EQ(same.u_med, 5);
  const LublinTable large = scaled(kLublinOneType, {.nodes = 1024, .below = 3, .u_prob = 0.9});
  EXPECT_EQ(large.u_hi, 10);
  EXPECT_EQ(large.u_med, 7);
  EXPECT_EQ(large.u_low, 0.8);
  EXPECT_EQ(large.u_prob, 0.9);
  const LublinTable guests = scaled(kLublinInteractive, {.nodes = 1024});
  EXPECT_EQ(guests.u_hi, 8.5);
  EXPECT_EQ(guests.u_med, 6);
  for (const Nodes nodes : {1u, 2u, 3u, 8u, 100u, 5000u}) {
    const Workload workload = generate_lublin({.jobs = 5000, .nodes = nodes}, 1);
    const WorkloadInfo info = describe(workload, nodes);
    EXPECT_LE(info.size_nodes.max, nodes);
    EXPECT_GE(info.size_nodes.max, nodes / 2);
    EXPECT_GE(info.size_nodes.min, 1);
    EXPECT_GE(info.runtime_s.min, 1);
    EXPECT_LE(info.runtime_s.max, 162'754);  // exp(12)
    if (nodes >= 100) EXPECT_GT(info.power_of_two_share, 0.75);
  }
}

TEST(Lublin, SaysWhatIsWrong) {
  const auto message = [](const char* text, const char* expected) {
    EXPECT_THAT([&] { parse_model(text).generate(1); },
                ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message("lublin:load=x", "load: 'x' is not a number from 0.001 to 1000, or model");
  message("lublin:load=0", "load: '0' is not a number from 0.001 to 1000, or model");
  message("lublin:below=4", "below: '4' is not a number from 1.5 to 3.5, or auto");
  message("lublin:uprob=0.5", "uprob: '0.5' is not a number from 0.7 to 0.95, or auto");
  message("lublin:types=three", "use both, one");
  message("lublin:load=0.001,load_by=barr,jobs=200,types=one",
          "load: 0.001 is out of reach, the nearest is");
  EXPECT_THROW(generate_lublin({.jobs = 1ull << 32}, 1), InputError);
}

}  // namespace
}  // namespace ductile
