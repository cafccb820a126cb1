// In simulation: tests/property/power_policies_test.cpp. Chadha, John and Gerndt 2020.
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

const AdaptiveSpec kHundredWatts{.watts_per_node = 100};

// Nodes draw nothing but what jobs draw. As few of them idle as the upper bound lets.
TEST(PowerAware, ComesInsideWhenTheCorridorIsLeft) {
  SmallWorld world(14, "power_aware");
  const JobId job = world.submit(malleable({1, 14}, 2, 400), kHundredWatts);
  world.close();
  EXPECT_EQ(world.size(job), 2u);
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{800, 1050});
  world.close();
  EXPECT_EQ(world.size(job), 10u);
  EXPECT_EQ(world.why(job), Why::corridor);
  EXPECT_EQ(world.core.found_sizes(), std::nullopt);  // of the last close, without a pass
  world.at(20);
  world.core.apply(world.now, event::CorridorChanged{0, 350});
  world.close();
  EXPECT_EQ(world.size(job), 3u);
}

TEST(PowerAware, StartsWhoWaitsToComeInside) {
  SmallWorld world(14, "power_aware");
  world.core.apply(world.now, event::CorridorChanged{0, 300});
  const JobId runs = world.submit(malleable({1, 3}, 2, 400), kHundredWatts),
              first = world.submit(rigid(4, 100), kHundredWatts),
              second = world.submit(rigid(2, 100), kHundredWatts);
  world.close();
  EXPECT_TRUE(world.runs(runs));
  EXPECT_FALSE(world.runs(first));
  EXPECT_FALSE(world.runs(second));
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{600, 700});
  world.close();
  EXPECT_TRUE(world.runs(first));
  EXPECT_FALSE(world.runs(second));
  EXPECT_EQ(world.size(runs), 3u);
}

// Above the corridor nothing starts while nothing keeps it.
TEST(PowerAware, StartsNobodyAboveTheCorridor) {
  SmallWorld world(14, "power_aware");
  world.submit(malleable({4, 8}, 4, 400), kHundredWatts);
  world.close();
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{0, 300});
  const JobId other = world.submit(rigid(1, 100), {.watts_per_node = 1});
  world.close();
  EXPECT_FALSE(world.runs(other));
}

// A job for which no line ever lets enough be drawn keeps nobody waiting; one for which a line to
// come does is waited for.
TEST(PowerAware, PassesWhoFitsUnderNoLine) {
  SmallWorld world(14, "power_aware");
  world.core.apply(world.now, event::CorridorChanged{0, 500, {{testing::at_s(100), 0, 700}}});
  const JobId never = world.submit(rigid(8, 100), kHundredWatts),
              small = world.submit(rigid(1, 100), kHundredWatts),
              later = world.submit(rigid(7, 100), kHundredWatts),
              behind = world.submit(rigid(1, 100), kHundredWatts);
  world.close();
  EXPECT_FALSE(world.runs(never));
  EXPECT_TRUE(world.runs(small));
  EXPECT_FALSE(world.runs(later));
  EXPECT_FALSE(world.runs(behind));
}

// Where nodes are not those that are needed: above the bound what is cut is cut all the same.
TEST(PowerAware, ComesInsideWhereJobsMayNotRunEverywhere) {
  Platform machine{.nodes = 12};
  machine.partitions = {{.name = "a", .nodes = testing::nodes({{0, 3}})},
                        {.name = "b", .nodes = testing::nodes({{4, 11}})}};
  SmallWorld world(machine, "power_aware");
  const auto in = [](std::uint64_t partition) {
    return std::make_shared<const Where>(Where{.partitions = partition});
  };
  const JobId a = world.submit(malleable({1, 12}, 2, 1000), kHundredWatts, in(1)),
              b = world.submit(malleable({1, 12}, 8, 1000), {.watts_per_node = 300}, in(2));
  world.close();
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{0, 1000});
  world.close();
  EXPECT_EQ(world.size(a), 4u);  // and not the 9 that would do
  EXPECT_EQ(world.size(b), 2u);
}

}  // namespace
}  // namespace ductile
