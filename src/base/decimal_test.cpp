#include "base/decimal.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

// ---- A second implementation: digits, as at school ----------------------------------------------

std::string stripped(std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return digits;
}

std::string product(const std::string& a, const std::string& b) {
  std::vector<int> places(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) places[i + j + 1] += (a[i] - '0') * (b[j] - '0');
  }
  std::string digits(places.size(), '0');
  int carry = 0;
  for (std::size_t i = places.size(); i-- > 0; carry /= 10) {
    carry += places[i];
    digits[i] = static_cast<char>('0' + carry % 10);
  }
  return stripped(digits);
}

std::string next(std::string digits) {
  std::size_t i = digits.size();
  while (i > 0 && digits[i - 1] == '9') digits[--i] = '0';
  if (i == 0) return "1" + digits;
  ++digits[i - 1];
  return digits;
}

std::string text_of(Wide number) {
  std::string text;
  for (; number > 0; number /= 10) text += static_cast<char>('0' + static_cast<int>(number % 10));
  std::ranges::reverse(text);
  return text.empty() ? "0" : text;
}

// A random count of up to so many bits, small ones as often as large ones.
Wide count(Draws& draws, std::uint64_t bits) {
  const std::uint64_t length = draws.below(bits + 1);
  Wide result = 0;
  for (std::uint64_t i = 0; i < length; ++i) result = 2 * result + (draws.chance(0.5) ? 1 : 0);
  return result;
}

struct Written {
  std::string whole, behind;  // the point

  std::string text() const { return behind.empty() ? whole : whole + "." + behind; }
};

Written decimal(Draws& draws, std::size_t most_whole) {
  const auto digits = [&](std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('0' + draws.below(10));
    return text;
  };
  const std::size_t whole = 1 + draws.below(most_whole);
  return {digits(whole), digits(draws.below(Decimal::kMostDigits - whole + 1))};
}

TEST(Decimal, ProductsAreThoseOfSchool) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Draws draws(seed, Stream::test, 0);
    const Written written = decimal(draws, draws.chance(0.5) ? 1 : 9);
    const Wide n = count(draws, written.whole.size() == 1 ? 120 : 96);
    const std::string digits = written.whole + written.behind;
    std::string all = product(digits, text_of(n));
    all.insert(0, std::max(digits.size() + 1, all.size()) - all.size(), '0');
    const std::string down = stripped(all.substr(0, all.size() - written.behind.size()));
    const std::string rest = all.substr(all.size() - written.behind.size());
    const bool more = rest.find_first_not_of('0') != std::string::npos;

    const Decimal d = Decimal::parse(written.text()).value();
    SCOPED_TRACE(written.text() + " times " + text_of(n));
    ASSERT_EQ(text_of(d.floor_of(n)), down);
    ASSERT_EQ(text_of(d.ceil_of(n)), more ? next(down) : down);
    ASSERT_EQ(text_of(d.round_of(n)), !rest.empty() && rest[0] >= '5' ? next(down) : down);
  }
}

TEST(Decimal, ProductsThatADoubleMisses) {
  EXPECT_EQ(Decimal(0.07).ceil_of(100), 7);
  EXPECT_EQ(Decimal(0.29).floor_of(100), 29);
  EXPECT_EQ(Decimal(1.15).floor_of(100), 115);
  EXPECT_EQ(Decimal(0.7).floor_of(10), 7);
  EXPECT_EQ(Decimal(0.145).round_of(100), 15);
  EXPECT_EQ(Decimal(33.3).floor_of(1000), 33300);
}

TEST(Decimal, RoundsNegativeProductsAsTheLineGoes) {
  const Decimal d(-0.5);
  EXPECT_EQ(d.floor_of(3), -2);
  EXPECT_EQ(d.ceil_of(3), -1);
  EXPECT_EQ(d.round_of(3), -1);  // half up
  EXPECT_EQ(Decimal(0.5).floor_of(-3), -2);
  EXPECT_EQ(Decimal(-1).floor_of((Wide{1} << 100) + 1), -(Wide{1} << 100) - 1);
  EXPECT_EQ(Decimal(-0.5).floor_of((Wide{1} << 100) + 1), -(Wide{1} << 99) - 1);
}

