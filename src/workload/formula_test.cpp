#include "workload/formula.hpp"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complaint.hpp"

namespace ductile {
namespace {

double value(const std::string& text, const Variables& variables = {}) {
  return Formula(text, {}).value(variables);
}

TEST(Formula, HasTheUsualOperators) {
  EXPECT_DOUBLE_EQ(value("1 + 2*3 - 8/4"), 5);
  EXPECT_DOUBLE_EQ(value("2^3^2"), 512);
  EXPECT_DOUBLE_EQ(value("8e12/4"), 2e12);
  EXPECT_DOUBLE_EQ(value("17 % 5"), 2);
  EXPECT_DOUBLE_EQ(value("3 + 17 % 5 * 2"), 7);
  EXPECT_DOUBLE_EQ(value("-(2 - 5)"), 3);
}

TEST(Formula, HasConditions) {
  const Formula formula("n % 2 == 0 ? n + 4 : n - 4", {});
  EXPECT_DOUBLE_EQ(formula.value({{"n", 6}}), 10);
  EXPECT_DOUBLE_EQ(formula.value({{"n", 7}}), 3);
  EXPECT_DOUBLE_EQ(value("1 < 2 and 3 > 4"), 0);
  EXPECT_DOUBLE_EQ(value("1 < 2 or 3 > 4"), 1);
  EXPECT_DOUBLE_EQ(value("1 < 2 && 3 != 4"), 1);
  EXPECT_DOUBLE_EQ(value("2 <= 2 && 3 >= 4 || 5 == 5"), 1);
}

TEST(Formula, HasTheUsualFunctions) {
  EXPECT_DOUBLE_EQ(value("floor(2.7) + ceil(2.1) + round(2.5) + trunc(-2.7)"), 6);
  EXPECT_DOUBLE_EQ(value("min(3, 1, 2) + max(3, 1, 2) + abs(-1)"), 5);
  EXPECT_DOUBLE_EQ(value("pow(2, 10) + sqrt(9)"), 1027);
  EXPECT_DOUBLE_EQ(value("log(exp(2)) + log2(8) + log10(100)"), 7);
}

TEST(Formula, MayBeANumber) {
  EXPECT_DOUBLE_EQ(Formula(2.5).value({}), 2.5);
  EXPECT_FALSE(Formula(2.5).uses("n"));
}

TEST(Formula, KnowsItsNames) {
  const Formula formula("flops/num_nodes^alpha", {});
  EXPECT_TRUE(formula.uses("num_nodes"));
  EXPECT_TRUE(formula.uses("alpha"));
  EXPECT_FALSE(formula.uses("nodes"));
  EXPECT_DOUBLE_EQ(formula.value({{"flops", 100}, {"num_nodes", 4}, {"alpha", 0.5}}), 50);
  // Once more, with other numbers.
  EXPECT_DOUBLE_EQ(formula.value({{"flops", 90}, {"num_nodes", 9}, {"alpha", 0.5}, {"x", 1}}), 30);
}

TEST(Formula, SaysWhatIsWrongAndWhere) {
  const Place place{.file = "app.json", .field = "/phases/0/iterations"};
  const auto error_of = [&](const std::string& text, const Variables& variables) -> std::string {
    return testing::complaint([&] { Formula(text, place).value(variables); });
  };
  using ::testing::HasSubstr;
  using ::testing::StartsWith;
  EXPECT_THAT(error_of("2 +", {}),
              StartsWith("app.json: /phases/0/iterations: '2 +' is no formula"));
  EXPECT_THAT(error_of("", {}), HasSubstr("is no formula"));
  EXPECT_THAT(error_of("f(2)", {}), HasSubstr("is no formula"));
  EXPECT_THAT(error_of("1, 2", {}), HasSubstr("several"));
  EXPECT_THAT(error_of("x = 3", {}), HasSubstr("single ="));
  EXPECT_THAT(error_of("=", {}), HasSubstr("single ="));
  EXPECT_THAT(error_of("2 * x", {{"y", 1}}), HasSubstr("uses x"));
  EXPECT_THAT(error_of("1 / x", {{"x", 0}}), HasSubstr("no finite value"));
  EXPECT_THAT(error_of("17 % x", {{"x", 0}}), HasSubstr("no finite value"));
}

}  // namespace
}  // namespace ductile
