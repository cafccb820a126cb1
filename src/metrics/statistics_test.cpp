#include "metrics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

TEST(Statistics, QuantilesOfStudentsT) {
  EXPECT_DOUBLE_EQ(student_t_975(1), 12.7062);
  EXPECT_DOUBLE_EQ(student_t_975(9), 2.2622);
  EXPECT_DOUBLE_EQ(student_t_975(30), 2.0423);
  EXPECT_NEAR(student_t_975(31), 2.0395, 1e-4);
  EXPECT_NEAR(student_t_975(40), 2.0211, 1e-4);
  EXPECT_NEAR(student_t_975(120), 1.9799, 1e-4);
  EXPECT_NEAR(student_t_975(1'000'000), 1.95996, 1e-5);
}

TEST(Statistics, AMeanWithItsInterval) {
  const std::array<double, 5> values = {2, 4, 4, 4, 6};
  const MeanInterval interval = mean_interval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 4);
  // s = sqrt(8 / 4), t(4) = 2.7764
  EXPECT_NEAR(interval.half_width, 2.7764 * std::sqrt(2.0) / std::sqrt(5.0), 1e-12);
}

TEST(Statistics, OneValueHasNoInterval) {
  const std::array<double, 1> one = {3};
  EXPECT_DOUBLE_EQ(mean_interval(one).mean, 3);
  EXPECT_TRUE(std::isnan(mean_interval(one).half_width));
  EXPECT_TRUE(std::isnan(mean_interval({}).mean));
}

TEST(Statistics, EqualValuesHaveAnIntervalOfZero) {
  const std::array<double, 3> values = {7, 7, 7};
  EXPECT_EQ(mean_interval(values).half_width, 0);
}