TEST(Decimal, IsWrittenInManyWays) {
  const auto is = [](const char* text, const char* as) {
    const auto decimal = Decimal::parse(text);
    return decimal ? to_text(*decimal) == as : std::string_view(as).empty();
  };
  for (const auto& [text, as] : {
           std::pair("0", "0"),
           {"-0.0", "0"},
           {"007", "7"},
           {"0.07", "0.07"},
           {".5", "0.5"},
           {"5.", "5"},
           {"-2.50", "-2.5"},
           {"1e3", "1000"},
           {"1.5E+3", "1500"},
           {"12e-3", "0.012"},
           {"0e999999999", "0"},
           {"1e18", "1000000000000000000"},
           {"1e-18", "0.000000000000000001"},
           {"123456789012345678", "123456789012345678"},
           {"1.23456789012345678", "1.23456789012345678"},
           {"0.1000000000000000000000", "0.1"},
           {"1000000000000000000000e-3", "1000000000000000000"},
           // Too many digits.
           {"1e19", ""},
           {"1e-19", ""},
           {"1.234567890123456789", ""},
           {"1234567890123456789", ""},
           {"1e999999999", ""},
           // None.
           {"", ""},
           {"-", ""},
           {".", ""},
           {"+1", ""},
           {"1,5", ""},
           {"1.2.3", ""},
           {"1 ", ""},
           {"e5", ""},
           {"1e", ""},
           {"1e+-5", ""},
           {"1e5.5", ""},
           {"0x10", ""},
           {"inf", ""},
           {"nan", ""},
       }) {
    EXPECT_TRUE(is(text, as)) << text;
  }
}

TEST(Decimal, IsReadWhereADoubleIs) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Draws draws(seed, Stream::test, 1);
    std::string text;
    for (std::uint64_t i = draws.below(8); i > 0; --i) text += "0159.e-+"[draws.below(8)];
    const auto number = parse_number<double>(text);
    const auto decimal = Decimal::parse(text);
    ASSERT_TRUE(number || !decimal) << text;
    if (!decimal) continue;
    ASSERT_EQ(static_cast<double>(*decimal), *number) << text;
    ASSERT_EQ(Decimal::parse(to_text(*decimal)), *decimal) << text;
  }
}

TEST(Decimal, ADoubleStandsForItsShortestDecimal) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Draws draws(seed, Stream::test, 2);
    Written written = decimal(draws, 5);
    written.behind.resize(std::min<std::size_t>(written.behind.size(), 10));
    const auto number = parse_number<double>(written.text()).value();
    ASSERT_EQ(Decimal(number), Decimal::parse(written.text()).value()) << written.text();
  }
  EXPECT_EQ(to_text(Decimal(1e-5 / 3)), "0.000003333333333333");  // the rest is rounded
  EXPECT_EQ(to_text(Decimal(2e-5 / 3)), "0.000006666666666667");
  EXPECT_EQ(Decimal(1e-300), Decimal(0));
  EXPECT_EQ(Decimal(9.9999e-19), Decimal(1e-18));
  EXPECT_EQ(Decimal(-1e300), Decimal(-1e18));
}

TEST(Decimal, ComparesWhatItIs) {
  EXPECT_EQ(Decimal(0.5), Decimal::parse("0.50"));
  EXPECT_EQ(Decimal(3), Decimal(3.0));
  EXPECT_LT(Decimal(0.07), Decimal(0.070001));
  EXPECT_LT(Decimal(-1), Decimal(0.5));
  EXPECT_LT(Decimal(1), Decimal::parse("1.00000000000000001"));  // one double for both
  EXPECT_TRUE(Decimal(2.0).is_whole());
  EXPECT_FALSE(Decimal(2.5).is_whole());
}

}  // namespace
}  // namespace ductile
