#include "live/conditions.hpp"

#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(Conditions, ReadArraysAsSlurmDoes) {
  const auto again = [](const char* text) { return to_text(parse_array(text)); };
  EXPECT_EQ(again("0-9%2"), "0-9%2");
  EXPECT_EQ(again("7,1,3,5-6"), "1,3,5-7");
  EXPECT_EQ(again("0-15:4"), "0,4,8,12");
  EXPECT_EQ(parse_array("0-15:4").count(), 4u);
  EXPECT_EQ(parse_array("3-9").min(), 3u);
  EXPECT_EQ(parse_array("3-9").max(), 9u);
  EXPECT_EQ(parse_array("0-9999").count(), 10'000u);
  for (const char* text : {"", "%2", "0-9%0", "0-9%", "9-0", "x", "1,", "0-9:0", "-1", "0-10000",
                           "4000001", "1--2", "0-9999,20000"}) {
    EXPECT_THROW(parse_array(text), InputError) << text;
  }
}

TEST(Conditions, ReadTimesAsSlurmDoes) {
  setenv("TZ", "UTC", 1);
  tzset();
  const Time now(whole_seconds(1'893'456'000));  // 2030-01-01T00:00:00
  const auto after = [&](const char* text) {
    return (parse_begin(text, now) - now).count() / 1'000'000;
  };
  EXPECT_EQ(after("now"), 0);
  EXPECT_EQ(after("now+10"), 10);
  EXPECT_EQ(after("now+2hours"), 7200);
  EXPECT_EQ(after("now+1minute"), 60);
  EXPECT_EQ(after("now+3days"), 3 * 86400);
  EXPECT_EQ(after("16:30"), 16 * 3600 + 1800);
  EXPECT_EQ(after("00:00:01"), 1);
  EXPECT_EQ((parse_begin("16:30", now + whole_seconds(17 * 3600)) - now).count() / 1'000'000,
            86400 + 16 * 3600 + 1800);
  EXPECT_EQ(after("2030-01-02"), 86400);
  EXPECT_EQ(after("2030-02-01T12:00"), 31 * 86400 + 43200);
  EXPECT_EQ(after("2029-12-31T23:59:59"), -1);
  for (const char* text : {"", "soon", "now-1", "now+", "now+x", "now+1year", "25:00", "10",
                           "10:", "10:60", "2030-13-01", "2030-06-31", "2030-01-01T", "2030-01",
                           "2030-01-01T10", "now+99999999999999999999"}) {
    EXPECT_THROW(parse_begin(text, now), InputError) << text;
  }
}

}  // namespace
}  // namespace ductile
