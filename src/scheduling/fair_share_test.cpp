#include "scheduling/fair_share.hpp"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;

Time at_s(std::int64_t seconds) { return Time{whole_seconds(seconds)}; }

std::map<std::uint32_t, double> used(const Uses& uses, Time now, const FairShare& rules) {
  std::map<std::uint32_t, double> found;
  for (const Standing& standing : uses.standings(now, rules)) found[standing.user] = standing.value;
  return found;
}

TEST(Uses, GoOnFromRowsAsTheyWere) {
  const FairShare rules{.half_life = whole_seconds(50)};
  Uses uses, again;
  uses.change(7, 4, at_s(100), rules.half_life);
  uses.change(3, 1, at_s(110), rules.half_life);
  uses.change(7, -1, at_s(120), rules.half_life);
  uses.for_each(
      [&](std::uint32_t user, double node_s, Time at) { again.restore(user, node_s, at); });
  again.hold(7, 3);
  again.hold(3, 1);
  EXPECT_EQ(used(again, at_s(200), rules), used(uses, at_s(200), rules));
}

TEST(Uses, CountWhatIsHeldFromMomentToMoment) {
  const FairShare rules{.half_life = Duration{}};
  Uses uses;
  uses.change(7, 4, at_s(100), rules.half_life);
  uses.change(3, 1, at_s(100), rules.half_life);
  EXPECT_EQ(used(uses, at_s(110), rules), (std::map<std::uint32_t, double>{{3, 10}, {7, 40}}));
  uses.change(7, -3, at_s(110), rules.half_life);
  uses.change(3, -1, at_s(120), rules.half_life);
  EXPECT_EQ(used(uses, at_s(200), rules), (std::map<std::uint32_t, double>{{3, 20}, {7, 130}}));
}

TEST(Uses, FadeByHalfInEachHalfLife) {
  const FairShare rules{.half_life = whole_seconds(100)};
  Uses uses;
  uses.change(1, 10, at_s(0), rules.half_life);
  uses.change(1, -10, at_s(1), rules.half_life);
  const double before = used(uses, at_s(1), rules)[1];
  EXPECT_NEAR(before, 10, 0.05);
  EXPECT_NEAR(used(uses, at_s(101), rules)[1], before / 2, 1e-9);
  EXPECT_NEAR(used(uses, at_s(1001), rules)[1], before / 1024, 1e-9);
  // Who holds all the time approaches what fades as fast as it comes.
  uses.change(2, 1, at_s(1001), rules.half_life);
  EXPECT_NEAR(used(uses, at_s(1'000'000), rules)[2], 100 / std::log(2), 1e-6);
}

TEST(Uses, AreTheSameHoweverOftenTheyChange) {
  const FairShare rules{.half_life = whole_seconds(50)};
  Uses once, often;
  once.change(1, 3, at_s(0), rules.half_life);
  often.change(1, 3, at_s(0), rules.half_life);
  Draws draws(1, Stream::test, 0);
  Time now{};
  while (now < at_s(300)) {
    now = later(now, Duration(static_cast<std::int64_t>(draws.below(5'000'000))));
    often.change(1, -3, now, rules.half_life);
    often.change(1, 3, now, rules.half_life);
  }
  EXPECT_NEAR(used(often, at_s(400), rules)[1], used(once, at_s(400), rules)[1], 1e-9);
}

TEST(Uses, AreWeighedWithShares) {
  const FairShare rules{.half_life = Duration{}, .shares = {{2, 4}, {9, 0.5}}};
  Uses uses;
  for (const std::uint32_t user : {1U, 2U, 9U}) uses.change(user, 1, at_s(0), rules.half_life);
  EXPECT_EQ(used(uses, at_s(8), rules), (std::map<std::uint32_t, double>{{1, 8}, {2, 2}, {9, 16}}));
}

std::map<std::uint32_t, double> factors(const Uses& uses, Time now, const FairShare& rules,
                                        const Multifactor& how = {}) {
  std::map<std::uint32_t, double> found;
  for (const Standing& its : uses.factors(now, rules, how)) found[its.user] = its.value;
  return found;
}

// Parts of what all have used, and of the shares of all.
TEST(Uses, MakeTheFactorsOfFairShare) {
  const FairShare rules{.half_life = Duration{}, .shares = {{2, 2}, {3, 1}}};
  Uses uses;
  EXPECT_TRUE(factors(uses, at_s(0), rules).empty());
  uses.change(1, 3, at_s(0), rules.half_life);
  uses.change(2, 1, at_s(0), rules.half_life);
  using Map = std::map<std::uint32_t, double>;
  EXPECT_EQ(factors(uses, at_s(0), rules), (Map{{1, 1}, {2, 1}}));  // nobody has used anything
  // Of 40 node-seconds user 1 has 3/4, with one share of four, and user 2 1/4, with two of four.
  EXPECT_EQ(factors(uses, at_s(10), rules), (Map{{1, 0.125}, {2, std::exp2(-0.5)}}));
  EXPECT_EQ(factors(uses, at_s(10), rules, {.fairshare_dampening = 3}),
            (Map{{1, 0.5}, {2, std::exp2(-0.5 / 3)}}));
  // User 3 has a share already, and is not counted twice when it comes.
  uses.change(3, 1, at_s(10), rules.half_life);
  EXPECT_EQ(factors(uses, at_s(10), rules), (Map{{1, 0.125}, {2, std::exp2(-0.5)}, {3, 1}}));
  // Who holds nothing goes up while others hold, as what he used becomes a smaller part of all.
  uses.change(1, -3, at_s(10), rules.half_life);
  EXPECT_EQ(factors(uses, at_s(30), rules),
            (Map{{1, std::exp2(-30.0 / 80 * 4)}, {2, std::exp2(-30.0 / 80 * 2)}, {3, 0.5}}));
}

TEST(Shares, AreReadAsTheyAreWritten) {
  EXPECT_TRUE(parse_shares("none").empty());
  EXPECT_THAT(parse_shares("1001:4+7:0.5"), ElementsAre(UserShare{7, 0.5}, UserShare{1001, 4}));
  for (const char* wrong :
       {"", "1001", "1001:", "1001:0", "1001:-1", "1001:nan", "ada:1", "1:1+", "1:1+1:2"}) {
    EXPECT_THROW(parse_shares(wrong), InputError) << wrong;
  }
}

}  // namespace
}  // namespace ductile
