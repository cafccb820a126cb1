#include "simulation/corridor.hpp"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

std::vector<CorridorLine> read_text(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/corridor.txt";
  std::ofstream(path) << text;
  return read_corridor(path);
}

// What is said about it, after the name of the file.
std::string complaint(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("corridor.txt") + 12);
  }
  return "";
}

TEST(Corridor, IsARange) {
  const auto corridor = read_corridor("1700..2500.5");
  ASSERT_EQ(corridor.size(), 1u);
  EXPECT_EQ(corridor[0].at, Time{});
  EXPECT_EQ(corridor[0].low_w, 1700);
  EXPECT_EQ(corridor[0].high_w, 2500.5);
  EXPECT_TRUE(std::isinf(read_corridor("0..inf")[0].high_w));
  EXPECT_EQ(read_corridor("5..5")[0].low_w, 5);
  for (const char* text : {"", "5..4", "1..", "1..x", "1..2e9", "1..nan", "1..2..3", "inf..inf"}) {
    EXPECT_THROW(read_corridor(text), InputError) << text;
  }
}

TEST(Corridor, OfAFileHoldsFromLineToLine) {
  const auto corridor = read_text("# by day, by night\n\n0 1700 2500 # day\r\n64800.5\t1000 inf\n");
  ASSERT_EQ(corridor.size(), 2u);
  EXPECT_EQ(corridor[1].at, Time{seconds(64800.5)});
  EXPECT_EQ(corridor[1].low_w, 1000);
  EXPECT_TRUE(std::isinf(corridor[1].high_w));
}

TEST(Corridor, SaysWhatIsWrong) {
  const std::string bounds = "; write watts from 0 to 1e9; the upper bound may be inf";
  EXPECT_EQ(complaint("1 2 3\n"),
            ":1: time: nothing is said of the time before; begin with a line of time 0");
  EXPECT_EQ(complaint("0 2 3\n5 3 2\n"),
            ":2: bounds: the lower bound, 3 W, is above the upper one, 2 W; write the lower one "
            "first");
  EXPECT_EQ(complaint("0 2 3\n0 3 4\n"),
            ":2: time: is not later than that of the line before; write the lines by time");
  EXPECT_EQ(complaint("0 2\n"), ":1: upper bound: is missing" + bounds);
  EXPECT_EQ(complaint("0\n"), ":1: lower bound: is missing" + bounds);
  EXPECT_EQ(complaint("0 x 3\n"), ":1: bounds: 'x' is no lower bound" + bounds);
  EXPECT_EQ(complaint("0 2 -3\n"), ":1: bounds: '-3' is no upper bound" + bounds);
  EXPECT_EQ(complaint("# nothing\n"), ": says no bounds; write lines of TIME_S LOWER_W UPPER_W");
}

}  // namespace
}  // namespace ductile
