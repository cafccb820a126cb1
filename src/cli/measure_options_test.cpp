#include "cli/measure_options.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(MeasureOptions, AreTimesSharesAndDates) {
  const auto from = [](const char* text, std::optional<std::int64_t> start = 86'400) {
    return read_measured({text, ""}, start).from.value();
  };
  EXPECT_EQ(from("12.5").at, Time{seconds(12.5)});
  EXPECT_EQ(from("10%").share, 0.1);
  EXPECT_EQ(from("1970-01-02").at, Time{});
  EXPECT_EQ(from("1970-01-02T01:02").at, Time{whole_seconds(3720)});
  EXPECT_EQ(from("1970-01-02T01:02:03").at, Time{whole_seconds(3723)});
  EXPECT_EQ(from("1970-01-02 01:02").at, Time{whole_seconds(3720)});
  for (const char* text :
       {"1970-1-2", "1970-01-02T1:2", "-1", "x", "101%", "-1%", "%", "1970-13-01", "1970-02-30",
        "1970-01", "1970-01-01T", "1970-01-01T24:00", "1970-01-01T1", "1e13"}) {
    EXPECT_THROW(from(text), InputError) << text;
  }
  EXPECT_THROW(from("1970-01-02", std::nullopt), InputError);
  EXPECT_THROW(from("1970-01-02", std::numeric_limits<std::int64_t>::min()), InputError);
  EXPECT_THROW(from("1970-01-02", std::numeric_limits<std::int64_t>::max()), InputError);
  EXPECT_TRUE(from("detected").detected);
  EXPECT_THROW(read_measured({"", "detected"}, {}), InputError);
  EXPECT_TRUE(read_measured({}, {}).is_all());
}

}  // namespace
}  // namespace ductile