TEST(Statistics, TheDistributionOfStudentsT) {
  EXPECT_NEAR(student_t_p(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(student_t_p(0, 5), 1, 1e-12);
  EXPECT_NEAR(student_t_p(3, 10), 0.013343655, 1e-8);
  EXPECT_NEAR(student_t_p(-3, 10), 0.013343655, 1e-8);
  EXPECT_NEAR(student_t_p(2, 1e6), 0.0455, 1e-4);
  for (const std::size_t degrees : {1, 2, 5, 9, 30, 100}) {
    EXPECT_NEAR(student_t_p(student_t_975(degrees), static_cast<double>(degrees)), 0.05, 1e-5);
  }
  EXPECT_EQ(student_t_p(std::numeric_limits<double>::infinity(), 3), 0);
}

// Hours of sleep that ten patients gained by two drugs: what Student (1908) showed his test with.
constexpr std::array kDextro{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
constexpr std::array kLaevo{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

TEST(Statistics, PairsAreComparedAsStudentDid) {
  const PairedComparison its = compare_pairs(kDextro, kLaevo);
  EXPECT_EQ(its.pairs, 10u);
  EXPECT_NEAR(its.baseline, 0.75, 1e-12);
  EXPECT_NEAR(its.difference, 1.58, 1e-12);
  EXPECT_NEAR(its.difference_95.low, 0.7001142, 1e-4);
  EXPECT_NEAR(its.difference_95.high, 2.4598858, 1e-4);
  EXPECT_NEAR(its.p, 0.002833, 1e-6);
  EXPECT_EQ(its.agree, 9u);
  // Its baseline may be 0.
  EXPECT_TRUE(std::isnan(its.ratio_95.low));
}

TEST(Statistics, ARatioMayBeOneWhereTheDifferenceMayBeNone) {
  std::size_t clear = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed, Stream::test, 0);
    std::vector<double> baseline, values;
    for (int i = 0; i < 8; ++i) {
      baseline.push_back(100 + 10 * draws.normal());
      values.push_back(0.9 * baseline.back() + 15 * draws.normal());
    }
    const PairedComparison its = compare_pairs(baseline, values);
    const bool differs = its.difference_95.low > 0 || its.difference_95.high < 0;
    EXPECT_EQ(differs, its.ratio_95.low > 1 || its.ratio_95.high < 1);
    EXPECT_EQ(differs, its.p < 0.05);
    EXPECT_LE(its.ratio_95.low, its.ratio);
    EXPECT_LE(its.ratio, its.ratio_95.high);
    clear += differs ? 1 : 0;
  }
  EXPECT_GT(clear, 20u);
  EXPECT_LT(clear, 180u);
}

TEST(Statistics, FewPairsSayLittle) {
  EXPECT_EQ(compare_pairs({}, {}).pairs, 0u);
  EXPECT_TRUE(std::isnan(compare_pairs({}, {}).difference));
  const std::array<double, 1> two{2}, three{3};
  const PairedComparison one = compare_pairs(two, three);
  EXPECT_EQ(one.difference, 1);
  EXPECT_EQ(one.ratio, 1.5);
  EXPECT_TRUE(std::isnan(one.difference_95.low));
  EXPECT_TRUE(std::isnan(one.p));
  const std::array<double, 39> few{};
  EXPECT_TRUE(std::isnan(compare_series(few, few).p));
}

TEST(Statistics, EqualPairsDoNotDiffer) {
  const std::array<double, 3> values = {7, 8, 9};
  const PairedComparison same = compare_pairs(values, values);
  EXPECT_TRUE(same.is_same());
  EXPECT_TRUE(std::isnan(same.p));
  EXPECT_EQ(same.difference_95.low, 0);
  EXPECT_EQ(same.ratio_95.high, 1);
  EXPECT_EQ(same.agree, 3u);
  const std::array<double, 3> more = {8, 9, 10};
  EXPECT_EQ(compare_pairs(values, more).p, 0);
  EXPECT_FALSE(compare_pairs(values, more).is_same());
  // Their means are equal, they are not.
  const std::array<double, 3> turned = {9, 8, 7};
  EXPECT_FALSE(compare_pairs(values, turned).is_same());
  EXPECT_EQ(compare_pairs(values, turned).p, 1);
  std::vector<double> series(1000);
  for (std::size_t i = 0; i < series.size(); ++i) series[i] = static_cast<double>(i);
  EXPECT_TRUE(compare_series(series, series).is_same());
  EXPECT_TRUE(std::isnan(compare_series(series, series).p));
  EXPECT_EQ(compare_series(series, series).ratio_95.low, 1);
}

// Autoregressive: neighbours are alike.
std::vector<double> series_of(std::uint64_t seed, double like, std::size_t count) {
  Draws draws(seed, Stream::test, 1);
  std::vector<double> series;
  double value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = like * value + std::sqrt(1 - like * like) * draws.normal();
    series.push_back(value);
  }
  return series;
}

TEST(Statistics, BlocksAreAsLongAsValuesDepend) {
  EXPECT_LE(block_length(series_of(1, 0, 3000)), 10u);
  const std::size_t some = block_length(series_of(1, 0.8, 3000));
  const std::size_t many = block_length(series_of(1, 0.97, 3000));
  EXPECT_GT(some, 20u);
  EXPECT_GT(many, some);
  EXPECT_LE(block_length(series_of(1, 0.999, 300)), 30u);
  EXPECT_EQ(block_length(std::vector<double>(100, 3.0)), 1u);
}

TEST(Statistics, ASeriesIsLessSureThanItsNumberOfValuesSays) {
  const std::size_t n = 2000;
  std::vector<double> baseline(n), values(n);
  const std::vector<double> noise = series_of(3, 0.95, n);
  for (std::size_t i = 0; i < n; ++i) {
    baseline[i] = 100;
    values[i] = 101 + 10 * noise[i];
  }
  const PairedComparison pairs = compare_pairs(baseline, values);
  const PairedComparison series = compare_series(baseline, values);
  EXPECT_EQ(series.difference, pairs.difference);
  const auto width = [](const Interval95& its) { return its.high - its.low; };
  EXPECT_GT(width(series.difference_95), 3 * width(pairs.difference_95));
  EXPECT_EQ(series.difference_95.low <= 0 && series.difference_95.high >= 0, series.p > 0.05);
  EXPECT_LT(series.ratio_95.low, series.ratio);
  EXPECT_GT(series.ratio_95.high, series.ratio);
  EXPECT_GT(series.block, 50u);
  const PairedComparison again = compare_series(baseline, values);
  EXPECT_EQ(again.difference_95.low, series.difference_95.low);
  EXPECT_EQ(again.p, series.p);
}

TEST(Statistics, AWarmUpEndsWhereTheRestVariesLeast) {
  std::vector<double> values = series_of(4, 0.3, 2000);
  const auto cut = warm_up_length(values);
  ASSERT_TRUE(cut);
  EXPECT_LT(*cut, 300u);
  for (std::size_t i = 0; i < 400; ++i) values[i] += 20 - static_cast<double>(i) / 20;
  const auto later = warm_up_length(values);
  ASSERT_TRUE(later);
  EXPECT_GT(*later, 330u);
  EXPECT_LT(*later, 420u);
  EXPECT_EQ(*later % 5, 0u);
  // As written down, with the sums of each cut.
  std::vector<double> means;
  for (std::size_t i = 0; i + 5 <= values.size(); i += 5) {
    means.push_back(std::accumulate(&values[i], &values[i] + 5, 0.0) / 5);
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at + 5 < means.size(); ++at) {
    const auto left = static_cast<double>(means.size() - at);
    double sum = 0, squares = 0;
    for (std::size_t i = at; i < means.size(); ++i) sum += means[i];
    for (std::size_t i = at; i < means.size(); ++i) squares += std::pow(means[i] - sum / left, 2);
    if (squares / (left * left) >= least) continue;
    least = squares / (left * left);
    best = at;
  }
  EXPECT_EQ(*later, 5 * best);
}

TEST(Statistics, AWarmUpIsNotKnownOfASeriesThatGrowsOrIsShort) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 49; ++i) values.push_back(1);
  EXPECT_FALSE(warm_up_length(values));
  values.push_back(1);
  EXPECT_EQ(warm_up_length(values), 0u);
  for (std::size_t i = 0; i < 1000; ++i) values.push_back(static_cast<double>(i));
  EXPECT_FALSE(warm_up_length(values));
  EXPECT_FALSE(warm_up_length({}));
}

TEST(Statistics, HolmsCorrection) {
  const std::array p{0.01, 0.04, 0.03, 0.02};
  EXPECT_THAT(holm(p),
              testing::Pointwise(testing::DoubleNear(1e-12), std::array{0.04, 0.06, 0.06, 0.06}));
  const std::array some{0.5, std::numeric_limits<double>::quiet_NaN(), 0.01};
  const std::vector<double> corrected = holm(some);
  EXPECT_DOUBLE_EQ(corrected[0], 0.5);
  EXPECT_TRUE(std::isnan(corrected[1]));
  EXPECT_DOUBLE_EQ(corrected[2], 0.02);
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace ductile
