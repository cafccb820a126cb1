#include "cli/number_range.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(NumberRange, TakesFiniteNumbersWithin) {
  const NumberRange range(-0.5, 1e6);
  for (std::string text : {"-0.5", "0", "1", "1e6", "2.5e-3"}) EXPECT_EQ(range(text), "") << text;
  for (std::string text :
       {"nan", "NaN", "-nan", "inf", "-inf", "1e999", "-0.51", "1000000.1", "x", "", "1x"}) {
    EXPECT_EQ(range(text), "'" + text + "' is no number from -0.5 to 1000000") << text;
  }
}

TEST(NumberRange, SaysSoInTheHelp) {
  EXPECT_EQ(NumberRange(0, 1e9).get_description(), CLI::Range(0.0, 1e9).get_description());
}

TEST(NumberRange, EndsTheCommandLine) {
  CLI::App app;
  double value = 1;
  app.add_option("--load", value)->check(NumberRange(0, 2));
  EXPECT_THROW(app.parse("--load nan"), CLI::ValidationError);
  app.parse("--load 2");
  EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace ductile
