// The intervals of comparisons hold what is true as often as they say: 1,000 experiments of each
// kind, whose true difference is known.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "metrics/statistics.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

struct Pairs {
  std::vector<double> baseline{}, values{};
};

struct Coverage {
  std::uint64_t experiments = 0, difference = 0, ratio = 0;
};

Coverage coverage_of(const std::function<Pairs(Draws&)>& make,
                     const std::function<PairedComparison(const Pairs&, std::uint64_t)>& compare,
                     double difference, double ratio) {
  const auto holds = [](const Interval95& its, double truth) {
    return its.low <= truth && truth <= its.high ? 1u : 0u;
  };
  Coverage coverage;
  coverage.experiments = testing::for_seeds(1000, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 7);
    const PairedComparison its = compare(make(draws), seed);
    coverage.difference += holds(its.difference_95, difference);
    coverage.ratio += holds(its.ratio_95, ratio);
  });
  return coverage;
}

void expect_held(const Coverage& its) {
  if (its.experiments == 0) return;  // too few to tell
  EXPECT_GE(its.difference, its.experiments * 93 / 100);
  EXPECT_LE(its.difference, its.experiments * 97 / 100);
  EXPECT_GE(its.ratio, its.experiments * 93 / 100);
  EXPECT_LE(its.ratio, its.experiments * 97 / 100);
  std::cout << "held by " << its.difference << " intervals of the difference and " << its.ratio
            << " of the ratio of " << its.experiments << '\n';
}

PairedComparison of_seeds(const Pairs& its, std::uint64_t) {
  return compare_pairs(its.baseline, its.values);
}
// Fewer replicates than are made for one log: those of 1,000 take their time.
PairedComparison of_a_log(const Pairs& its, std::uint64_t seed) {
  return compare_series(its.baseline, its.values, seed, 999);
}

TEST(Coverage, TenSeedsThatAreNormal) {
  expect_held(coverage_of(
      [](Draws& draws) {
        Pairs pairs;
        for (int seed = 0; seed < 10; ++seed) {
          const double load = 100 + 10 * draws.normal();
          pairs.baseline.push_back(load + 4 * draws.normal());
          pairs.values.push_back(0.9 * load + 4 * draws.normal());
        }
        return pairs;
      },
      of_seeds, -10, 0.9));
}

TEST(Coverage, TenSeedsThatAreSkewed) {
  expect_held(coverage_of(
      [](Draws& draws) {
        // Mean waits of loads that differ: lognormal, and so is what a policy makes of them.
        Pairs pairs;
        for (int seed = 0; seed < 10; ++seed) {
          const double load = 100 * std::exp(0.5 * draws.normal() - 0.125);
          pairs.baseline.push_back(load * std::exp(0.2 * draws.normal() - 0.02));
          pairs.values.push_back(0.8 * load * std::exp(0.2 * draws.normal() - 0.02));
        }
        return pairs;
      },
      of_seeds, -20, 0.8));
}

// Waits of one log: skewed, alike for neighbours, and alike in both runs, but not the same.
Pairs waits(Draws& draws, int jobs, double like) {
  constexpr double kSkew = 0.5, kOwn = 0.4;
  const double noise = std::sqrt(1 - like * like);
  double common = 0, first = 0, second = 0;
  Pairs pairs;
  for (int job = -500; job < jobs; ++job) {
    common = like * common + noise * draws.normal();
    first = like * first + noise * draws.normal();
    second = like * second + noise * draws.normal();
    if (job < 0) continue;  // not yet as in the long run
    const double load = 100 * std::exp(kSkew * common - kSkew * kSkew / 2);
    pairs.baseline.push_back(load * std::exp(kOwn * first - kOwn * kOwn / 2));
    pairs.values.push_back(0.9 * load * std::exp(kOwn * second - kOwn * kOwn / 2));
  }
  return pairs;
}

TEST(Coverage, OneLogWhoseJobsDependOnThoseBefore) {
  for (const double like : {0.8, 0.9}) {
    SCOPED_TRACE(like);
    expect_held(
        coverage_of([&](Draws& draws) { return waits(draws, 3000, like); }, of_a_log, -10, 0.9));
  }
}

// One server, exponential times (M/M/1): the second run serves a tenth faster. The waits of the
// queue are known (Pollaczek and Khinchine), and those of one log hang together over hundreds of
// jobs.
TEST(Coverage, OneLogOfAQueue) {
  const auto wait = [](double load) { return load * load / (1 - load); };
  constexpr double kLoad = 0.5, kFaster = 0.9;
  expect_held(coverage_of(
      [&](Draws& draws) {
        Pairs pairs;
        double first = 0, second = 0;
        for (int job = -500; job < 5000; ++job) {
          if (job >= 0) {
            pairs.baseline.push_back(first);
            pairs.values.push_back(second);
          }
          const double service = draws.exponential(kLoad), gap = draws.exponential(1);
          first = std::max(0.0, first + service - gap);
          second = std::max(0.0, second + kFaster * service - gap);
        }
        return pairs;
      },
      of_a_log, wait(kLoad * kFaster) - wait(kLoad), wait(kLoad * kFaster) / wait(kLoad)));
}

}  // namespace
}  // namespace ductile
