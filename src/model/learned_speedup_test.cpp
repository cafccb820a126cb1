#include "model/learned_speedup.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

TEST(LearnedSpeedup, NeedsTwoSizes) {
  LearnedSpeedup learned;
  EXPECT_FALSE(learned.model());
  learned.add(4, whole_seconds(10));
  learned.add(4, whole_seconds(11));
  EXPECT_FALSE(learned.model());
  learned.add(0, whole_seconds(1));
  learned.add(2, Duration{});
  EXPECT_FALSE(learned.model());
  learned.add(8, whole_seconds(5));
  EXPECT_TRUE(learned.model());
}

TEST(LearnedSpeedup, FindsTheCurveItIsGiven) {
  for (const char* text : {"amdahl:0", "amdahl:0.1", "amdahl:1", "powerlaw:0.25"}) {
    const Speedup truth = parse_speedup(text);
    LearnedSpeedup learned;
    for (const Nodes n : {1, 4, 16}) learned.add(n, seconds(100 * truth.relative_time(n, 1)));
    const auto model = learned.model();
    ASSERT_TRUE(model);
    for (const Nodes n : {2, 8, 64}) {
      EXPECT_NEAR(model->relative_time(n, 4), truth.relative_time(n, 4), 1e-4) << text;
    }
  }
}

TEST(LearnedSpeedup, IsNeverBelievedToBeSlowerOnMoreNodes) {
  LearnedSpeedup slower, more_than_linear;
  slower.add(2, whole_seconds(10));
  slower.add(4, whole_seconds(12));
  EXPECT_LE(slower.model()->relative_time(8, 2), 1);
  more_than_linear.add(2, whole_seconds(10));
  more_than_linear.add(4, whole_seconds(3));
  EXPECT_NEAR(more_than_linear.model()->relative_time(8, 2), 0.25, 1e-9);
}

TEST(LearnedSpeedup, ManyObservationsOfOneSizeDoNotHideTheOthers) {
  const Speedup truth{Speedup::Kind::downey, 12, 0.5};
  LearnedSpeedup learned;
  for (const Nodes n : {2, 8}) learned.add(n, seconds(20 * truth.relative_time(n, 1)), 20);
  learned.add(4, seconds(1e6 * truth.relative_time(4, 1)), 1'000'000);
  for (const Nodes n : {2, 4, 6, 8}) {
    EXPECT_NEAR(learned.model()->relative_time(n, 4) / truth.relative_time(n, 4), 1, 0.1) << n;
  }
}

TEST(LearnedSpeedup, HasAFirstGuessFromTheTimeInMpi) {
  // Efficiency a half on four processes: a serial part of a third.
  EXPECT_DOUBLE_EQ(speedup_of_mtct(1, 4, 1)->parameter, 1.0 / 3);
  EXPECT_DOUBLE_EQ(speedup_of_mtct(0, 4, 1)->parameter, 0);
  EXPECT_DOUBLE_EQ(speedup_of_mtct(99, 4, 1)->parameter, 1);
  EXPECT_FALSE(speedup_of_mtct(1, 1, 1));
  // The same processes on half as many nodes take the same times.
  const Speedup one = *speedup_of_mtct(0.3, 8, 1), two = *speedup_of_mtct(0.3, 4, 2);
  EXPECT_NEAR(one.relative_time(16, 4), two.relative_time(8, 2), 1e-12);
  // Of Amdahl's law the ratio tells the truth: (1 - E) / E.
  const Speedup truth{Speedup::Kind::amdahl, 0.07};
  const double efficiency = truth.relative_time(1, 6) / 6;
  EXPECT_NEAR(speedup_of_mtct((1 - efficiency) / efficiency, 6, 1)->parameter, 0.07, 1e-12);
}

/// Of 2000 applications of random curves, run at three sizes for 20 iterations each with so much
/// noise: how many are believed to take a time that is more than 15 % wrong at a fourth size, in
/// between, or beyond and up to twice as large or small?
int far_off(double noise, bool beyond) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(seed, Stream::test, 41);
    Speedup truth;
    switch (draws.below(3)) {
      case 0:
        truth = {Speedup::Kind::amdahl, draws.uniform(0, 0.3)};
        break;
      case 1:
        truth = {Speedup::Kind::powerlaw, draws.uniform(0, 0.5)};
        break;
      default:  // not one that is fitted
        truth = {Speedup::Kind::downey, draws.uniform(20, 200), draws.uniform(0, 2)};
    }
    const auto least = static_cast<Nodes>(2 + draws.below(4));
    LearnedSpeedup learned;
    for (const Nodes n : {least, 2 * least, 4 * least}) {
      for (int iteration = 0; iteration < 20; ++iteration) {
        const double factor = std::max(1 + noise * draws.normal(), 0.1);
        learned.add(n, seconds(3 * truth.relative_time(n, least) * factor));
      }
    }
    auto fourth = static_cast<Nodes>(least + 1 + draws.below(3 * least - 1));
    if (beyond && draws.chance(0.5)) {
      fourth = static_cast<Nodes>(4 * least + 1 + draws.below(4 * least));
    } else if (beyond) {
      fourth = least - static_cast<Nodes>(draws.below(least / 2 + 1));
    }
    const double believed = learned.model()->relative_time(fourth, 2 * least);
    if (std::abs(believed / truth.relative_time(fourth, 2 * least) - 1) > 0.15) ++count;
  }
  return count;
}

TEST(LearnedSpeedup, TellsTheTimeAtAFourthSize) {
  EXPECT_EQ(far_off(0.05, false), 0);
  EXPECT_EQ(far_off(0.1, false), 0);
  // The two curves that are fitted part there.
  EXPECT_LE(far_off(0.05, true), 40);
  EXPECT_LE(far_off(0.1, true), 100);
}

}  // namespace
}  // namespace ductile
