#include "base/size_range.hpp"

#include <bit>

#include <gtest/gtest.h>

namespace ductile {
namespace {

using Kind = SizeConstraint::Kind;

// What the names say, the slow way.
bool is_allowed(const SizeConstraint& constraint, Nodes n) {
  switch (constraint.kind) {
    case Kind::any:
      return n > 0;
    case Kind::power_of_two:
      return std::has_single_bit(n);
    case Kind::even:
      return n > 0 && n % 2 == 0;
    case Kind::odd:
      return n % 2 == 1;
    case Kind::cubic:
      for (Nodes k = 1; k * k * k <= n; ++k) {
        if (k * k * k == n) return true;
      }
      return false;
    case Kind::multiple:
      return n > 0 && n % constraint.multiple_of == 0;
  }
  return false;
}

class SizeConstraints : public ::testing::TestWithParam<SizeConstraint> {};

TEST_P(SizeConstraints, AgreeWithTryingAllSizes) {
  const SizeConstraint& constraint = GetParam();
  Nodes at_most = 0;
  for (Nodes n = 0; n <= 3000; ++n) {
    const bool allowed = is_allowed(constraint, n);
    if (allowed) at_most = n;
    ASSERT_EQ(constraint.allows(n), allowed) << n;
    ASSERT_EQ(constraint.at_most(n), at_most) << n;
  }
  Nodes at_least = 0;  // there is one of every kind between 3000 and 4096
  for (Nodes n = 4096; n > 0; --n) {
    if (is_allowed(constraint, n)) at_least = n;
    if (n <= 3000) {
      ASSERT_EQ(constraint.at_least(n), at_least) << n;
    }
  }
  EXPECT_EQ(constraint.at_least(0), constraint.at_least(1));
}

TEST_P(SizeConstraints, HoldForTheLargestSizes) {
  const SizeConstraint& constraint = GetParam();
  const Nodes largest = Nodes{1} << 31;
  for (Nodes n = largest - 100; n < largest; ++n) {
    const Nodes below = constraint.at_most(n), above = constraint.at_least(n);
    ASSERT_LE(below, n);
    ASSERT_GE(above, n);
    ASSERT_TRUE(constraint.allows(below));
    ASSERT_TRUE(constraint.allows(above));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SizeConstraints,
    ::testing::Values(SizeConstraint{Kind::any}, SizeConstraint{Kind::power_of_two},
                      SizeConstraint{Kind::even}, SizeConstraint{Kind::odd},
                      SizeConstraint{Kind::cubic}, SizeConstraint{Kind::multiple, 1},
                      SizeConstraint{Kind::multiple, 8}, SizeConstraint{Kind::multiple, 7}));

TEST(SizeRange, ContainsBothEnds) {
  constexpr SizeRange range{2, 4};
  EXPECT_FALSE(range.contains(1));
  EXPECT_TRUE(range.contains(2));
  EXPECT_TRUE(range.contains(4));
  EXPECT_FALSE(range.contains(5));
  EXPECT_EQ(exactly(3), (SizeRange{3, 3}));
}

}  // namespace
}  // namespace ductile
