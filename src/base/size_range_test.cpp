#include "base/size_range.hpp"

#include <algorithm>
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
    case Kind::list:
      return std::ranges::count(constraint.sizes.rows(), n) == 1;
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
                      SizeConstraint{Kind::multiple, 8}, SizeConstraint{Kind::multiple, 7},
                      parse_constraint("list:1:2:6:7:100:2999:3500:4000000000")));

// Chadha, John and Gerndt, HiPC 2020: 8 nodes, even sizes, 6 are needed: 2 stay.
TEST(SizeConstraint, ShrinksToTheLargestAllowedSize) {
  EXPECT_EQ((SizeConstraint{Kind::even}.at_most(8 - 6)), 2u);
}

TEST(SizeConstraint, OfNoSizeIsNone) {
  constexpr Nodes kNone = SizeConstraint::kNone;
  const SizeConstraint list = parse_constraint("list:4:8");
  EXPECT_EQ(list.at_most(3), 0u);
  EXPECT_FALSE(list.allows(3));
  EXPECT_EQ(list.at_least(9), kNone);
  EXPECT_EQ((SizeConstraint{Kind::power_of_two}.at_least(3'000'000'000)), kNone);
  EXPECT_EQ((SizeConstraint{Kind::cubic}.at_least(4'291'015'626)), kNone);
  EXPECT_EQ((SizeConstraint{Kind::cubic}.at_least(4'291'015'625)), 4'291'015'625);
  EXPECT_EQ((SizeConstraint{Kind::multiple, 3'000'000'000}.at_least(3'000'000'001)), kNone);
  EXPECT_EQ((SizeConstraint{Kind::even}.at_least(kNone)), kNone);
}

// Chadha, John and Gerndt 2020: eight nodes, even sizes, six are needed.
TEST(SizeConstraint, WhereAJobGoesThatGives) {
  const SizeConstraint even{Kind::even};
  EXPECT_EQ(even.after_giving(8, 6, {1, 8}), 2u);
  EXPECT_EQ(even.after_giving(8, 5, {1, 8}), 2u);
  EXPECT_EQ(even.after_giving(8, 7, {1, 8}), 2u);  // what is possible
  EXPECT_EQ(even.after_giving(8, 100, {3, 8}), 4u);
  EXPECT_EQ(even.after_giving(7, 1, {1, 8}), 6u);  // back to what is allowed
  EXPECT_EQ(even.after_giving(2, 1, {2, 8}), 2u);
  EXPECT_EQ(even.after_giving(3, 1, {4, 8}), 3u);  // below its range
  EXPECT_EQ(SizeConstraint{}.after_giving(8, 3, {2, 8}), 5u);
  EXPECT_EQ(SizeConstraint{}.after_giving(8, 9, {2, 8}), 2u);
  EXPECT_EQ(SizeConstraint{Kind::cubic}.after_giving(30, 1, {1, 64}), 27u);
  EXPECT_EQ(parse_constraint("list:100").after_giving(8, 3, {2, 8}), 8u);
}

TEST(SizeConstraint, WhereAJobGoesThatGets) {
  const SizeConstraint powers{Kind::power_of_two};
  EXPECT_EQ(powers.after_getting(3, 1, {1, 16}), 4u);
  EXPECT_EQ(powers.after_getting(4, 3, {1, 16}), 4u);
  EXPECT_EQ(powers.after_getting(4, 100, {1, 16}), 16u);
  EXPECT_EQ(powers.after_getting(4, 100, {1, 15}), 8u);
  EXPECT_EQ(SizeConstraint{}.after_getting(9, 3, {1, 8}), 9u);
  EXPECT_EQ(SizeConstraint{}.after_getting(4, ~Nodes{0}, {1, 8}), 8u);
}

TEST(SizeConstraint, ListsAreEqualByContent) {
  EXPECT_EQ(parse_constraint("list:4:8"), parse_constraint("list:4:8"));
  EXPECT_NE(parse_constraint("list:4:8"), parse_constraint("list:4"));
  EXPECT_NE(parse_constraint("list:4:8"), SizeConstraint{Kind::list});
  EXPECT_TRUE(SizeConstraint{}.sizes.rows().empty());
}

TEST(SizeConstraint, HasATextForm) {
  for (const char* text :
       {"any", "pof2", "even", "odd", "cubic", "multiple:4", "list:3", "list:1:2:4294967294"}) {
    EXPECT_EQ(to_text(parse_constraint(text)), text);
  }
  EXPECT_EQ(parse_constraint("multiple:4"), (SizeConstraint{Kind::multiple, 4}));
}

TEST(SizeConstraint, BadTextIsAnError) {
  for (const char* text :
       {"", "Any", "any:", "even:2", "multiple", "multiple:", "multiple:0", "multiple:x",
        "multiple:2:3", "list", "list:", "list:0", "list:1:", "list:1::2", "list:2:1", "list:2:2",
        "list:1:4294967295", "list:1:99999999999", "list:1,2"}) {
    EXPECT_THROW(parse_constraint(text), InputError) << text;
  }
  try {
    parse_constraint("fast", {"jobs.adaptive", 3, "constraint"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "jobs.adaptive:3: constraint: there is no constraint 'fast'; use any, pof2, even, "
                 "odd, cubic, multiple:N or list:N:N:...");
  }
}

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
