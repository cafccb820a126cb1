#include "base/random.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Random, MixingIsSplitMix64) {
  // The first numbers of the published generator for seed 0 and, for its second one, the next
  // state.
  EXPECT_EQ(mixed(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mixed(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

// Published results depend on these: they never change. Computed elsewhere, from the definition.
TEST(Random, NumbersArePinned) {
  EXPECT_EQ(random_bits(42, Stream::workload, 1, 0), 3646000439448458261u);
  Draws draws(42, Stream::workload, 7);
  EXPECT_EQ(draws.bits(), 15636203820027758812u);
  EXPECT_EQ(draws.bits(), 997773014718348517u);
  EXPECT_DOUBLE_EQ(draws.uniform(), 0.6245553932290907);
  EXPECT_EQ(draws.below(1000), 816u);
  EXPECT_DOUBLE_EQ(draws.exponential(10), 14.258026282508283);
  EXPECT_DOUBLE_EQ(draws.normal(), 0.5899632330527316);
}

// A new stream goes before `test`, behind all others: a number in use is never another stream's.
TEST(Random, StreamsKeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(Stream::policy), 1);
  EXPECT_EQ(static_cast<int>(Stream::workload), 2);
  EXPECT_EQ(static_cast<int>(Stream::adaptive), 3);
  EXPECT_EQ(static_cast<int>(Stream::evolving), 4);
  EXPECT_EQ(static_cast<int>(Stream::resize_delay), 5);
  EXPECT_EQ(static_cast<int>(Stream::resize_refusal), 6);
  EXPECT_EQ(static_cast<int>(Stream::resize_loss), 7);
  EXPECT_EQ(static_cast<int>(Stream::resize_repeat), 8);
  EXPECT_EQ(static_cast<int>(Stream::failure), 9);
  EXPECT_EQ(static_cast<int>(Stream::start_failure), 10);
  EXPECT_EQ(static_cast<int>(Stream::start_delay), 11);
  EXPECT_EQ(static_cast<int>(Stream::estimates), 12);
}

TEST(Random, DrawsAreTheNumbersOfTheirKey) {
  Draws draws(42, Stream::test, 7);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(draws.bits(), random_bits(42, Stream::test, 7, i));
  }
}

TEST(Random, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    for (const Stream stream : {Stream::policy, Stream::workload, Stream::test}) {
      for (std::uint64_t who = 0; who < 10; ++who) {
        for (std::uint64_t draw = 0; draw < 10; ++draw) {
          seen.insert(random_bits(seed, stream, who, draw));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 3u * 3 * 10 * 10);
}

TEST(Random, UnitIsBelowOne) {
  EXPECT_EQ(unit(0), 0.0);
  EXPECT_LT(unit(~std::uint64_t{0}), 1.0);
  EXPECT_GT(unit(~std::uint64_t{0}), 0.9999999999999998);
}

// 100,000 draws: the mean is within about 4 standard errors, and always, for the seed is fixed.
class Distributions : public ::testing::Test {
 protected:
  static constexpr int kDraws = 100'000;

  template <class Draw>
  void expect_mean(double mean, double deviation, Draw draw) {
    Draws draws(1, Stream::test, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double value = draw(draws);
      sum += value;
      squares += (value - mean) * (value - mean);
    }
    EXPECT_NEAR(sum / kDraws, mean, 4 * deviation / std::sqrt(kDraws));
    EXPECT_NEAR(std::sqrt(squares / kDraws), deviation, 0.02 * deviation);
  }
};

TEST_F(Distributions, Uniform) {
  expect_mean(0.5, std::sqrt(1.0 / 12), [](Draws& draws) { return draws.uniform(); });
  expect_mean(4, std::sqrt(4.0 / 12), [](Draws& draws) {
    const double value = draws.uniform(3, 5);
    EXPECT_TRUE(3 <= value && value < 5);
    return value;
  });
}

TEST_F(Distributions, Below) {
  expect_mean(2, std::sqrt(2.0), [](Draws& draws) {
    const std::uint64_t value = draws.below(5);
    EXPECT_LT(value, 5u);
    return static_cast<double>(value);
  });
}

TEST_F(Distributions, Chance) {
  expect_mean(0.25, std::sqrt(0.1875), [](Draws& draws) { return draws.chance(0.25) ? 1.0 : 0.0; });
}

TEST_F(Distributions, Exponential) {
  expect_mean(10, 10, [](Draws& draws) { return draws.exponential(10); });
}

TEST_F(Distributions, Normal) {
  expect_mean(0, 1, [](Draws& draws) { return draws.normal(); });
}

TEST_F(Distributions, Gamma) {
  expect_mean(4.2 * 0.94, std::sqrt(4.2) * 0.94,
              [](Draws& draws) { return draws.gamma(4.2, 0.94); });
  expect_mean(3, 3, [](Draws& draws) { return draws.gamma(1, 3); });
  expect_mean(312 * 0.03, std::sqrt(312) * 0.03,
              [](Draws& draws) { return draws.gamma(312, 0.03); });
}

TEST(Random, ChanceIsCertainAtTheEnds) {
  Draws draws(3, Stream::test, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(draws.chance(1));
    EXPECT_FALSE(draws.chance(0));
  }
}

}  // namespace
}  // namespace ductile
