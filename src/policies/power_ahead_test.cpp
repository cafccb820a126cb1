// In simulation: tests/property/power_policies_test.cpp.
#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

const AdaptiveSpec kHundredWatts{.watts_per_node = 100};

// Nodes draw nothing but what jobs draw. A job starts at any size, and has another one in each
// pass.
TEST(PowerAhead, HasAsManyBusyNodesAsTheCorridorLets) {
  SmallWorld world(14, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{800, 1050});
  const JobId job = world.submit(malleable({1, 14}, 2, 400), kHundredWatts);
  world.close();
  EXPECT_EQ(world.size(job), 10u);
  world.at(10);
  const JobId other = world.submit(rigid(4, 100), kHundredWatts);
  world.close();
  EXPECT_TRUE(world.runs(other));  // a rigid job goes first
  EXPECT_EQ(world.size(job), 6u);
  world.at(20);
  world.core.apply(world.now, event::CorridorChanged{0, 750});
  world.close();
  EXPECT_EQ(world.size(job), 3u);
}

// Of as many busy nodes those that draw the least, unless it is known that less will be allowed.
TEST(PowerAhead, PrefersWorkByWhatIsToCome) {
  for (const bool falls : {false, true}) {
    SmallWorld world(4, "power_ahead");
    event::CorridorChanged corridor{0, 1000};
    if (falls) corridor.coming = {{Time{whole_seconds(300)}, 0, 500}};
    world.core.apply(world.now, corridor);
    const JobId cheap = world.submit(malleable({1, 4}, 4, 400), kHundredWatts),
                dear = world.submit(malleable({1, 4}, 4, 400), {.watts_per_node = 250});
    world.close();
    EXPECT_EQ(world.size(cheap), falls ? 0u : 4u);
    EXPECT_EQ(world.size(dear), falls ? 4u : 0u);
  }
}

// The lower bound cannot be reached: as near to it as possible.
TEST(PowerAhead, ComesNearToWhatItCannotKeep) {
  SmallWorld world(4, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{900, 1000});
  const JobId cheap = world.submit(malleable({1, 4}, 2, 400), kHundredWatts),
              dear = world.submit(malleable({1, 2}, 2, 400), {.watts_per_node = 250});
  world.close();
  EXPECT_EQ(world.size(dear), 2u);
  EXPECT_EQ(world.size(cheap), 2u);
}

const AdaptiveSpec kOtherWatts{.watts_per_node = 101};

// Who cannot be cut, and runs when less will be allowed, waits, as far as others draw then what
// would be left.
TEST(PowerAhead, HoldsWhoWouldBreakABoundToCome) {
  SmallWorld world(8, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{0, 800, {{at_s(100), 0, 300}, {at_s(400)}}});
  const JobId long_one = world.submit(rigid(4, 200), kHundredWatts),
              short_one = world.submit(rigid(4, 100), kHundredWatts),
              small_one = world.submit(rigid(2, 200), kHundredWatts),
              second = world.submit(rigid(2, 200), kHundredWatts);
  world.close();
  EXPECT_FALSE(world.runs(long_one));  // 400 W at 100 s
  EXPECT_TRUE(world.runs(short_one));  // it has ended then
  EXPECT_TRUE(world.runs(small_one));
  EXPECT_FALSE(world.runs(second));  // 200 W and as many
  world.at(100);
  world.end(short_one);
  world.core.apply(world.now, event::CorridorChanged{0, 300, {{at_s(400)}}});
  world.close();
  EXPECT_FALSE(world.runs(long_one));
  world.at(400);
  world.core.apply(world.now, event::CorridorChanged{0, 800});
  world.close();
  EXPECT_TRUE(world.runs(long_one));
}

