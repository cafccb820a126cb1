#include "base/text.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

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

TEST(Text, SecondsAreReadExactly) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t us : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
                                std::int64_t{12'500'000}, std::int64_t{-3'000'001}, most, least}) {
    EXPECT_EQ(parse_seconds(seconds_text(Duration{us})), Duration{us});
  }
  for (const char* const none : {"", "-", ".5", "1.0000001", "1e3", "1.x", "+1", " 1", "--1",
                                 "9223372036854.775808", "99999999999999999999"}) {
    EXPECT_FALSE(parse_seconds(none)) << none;
  }
}

TEST(Text, SecondsAreAppended) {
  std::string text = "t=";
  append_seconds(text, Duration{250'000});
  EXPECT_EQ(text, "t=0.25");
}

TEST(Text, NumbersAreTheWholeText) {
  EXPECT_EQ(parse_number<double>("1e3"), 1000);
  EXPECT_EQ(parse_number<int>("-3"), -3);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "inf", "nan", "1e999"}) {
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
}

TEST(Text, NumbersAreWrittenAsShortAsTheyAre) {
  std::string text;
  append_number(text, 0.1);
  append_number(text, 42);
  EXPECT_EQ(text, "0.142");
}

TEST(Text, PartsAreTakenFromTheFront) {
  std::string_view rest = "a:bc::d";
  EXPECT_EQ(next_part(rest, ':'), "a");
  EXPECT_EQ(next_part(rest, ':'), "bc");
  EXPECT_EQ(next_part(rest, ':'), "");
  EXPECT_EQ(next_part(rest, ':'), "d");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(next_part(rest, ':'), "");
}

TEST(Text, WordsStandForValues) {
  enum class Colour : std::uint8_t { red, green };
  constexpr std::array<std::string_view, 2> words{"red", "green"};
  EXPECT_EQ(from_word<Colour>(words, "green"), Colour::green);
  EXPECT_EQ(from_word<Colour>(words, "blue"), std::nullopt);
  EXPECT_EQ(listed(words), "red, green");
}

TEST(Text, StrangersCommandNoTerminal) {
  EXPECT_EQ(printable("plain, \xc3\xa4 and \\"), "plain, \xc3\xa4 and \\");
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");
  // Bytes that are no UTF-8: alone, cut short, too long, half of a pair, beyond U+10FFFF.
  EXPECT_EQ(printable("\xff \xd3"
                      "ELECT \xe2\x82"),
            "\\xff \\xd3"
            "ELECT \\xe2\\x82");
  EXPECT_EQ(printable("\xc1\xa1 \xe0\x9f\xbf"), "\\xc1\\xa1 \\xe0\\x9f\\xbf");
  EXPECT_EQ(printable("\xed\xa0\x80 \xf4\x90\x80\x80"), "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x82\xac\xf0\x9f\x98\x80"), "\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_TRUE(is_printable("\xff"));
  EXPECT_TRUE(is_printable(""));
  EXPECT_FALSE(is_printable("\t"));
}

}  // namespace
}  // namespace ductile
