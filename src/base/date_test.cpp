#include "base/date.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Date, IsSecondsSince1970) {
  EXPECT_EQ(parse_date("1970-01-01"), 0);
  EXPECT_EQ(parse_date("1970-01-02T00:00"), 86'400);
  EXPECT_EQ(parse_date("2024-02-29T23:59:59"), 1'709'251'199);
  EXPECT_EQ(parse_date("2024-02-29 23:59:59"), 1'709'251'199);
  EXPECT_EQ(parse_date("1969-12-31T23:59:59"), -1);
}

TEST(Date, IsInTheCalendar) {
  for (const char* text :
       {"", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-01T24:00", "2024-01-01T10:60",
        "2024-01-01T10:00:61", "2024-1-1", "2024/01/01", "2024-01-01X10:00", "2024-01-01T10",
        "Unknown", "20240101T1", "-024-01-01", "2024-01-01T10:0a"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

TEST(Date, IsATimeOfALogThatSaysWhenItBegins) {
  EXPECT_EQ(seconds_from(100, 150), 50);
  EXPECT_EQ(seconds_from(kFarthestStart, 0), -kFarthestStart);
  EXPECT_EQ(seconds_from(-kFarthestStart, 1), kFarthestStart + 1);
  EXPECT_FALSE(seconds_from({}, 150));
  EXPECT_FALSE(seconds_from(std::numeric_limits<std::int64_t>::min(), 0));
  EXPECT_FALSE(seconds_from(std::numeric_limits<std::int64_t>::max(), 0));
}

}  // namespace
}  // namespace ductile
