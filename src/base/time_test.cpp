#include "base/time.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Time, SecondsAreRoundedToTheNearestTick) {
  EXPECT_EQ(seconds(1.5), Duration{1'500'000});
  EXPECT_EQ(seconds(0.0000004), Duration{0});
  EXPECT_EQ(seconds(0.0000006), Duration{1});
  EXPECT_EQ(seconds(-0.0000006), Duration{-1});
}

TEST(Time, HalfATickIsRoundedAwayFromZero) {
  // Halves that a double holds exactly.
  EXPECT_EQ(seconds(0.0000005), Duration{1});
  EXPECT_EQ(seconds(-0.0000005), Duration{-1});
  EXPECT_EQ(seconds(1.0 / 128 + 1e-6 / 2), Duration{7813});  // 7812.5 + 0.5
  EXPECT_EQ(seconds(1.0 / 128), Duration{7813});             // 7812.5
  EXPECT_EQ(seconds(-1.0 / 128), Duration{-7813});
}

TEST(Time, WholeSecondsAreExactAndGoBack) {
  EXPECT_EQ(whole_seconds(1'000'000'000'000), Duration{1'000'000'000'000'000'000});
  EXPECT_EQ(to_seconds(whole_seconds(-3)), -3.0);
  EXPECT_EQ(to_seconds(Time{Duration{2'500'000}}), 2.5);
}

TEST(Time, LaterStopsAtNever) {
  const Time now{whole_seconds(10)};
  EXPECT_EQ(later(now, whole_seconds(5)), Time{whole_seconds(15)});
  EXPECT_EQ(later(now, Duration::max()), kNever);
  EXPECT_EQ(later(kNever, Duration{}), kNever);
  EXPECT_EQ(later(kNever, Duration{1}), kNever);
  EXPECT_EQ(later(kNever - Duration{5}, Duration{4}), kNever - Duration{1});
  EXPECT_EQ(later(kNever - Duration{5}, Duration{6}), kNever);
}

}  // namespace
}  // namespace ductile
