#include "metrics/statistics.hpp"

#include <array>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ductile
