#include "simulation/power_caps.hpp"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::vector<PowerCap> read_text(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/caps.txt";
  std::ofstream(path) << text;
  return read_power_caps(path);
}

// What is said about it, after the name of the file.
std::string complaint(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("caps.txt") + 8);
  }
  return "";
}

TEST(PowerCaps, AreANumberOrNone) {
  const auto caps = read_power_caps("2500.5");
  ASSERT_EQ(caps.size(), 1u);
  EXPECT_EQ(caps[0].at, Time{});
  EXPECT_EQ(caps[0].watts, 2500.5);
  EXPECT_TRUE(read_power_caps("none").empty());
  EXPECT_EQ(parse_power_cap("7"), 7);
  EXPECT_TRUE(std::isinf(parse_power_cap("none")));
  for (const char* text : {"-1", "2e9", "nan", "inf"}) {
    EXPECT_THROW(parse_power_cap(text), InputError) << text;
    EXPECT_THROW(read_power_caps(text), InputError) << text;
  }
}

TEST(PowerCaps, OfAFileHoldFromLineToLine) {
  const auto caps = read_text(
      "# by day, by night\n"
      "\n"
      "0 none   # any\r\n"
      "  64800.5\t1000\n"
      "90000 2e3");
  ASSERT_EQ(caps.size(), 3u);
  EXPECT_TRUE(std::isinf(caps[0].watts));
  EXPECT_EQ(caps[1].at, Time{seconds(64800.5)});
  EXPECT_EQ(caps[1].watts, 1000);
  EXPECT_EQ(caps[2].watts, 2000);
}

TEST(PowerCaps, SayWhatIsWrong) {
  EXPECT_EQ(complaint("0 5\nsoon 7\n"),
            ":2: time: 'soon' is not possible; write seconds from 0 to 1e12");
  EXPECT_EQ(complaint("0 much\n"),
            ":1: watts: 'much' is not possible; write watts from 0 to 1e9, or none");
  EXPECT_EQ(complaint("# now\n0\n"), ":2: watts: is missing; write watts from 0 to 1e9, or none");
  EXPECT_EQ(complaint("0 5 6\n"), ":1: line: '6' is not possible; write a time and watts, no more");
  EXPECT_EQ(complaint("1 5\n"),
            ":1: time: nothing is said of the time before; begin with a line of time 0");
  EXPECT_EQ(complaint("0 5\n9 5\n9 6\n"),
            ":3: time: is not later than that of the line before; write the lines by time");
  EXPECT_EQ(complaint("# none\n"), ": says no power cap; write lines of TIME_S WATTS");
  EXPECT_THROW(read_power_caps("/no/such/file"), InputError);
}

}  // namespace
}  // namespace ductile
