#include "cli/output_difference.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(OutputDifference, IsExactWithoutRules) {
  EXPECT_EQ(output_difference("a 1\nb\n", "a 1\nb\n"), std::nullopt);
  EXPECT_EQ(
      output_difference("a\nx 1.0\n", "a\nx 1.00\n"),
      "line 2 of the output differs from the rigid run's:\n  rigid    x 1.0\n  resized  x 1.00");
  EXPECT_EQ(
      output_difference("a\n", "a\nb\n"),
      "line 2 of the output differs from the rigid run's:\n  rigid    (the end)\n  resized  b");
  EXPECT_TRUE(output_difference("a\n", "a"));
}

TEST(OutputDifference, NumbersMayDifferByAShareOfThem) {
  const OutputRules rules{.tolerance = 1e-6};
  EXPECT_FALSE(output_difference("r=1.0000001, [-2e-3]\n", "r=1.0, [-2.000000001e-3]\n", rules));
  EXPECT_TRUE(output_difference("r=1.00001\n", "r=1.0\n", rules));
  EXPECT_TRUE(output_difference("r=1\n", "r=-1\n", rules));
  EXPECT_FALSE(output_difference("0 10 .5\n", "0.0 1e1 0.5\n", rules));
  EXPECT_FALSE(output_difference("+3 nan\n", "3.0 nan\n", rules));
  // Residuals: near 0 a share of them says nothing.
  EXPECT_FALSE(output_difference("0 1e-17\n", "3e-18 0\n", rules));
  EXPECT_FALSE(output_difference("1e-310 4e-320\n", "1.5e-310 0\n", rules));
  EXPECT_TRUE(output_difference("1e999\n", "1\n", rules));
  // What is part of a word is no number.
  EXPECT_TRUE(output_difference("node1 a\n", "node1.0 a\n", rules));
  EXPECT_TRUE(output_difference("1 2\n", "1 2 3\n", rules));
  EXPECT_TRUE(output_difference("1\n", "x\n", rules));
}

TEST(OutputDifference, LinesOfAPatternDoNotCount) {
  OutputRules rules;
  rules.ignored = LinePattern("time|^#");
  EXPECT_FALSE(output_difference("a\ntime 3\nb\n# x\n", "# y\na\nb\ntime 4\n", rules));
  EXPECT_EQ(output_difference("time 3\na\n", "time 1\ntime 2\nb\n", rules),
            "line 2 of the output differs from the rigid run's:\n  rigid    a\n  resized  b");
  // Each line by itself, however long.
  rules.ignored = LinePattern("^a.*time$");
  const std::string long_line = "a" + std::string(300'000, ' ') + "time\n";
  EXPECT_FALSE(output_difference(long_line + "b\n", "b\n", rules));
  EXPECT_THROW(LinePattern("(time"), InputError);
}

}  // namespace
}  // namespace ductile
