#include "model/reconfiguration.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(ReconfigurationCost, IsItsFormulaOfDifferenceAndSum) {
  // alpha D + beta / N + b D + fixed, with D = 5 and N = 15.
  const ReconfigurationCost cost{.alpha_s = 2, .beta_s = 30, .b_s = 0.5, .fixed_s = 1};
  EXPECT_EQ(cost.of(5, 10), seconds(10 + 2 + 2.5 + 1));
  EXPECT_EQ(cost.of(10, 5), cost.of(5, 10));
}

// The examples of both papers.
TEST(ReconfigurationCost, ALargerStepCostsMore) {
  const ReconfigurationCost cost{.alpha_s = 1, .beta_s = 10, .b_s = 1, .fixed_s = 0.1};
  EXPECT_LT(cost.of(5, 10), cost.of(5, 20));  // (D, N) = (5, 15) and (15, 25)
  EXPECT_LT(cost.of(8, 16), cost.of(4, 16));  // (8, 24) and (12, 20)
}

TEST(ReconfigurationCost, ScaleLeavesTheFixedPart) {
  const ReconfigurationCost half{
      .alpha_s = 2, .beta_s = 30, .b_s = 0.5, .fixed_s = 1, .scale = 0.5};
  EXPECT_EQ(half.of(5, 10), seconds((10 + 2 + 2.5) / 2 + 1));
}

// 10 GB, of which the brackets say how often they are sent, at 12.5 GB/s from each node of the
// smaller size.
TEST(ReconfigurationCost, InBytesTheNodesOfTheSmallerSizeSendThem) {
  const ReconfigurationCost cost{
      .alpha_s = 2, .beta_s = 30, .b_s = 0.5, .fixed_s = 1, .scale = 0.5, .transfer_s = 10 / 12.5};
  EXPECT_EQ(cost.of(5, 10), seconds((10 + 2 + 2.5) / 2 * 0.8 / 5 + 1));
  EXPECT_EQ(cost.of(10, 5), cost.of(5, 10));
  // As far as from 5 to 10, but with 5 times as many senders, and a larger sum.
  EXPECT_EQ(cost.of(25, 30), seconds((10 + 30 / 55.0 + 2.5) / 2 * 0.8 / 25 + 1));
  EXPECT_EQ(cost.of(5, 5), Duration{});
  EXPECT_EQ(cost.of(0, 1), seconds((2 + 30 + 0.5) / 2 * 0.8 + 1));  // of a job that waits
}

TEST(ReconfigurationCost, NothingChangedCostsNothing) {
  const ReconfigurationCost cost{.alpha_s = 1, .fixed_s = 1};
  EXPECT_EQ(cost.of(5, 5), Duration{});
  EXPECT_EQ(ReconfigurationCost{}.of(5, 10), Duration{});
}

}  // namespace
}  // namespace ductile
