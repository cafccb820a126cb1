#include "report/axis.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

std::string labels(const Axis& axis) {
  std::string text;
  for (const Tick& tick : axis.ticks) text += tick.label + " ";
  return text + axis.unit;
}

TEST(Axis, HasRoundSteps) {
  EXPECT_EQ(labels(number_axis(97, 5)), "0 20 40 60 80 100 ");
  EXPECT_EQ(labels(number_axis(0.3, 3)), "0 0.1 0.2 0.3 ");
  EXPECT_EQ(labels(number_axis(0, 3)).substr(0, 2), "0 ");
  EXPECT_EQ(number_axis(97, 5).high, 100);
}

TEST(Axis, UnitsFollowTheSize) {
  EXPECT_EQ(labels(time_axis(0, 90, 5)), "0 20 40 60 80 s");
  EXPECT_EQ(labels(time_axis(0, 1200, 5)), "0 5 10 15 20 min");
  EXPECT_EQ(labels(time_axis(0, 86'400, 5)), "0 6 12 18 24 h");
  EXPECT_EQ(labels(time_axis(86'400, 10 * 86'400, 5)), "2 4 6 8 10 d");
  EXPECT_EQ(labels(duration_axis(5000, 4)), "0 30 60 90 min");
  EXPECT_EQ(labels(power_axis(23'000, 3)), "0 10 20 30 kW");
}

TEST(Axis, OfLogarithmsHasWordsForTimes) {
  EXPECT_EQ(labels(log_duration_axis(100'000, 9)), "1 s 10 s 1 min 10 min 1 h 10 h ");
  EXPECT_EQ(labels(log_duration_axis(100'000, 3)), "1 s 1 min 1 h ");
  EXPECT_EQ(labels(log_axis(5'000, 5)), "1 10 100 1000 ");
  const Axis axis = log_axis(100, 5);
  EXPECT_DOUBLE_EQ(axis.share(10), 0.5);
  EXPECT_EQ(axis.share(0), 0);
  EXPECT_EQ(axis.share(1e9), 1);
}

TEST(Axis, OfARangeNeedNotBeginAt0) {
  EXPECT_EQ(labels(range_axis(91, 97, 4)), "90 92 94 96 98 ");
  EXPECT_EQ(labels(duration_range_axis(7300, 14'000, 4)), "2 2.5 3 3.5 4 h");
  const Axis same = range_axis(5, 5, 4);
  EXPECT_LT(same.low, 5);
  EXPECT_GT(same.high, 5);
  EXPECT_GE(range_axis(0, 0, 4).low, 0);
}

TEST(Axis, DurationsAreSaidAsPeopleDo) {
  EXPECT_EQ(duration_text(90), "90.0 s");
  EXPECT_EQ(duration_text(15'120), "4.20 h");
  EXPECT_EQ(duration_text(0), "0.00 s");
}

}  // namespace
}  // namespace ductile