// Who can be cut counts with his smallest size, and moldable jobs with what they start with.
TEST(PowerAhead, ElasticJobsMakeRoomForABoundToCome) {
  SmallWorld world(8, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{0, 800, {{at_s(100), 0, 300}}});
  const JobId elastic = world.submit(malleable({1, 6}, 4, 1000), kHundredWatts),
              moldable =
                  world.submit(testing::sized(JobType::moldable, {1, 4}, 4, 1000), kHundredWatts);
  world.close();
  EXPECT_TRUE(world.runs(elastic));
  EXPECT_EQ(world.size(moldable), 2u);
  EXPECT_EQ(world.size(elastic), 6u);
  world.at(100);
  world.core.apply(world.now, event::CorridorChanged{0, 300});
  world.close();
  EXPECT_EQ(world.size(elastic), 1u);
}

// While a resize is under way nothing is solved; what is idle is not given to who would break one.
TEST(PowerAhead, HoldsHimWhileAResizeIsUnderWay) {
  const auto policy = make_policy("power_ahead");
  Core core({.nodes = 8}, {}, {}, policy->traits);
  core.apply(Time{}, event::CorridorChanged{0, 800});
  core.apply(Time{}, event::Submitted{malleable({1, 4}, 4, 1000), kHundredWatts});
  core.close(Time{}, *policy);
  core.apply(at_s(10), event::CorridorChanged{0, 300, {{at_s(15), 0, 800}, {at_s(100), 0, 300}}});
  ASSERT_EQ(core.close(at_s(10), *policy).size(), 1u);  // cut to 3, which takes time
  core.apply(at_s(15), event::CorridorChanged{0, 800, {{at_s(100), 0, 300}}});
  core.apply(at_s(15), event::Submitted{rigid(4, 1000), kHundredWatts});
  EXPECT_TRUE(core.close(at_s(15), *policy).empty());
}

// The jobs that cannot be cut alone draw too much: all others draw as little as they can.
TEST(PowerAhead, CutsToTheLeastWhatCannotBeKept) {
  SmallWorld world(14, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{0, 1400});
  const JobId fixed = world.submit(rigid(6, 1000), kHundredWatts),
              elastic = world.submit(malleable({2, 14}, 4, 400), kHundredWatts);
  world.close();
  EXPECT_EQ(world.size(elastic), 8u);
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{0, 500});
  world.close();
  EXPECT_TRUE(world.runs(fixed));
  EXPECT_EQ(world.size(elastic), 2u);
  EXPECT_EQ(world.core.found_sizes(), std::nullopt);
}

// The solver knows how many nodes there are; a job gets only those that it may use.
TEST(PowerAhead, KeepsTheCorridorWhereJobsMayNotRunEverywhere) {
  Platform machine{.nodes = 12};
  machine.partitions = {{.name = "a", .nodes = testing::nodes({{0, 3}})},
                        {.name = "b", .nodes = testing::nodes({{4, 11}})}};
  SmallWorld world(machine, "power_ahead");
  world.core.apply(world.now, event::CorridorChanged{0, 2000});
  const auto in = [](std::uint64_t partition) {
    return std::make_shared<const Where>(Where{.partitions = partition});
  };
  const JobId a = world.submit(malleable({1, 12}, 2, 1000), kHundredWatts, in(1)),
              b = world.submit(malleable({1, 12}, 2, 1000), kOtherWatts, in(2));
  world.close();
  EXPECT_EQ(world.size(a), 4u);
  EXPECT_EQ(world.size(b), 8u);
  world.at(10);
  world.core.apply(world.now, event::CorridorChanged{0, 700});
  world.close();
  EXPECT_EQ(world.size(a) + world.size(b), 6u);
  world.at(20);
  world.core.apply(world.now, event::CorridorChanged{0, 2000});
  world.close();
  EXPECT_EQ(world.size(a) + world.size(b), 12u);
}

// A table that is too large is no reason to end a controller.
TEST(PowerAhead, SolvesWithoutATableThatIsTooLarge) {
  SmallWorld world(100'000, "power_ahead:solver=dp,depth=100");
  world.core.apply(world.now, event::CorridorChanged{0, 9'000'000});
  for (int i = 1; i <= 100; ++i) {
    world.submit(malleable({1, 100'000}, 100, 1000), {.watts_per_node = 100 + 0.017 * i * i});
  }
  world.close();
  EXPECT_GT(world.core.state().held, 50'000u);
}

}  // namespace
}  // namespace ductile
