#include "report/circumstances.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

// How they are collected and told: tests/property/explanation_test.cpp.
TEST(Circumstances, AreReadAsTheyWereWritten) {
  using What = Circumstance::What;
  using Other = Circumstance::Other;
  Circumstance plan{.what = What::plan, .job = 7, .why = "resources"};
  plan.at = Time{whole_seconds(10)};
  for (std::uint64_t number = 1; number <= 7; ++number) {
    add(plan, {.kind = Other::Kind::shrinking, .number = number, .nodes = 4, .at = plan.at});
  }
  EXPECT_EQ(plan.others.size(), Circumstance::kMostNamed + 1);
  const Circumstance claim{.what = What::claim,
                           .job = 7,
                           .flag = true,
                           .count = 2,
                           .others = {{.number = 3, .nodes = 5, .count = -1}},
                           .total = 1};
  for (const Circumstance& its : {plan, claim, Circumstance{.what = What::for_it, .job = 7}}) {
    EXPECT_EQ(circumstance_from_record(7, to_record(its)), its) << to_record(its);
  }
  EXPECT_EQ(to_record(claim), "claim yes count=2 job=3:5:-1");
  for (const char* wrong : {"", "nothing", "plan at=soon", "plan nodes=3", "claim job=1:x:0"}) {
    EXPECT_EQ(circumstance_from_record(7, wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace ductile
