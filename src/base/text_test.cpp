#include "base/text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Text, SecondsAreExactAndWithoutTrailingZeros) {
  EXPECT_EQ(seconds_text(Duration{0}), "0");
  EXPECT_EQ(seconds_text(whole_seconds(120)), "120");
  EXPECT_EQ(seconds_text(Duration{1'500'000}), "1.5");
  EXPECT_EQ(seconds_text(Duration{1}), "0.000001");
  EXPECT_EQ(seconds_text(Duration{10'000'010}), "10.00001");
  EXPECT_EQ(seconds_text(Duration{-1}), "-0.000001");
  EXPECT_EQ(seconds_text(Duration{-2'000'000}), "-2");
  EXPECT_EQ(seconds_text(Time{whole_seconds(3)}), "3");
}

TEST(Text, SecondsOfTheExtremes) {
  using Limits = std::numeric_limits<Duration::rep>;
  EXPECT_EQ(seconds_text(Duration{Limits::max()}), "9223372036854.775807");
  EXPECT_EQ(seconds_text(Duration{Limits::min()}), "-9223372036854.775808");
}

TEST(Text, SecondsAreAppended) {
  std::string text = "t=";
  append_seconds(text, Duration{250'000});
  EXPECT_EQ(text, "t=0.25");
}

}  // namespace
}  // namespace ductile
