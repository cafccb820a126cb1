#include "scheduling/cells.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/snapshot.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::holding;
using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::Stage;

/// Nodes 0 to 3 are slow, 4 to 7 twice as fast.
Stage::Setup two_speeds() {
  Stage::Setup setup;
  setup.platform.classes = {
      {.name = "slow", .nodes = nodes({{0, 3}}), .boot_time = whole_seconds(10)},
      {.name = "fast", .nodes = nodes({{4, 7}}), .speed = 2, .boot_time = whole_seconds(30)}};
  return setup;
}

TEST(Speeds, OfOtherNodesCountFromThere) {
  Stage stage(two_speeds());
  const JobId id = stage.run(malleable({1, 8}, 2));
  EXPECT_EQ(stage.job(id).holding, holding({{0, 1}}));
  EXPECT_EQ(stage.job(id).limit, at_s(100));
  stage.at(50);
  EXPECT_TRUE(stage.tell(event::Resized{id, DecisionId::none, holding({{4, 5}}), {}}));
  EXPECT_EQ(stage.job(id).limit, at_s(75));
}

TEST(Speeds, OfOtherNodesThanDecidedCountFromTheStart) {
  Stage::Setup setup = two_speeds();
  setup.can.instant_start = false;
  Stage stage(setup);
  const JobId id = stage.submit(rigid(2, 100));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(2), {Why::in_order})); });
  EXPECT_EQ(stage.job(id).limit, at_s(100));
  EXPECT_TRUE(stage.tell(event::Started{id, stage.job(id).decision, holding({{4, 5}}), {}}));
  EXPECT_EQ(stage.job(id).limit, at_s(50));
}

TEST(Speeds, OfAClassWithoutNodesCountNot) {
  Stage::Setup setup;
  setup.platform.classes = {{.name = "all", .nodes = nodes({{0, 7}}), .speed = 2},
                            {.name = "gone"}};
  setup.rules.identities = false;
  Stage stage(setup);
  EXPECT_FALSE(stage.state().cells.speeds_differ());
  EXPECT_EQ(stage.job(stage.run(rigid(2, 100))).limit, at_s(50));
}

// Each list of a node makes two cells of one. A list for which there is no room is nobody's place:
// its jobs would get nodes that they did not ask for.
TEST(Cells, ThereIsRoomForSoMany) {
  std::vector<Lane> lanes;
  for (std::uint32_t node = 0; node < kMostCells; ++node) {
    lanes.push_back({.where = {.only = nodes({{node, node}})}, .jobs = 1});
  }
  const Platform platform{.nodes = 80};
  const CellTable all(platform, std::span(lanes).first(kMostCells - 1)), more(platform, lanes);
  EXPECT_EQ(all.size(), kMostCells);
  EXPECT_TRUE(all.is_whole());
  EXPECT_FALSE(more.is_whole());
  EXPECT_EQ(more.nodes_of(LaneId{kMostCells - 2}), 1u);
  EXPECT_EQ(more.nodes_of(LaneId{kMostCells - 1}), 0u);
}

TEST(CellsOfGains, AreNotCountedTwice) {
  Stage stage(two_speeds());
  const JobId a = stage.submit(malleable({1, 8}, 2)), b = stage.submit(rigid(1, 10));
  Spread in;
  in.add(0, 2);
  const Gain gains[] = {{a, {2, 6}, RequestId::none, in}, {b, exactly(1)}};
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.carry_out({}, gains, {Why::in_order})); });
  EXPECT_EQ(stage.job(a).holding.count, 2u);
  EXPECT_EQ(stage.job(b).holding.count, 1u);
}

TEST(CellsOfSources, AreAnyWhereNoneIsNamed) {
  Stage stage(two_speeds());
  const JobId id = stage.submit(malleable({1, 8}, 2));
  const Spread none;
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(p.start(id, exactly(2), {Why::in_order}, {.in = &none}));
    EXPECT_TRUE(p.resize(id, 3, {Why::hand_out}, {.in = &none}));
  });
  EXPECT_EQ(stage.job(id).holding.count, 3u);
}

TEST(Classes, OfOneAreSavedAlsoWithoutIdentities) {
  Stage::Setup setup;
  setup.platform.classes = {{.name = "all", .nodes = nodes({{0, 7}})}};
  setup.platform.partitions = {{.name = "batch", .nodes = nodes({{0, 7}})}};
  setup.rules.identities = false;
  Stage stage(setup);
  stage.run(rigid(2, 100));
  stage.close();
  EXPECT_EQ(save(load(save(stage.state()))), save(stage.state()));
}

TEST(Partitions, ThatGrowFeedClaims) {
  Stage::Setup setup;
  setup.platform.partitions = {{.name = "batch", .nodes = nodes({{0, 3}})}};
  Stage stage(setup);
  const JobId victim = stage.run(malleable({1, 4}, 4));
  const JobId waits = stage.submit(rigid(2, 10));
  stage.at(1);
  const Cut cuts[] = {{victim, 2}};
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(waits, exactly(2), {Why::in_order}, {cuts})); });
  EXPECT_EQ(stage.job(waits).status, Status::pending);
  Platform larger = setup.platform;
  larger.partitions[0].nodes = nodes({{0, 7}});
  stage.at(2);
  EXPECT_TRUE(stage.tell(event::MachineChanged{larger, setup.can}));
  stage.close();
  EXPECT_EQ(stage.job(waits).holding, holding({{4, 5}}));
}

TEST(Boots, TakeAsLongAsTheirClass) {
  Stage::Setup setup = two_speeds();
  setup.can.power_control = true;
  Stage stage(setup);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.power_off(2, {Why::corridor})); });
  stage.at(1);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.power_on(2, {Why::corridor})); });
  ASSERT_EQ(stage.state().boots.size(), 1u);
  EXPECT_EQ(stage.state().boots.front().ready, at_s(31));
}

TEST(Alterations, ThatAreRefusedLeaveNoLane) {
  Stage stage(two_speeds());
  const JobId id = stage.submit(rigid(4, 10));
  const std::size_t lanes = stage.state().lanes.size();
  const Where few{.only = nodes({{0, 1}})};
  EXPECT_FALSE(stage.tell(event::Altered{.job = id,
                                         .priority = 0,
                                         .walltime = whole_seconds(10),
                                         .size = exactly(4),
                                         .preferred = 4,
                                         .where = std::make_shared<const Where>(few)}));
  EXPECT_EQ(stage.state().lanes.size(), lanes);
  EXPECT_EQ(stage.state().cells.size(), 2u);
}

}  // namespace
}  // namespace ductile
