#include "scheduling/multifactor.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ductile {
namespace {

constexpr Duration kDay = whole_seconds(24 * 3600);

TEST(Multifactor, AgeGrowsUntilItsMaximum) {
  const Multifactor rules;  // a week
  EXPECT_EQ(age_factor(rules, Duration{}), 0);
  EXPECT_EQ(age_factor(rules, -kDay), 0);  // it came after the queue was sorted
  EXPECT_DOUBLE_EQ(age_factor(rules, kDay), 1.0 / 7);
  EXPECT_EQ(age_factor(rules, 7 * kDay - 7 * kDay / 2), 0.5);
  EXPECT_EQ(age_factor(rules, 7 * kDay), 1);
  EXPECT_EQ(age_factor(rules, 70 * kDay), 1);
  EXPECT_EQ(age_factor({.max_age = Duration{}}, Duration{}), 1);
  EXPECT_EQ(age_factor({.max_age = Duration{}}, -kDay), 1);
}

TEST(Multifactor, SizeIsThePartOfTheMachine) {
  const Duration hour = whole_seconds(3600);
  EXPECT_EQ(size_factor({}, 64, 256, hour), 0.25);
  EXPECT_EQ(size_factor({}, 256, 256, hour), 1);
  EXPECT_EQ(size_factor({}, 300, 256, hour), 1);  // it waits for a larger machine
  EXPECT_EQ(size_factor({.favor_small = true}, 64, 256, hour), 0.75);
  EXPECT_EQ(size_factor({.favor_small = true}, 256, 256, hour), 0);
  EXPECT_EQ(size_factor({.favor_small = true}, 300, 256, hour), 0);
}

TEST(Multifactor, SizeCanBeRelativeToTheMinutesAskedFor) {
  const Multifactor large{.small_relative_to_time = true};
  EXPECT_EQ(size_factor(large, 64, 256, whole_seconds(120)), 0.125);
  EXPECT_EQ(size_factor(large, 64, 256, whole_seconds(30)), 0.25);
  EXPECT_EQ(size_factor(large, 64, 256, whole_seconds(1)), 0.25);  // as in a minute
  EXPECT_EQ(size_factor(large, 64, 256, Duration{}), 0.25);
  const Multifactor small{.favor_small = true, .small_relative_to_time = true};
  EXPECT_EQ(size_factor(small, 64, 256, whole_seconds(120)), 0.875);
  EXPECT_EQ(size_factor(small, 64, 256, whole_seconds(1)), 0.75);
}

// 2^-(used / share): 1 for who used nothing, half for who used just his share, a quarter for twice.
TEST(Multifactor, FairShareIsHalvedWithEachShareThatIsUsed) {
  EXPECT_EQ(fairshare_factor({}, 0, 0.25), 1);
  EXPECT_EQ(fairshare_factor({}, 0.25, 0.25), 0.5);
  EXPECT_EQ(fairshare_factor({}, 0.5, 0.25), 0.25);
  EXPECT_NEAR(fairshare_factor({}, 0.25, 0.5), 0.70711, 1e-5);
  EXPECT_EQ(fairshare_factor({.fairshare_dampening = 2}, 0.5, 0.25), 0.5);
  EXPECT_NEAR(fairshare_factor({.fairshare_dampening = 10}, 0.25, 0.25), 0.93303, 1e-5);
}

TEST(Multifactor, PartitionsAreComparedWithTheHighest) {
  Platform platform{.nodes = 8};
  EXPECT_EQ(partition_factor(platform, 0), 1);
  platform.partitions = {{.name = "a"}, {.name = "b"}};
  EXPECT_EQ(partition_factor(platform, 0b10), 1);  // all are alike
  platform.partitions = {{.name = "a", .priority = 10},
                         {.name = "b", .priority = 40},
                         {.name = "c", .priority = 0},
                         {.name = "d", .priority = 30}};
  EXPECT_EQ(partition_factor(platform, 0), 0.25);  // the first one
  EXPECT_EQ(partition_factor(platform, 0b0010), 1);
  EXPECT_EQ(partition_factor(platform, 0b0100), 0);
  EXPECT_EQ(partition_factor(platform, 0b1101), 0.75);  // the best of them
  for (Partition& each : platform.partitions) each.priority = 0;
  EXPECT_EQ(partition_factor(platform, 0b0010), 0);
}

TEST(Multifactor, ThePriorityIsTheWholeSumOfTheWeightedFactors) {
  const PriorityFactors factors{.age = 0.5, .fairshare = 0.25, .size = 0.125, .partition = 0.75};
  EXPECT_EQ(priority({.weight_age = 1000}, factors), 500u);
  EXPECT_EQ(priority({.weight_fairshare = 1000}, factors), 250u);
  EXPECT_EQ(priority({.weight_size = 1000}, factors), 125u);
  EXPECT_EQ(priority({.weight_partition = 1000}, factors), 750u);
  const Multifactor all{
      .weight_age = 1001, .weight_fairshare = 10'000, .weight_size = 100, .weight_partition = 10};
  EXPECT_EQ(priority(all, factors), 3020u);  // 500.5 + 2500 + 12.5 + 7.5 = 3020.5
  EXPECT_EQ(priority({}, factors), 1u);
  EXPECT_EQ(priority({.weight_age = 1}, factors), 1u);
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(priority({.weight_age = most, .weight_size = most}, {.age = 1, .size = 1}), most);
}

}  // namespace
}  // namespace ductile
