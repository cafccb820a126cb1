#include "live/schedule_clock.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "job/boot_clock.hpp"

namespace ductile {
namespace {

constexpr Duration kShort = whole_seconds(60);

TEST(ScheduleClock, BeginsWithTheWallAndGoesOnAsItWas) {
  const ScheduleClock first("", Time{});
  EXPECT_TRUE(first.is_anew());
  EXPECT_LT(std::chrono::abs(first.now() - Time(wall_time())), kShort);
  EXPECT_EQ(first.ahead(), Duration{});

  // As if the clock on the wall had been set a day ahead between the two.
  const Time tomorrow = first.now() + whole_seconds(86'400);
  const ScheduleClock late("", tomorrow);
  EXPECT_GE(late.now(), tomorrow);
  const ScheduleClock again(late.text(), Time{});
  EXPECT_FALSE(again.is_anew());
  EXPECT_EQ(again.text(), late.text());
  EXPECT_LT(std::chrono::abs(again.wall(again.now()) - Time(wall_time())), kShort);
  EXPECT_EQ(again.wall(kNever), kNever);
  EXPECT_EQ(again.from_wall(kNever), kNever);
}

TEST(ScheduleClock, NeverGoesBack) {
  const ScheduleClock first("", Time{});
  const Time later = first.now() + whole_seconds(86'400);
  for (const std::string& saved :
       {first.text(), std::string("12 another start"), std::string("x")}) {
    EXPECT_GE(ScheduleClock(saved, later).now(), later);
  }
  EXPECT_TRUE(ScheduleClock("12 another start", later).is_anew());
}

TEST(ScheduleClock, KnowsTimesOfThisStartOfTheMachineOnly) {
  const ScheduleClock clock("", Time{});
  const auto now = clock.when(boot_id(), boot_time());
  ASSERT_TRUE(now);
  EXPECT_LT(std::chrono::abs(clock.now() - *now), kShort);
  EXPECT_FALSE(clock.when("another start", boot_time()));
  EXPECT_FALSE(clock.when("", boot_time()));
}

}  // namespace
}  // namespace ductile
