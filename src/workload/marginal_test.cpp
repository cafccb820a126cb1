#include "workload/marginal.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/goodness_of_fit.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Marginal parsed(const char* text) { return parse_marginal("size", text, 0, 1e6); }

// 20,000 draws: the distance fits, and the mean to 4 standard errors.
TEST(Marginal, DrawsWhatItSays) {
  for (const char* text :
       {"uniform:2..10", "loguniform:1..1000", "exponential:20", "lognormal:100:0.5"}) {
    const Marginal marginal = parsed(text);
    std::vector<double> values;
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      Draws draws(5, Stream::test, i);
      values.push_back(marginal.draw(draws));
      sum += values.back();
      squares += values.back() * values.back();
    }
    const double mean = sum / 20'000;
    const double error = std::sqrt((squares / 20'000 - mean * mean) / 20'000);
    EXPECT_NEAR(mean, marginal.mean(), 4 * error) << text;
    EXPECT_LT(ks_distance(values, [&](double x) { return marginal.share_up_to(x); }),
              ks_limit(values.size()))
        << text;
  }
}

TEST(Marginal, AFixedValueIsDrawnAlways) {
  Draws draws(1, Stream::test, 1);
  for (const char* text : {"7", "fixed:7", "uniform:7..7", "loguniform:7..7", "lognormal:7:0"}) {
    EXPECT_DOUBLE_EQ(parsed(text).draw(draws), 7) << text;
    EXPECT_DOUBLE_EQ(parsed(text).mean(), 7) << text;
    EXPECT_EQ(parsed(text).share_up_to(6.99), 0) << text;
    EXPECT_EQ(parsed(text).share_up_to(7), 1) << text;
  }
}

TEST(Marginal, ErrorsSayWhatIsWrong) {
  const auto message = [](const char* text, const char* expected) {
    EXPECT_THAT([&] { parsed(text); }, ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message("", "size: '' has '' where a number from 0 to 1000000 belongs; write V, uniform:A..B");
  message("x", "'x' has 'x' where a number");
  message("-1", "'-1' has '-1' where");
  message("normal:3", "'normal:3' is no distribution");
  message("uniform:3", "has no range");
  message("uniform:3..2", "has an empty range");
  message("uniform:3..2e6", "has '2e6' where");
  message("loguniform:0..2", "begins at 0");
  message("exponential:0", "is of 0");
  message("exponential:5:6", "has '5:6' where");
  message("lognormal:5", "has '' where a number from 0 to 10 belongs");
  message("lognormal:5:11", "has '11' where a number from 0 to 10 belongs");
}

}  // namespace
}  // namespace ductile
