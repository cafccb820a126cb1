#include <string>

#include <gtest/gtest.h>

#include "policies/lending.hpp"
#include "policies/registry.hpp"
#include "support/world.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

Platform machine(Nodes nodes) {
  return {.nodes = nodes, .cores_per_node = 8, .sockets_per_node = 2};
}

// On 6 of 8 cores 9 s take 12 s, of which its mate makes 3 s.
TEST(Lend, AGuestHasMostOfTheCores) {
  SmallWorld world(machine(1), "lend");
  const JobId mate = world.submit(malleable({1, 1}, 1, 100));
  world.close();
  world.at(10);
  const JobId guest = world.submit(malleable({1, 1}, 1, 9));
  world.close();
  ASSERT_TRUE(world.runs(guest));
  EXPECT_EQ(world.why(guest), Why::guest);
  EXPECT_EQ(world.core.job(mate).pace, (Pace{2, 8}));
  EXPECT_EQ(world.core.job(guest).limit, at_s(22));
  EXPECT_EQ(world.core.job(mate).limit, at_s(109));
}

// Both would be guests of the one that runs, which has one at a time.
TEST(Lend, TheSmallestWorkGoesFirst) {
  for (const std::string settings : {"lend", "lend:order=fcfs"}) {
    SmallWorld world(machine(1), settings);
    world.submit(malleable({1, 1}, 1, 1000));
    world.close();
    world.at(1);
    const JobId longer = world.submit(malleable({1, 1}, 1, 20));
    const JobId shorter = world.submit(malleable({1, 1}, 1, 10));
    world.close();
    EXPECT_EQ(world.runs(shorter), settings == "lend");
    EXPECT_EQ(world.runs(longer), settings != "lend");
  }
}

// A guest of 20 s on two nodes gains 39 + 20 - 80/3 s = 32.3 s. Each of its mates, of 40 s, loses
// 20 s. Over their walltimes that is 1.62 against 2 times 0.5.
TEST(Lend, StartsWhereMoreIsGainedThanLost) {
  const auto starts = [](const std::string& parameters) {
    SmallWorld world(machine(2), "lend:" + parameters);
    world.submit(malleable({1, 1}, 1, 40));
    world.submit(malleable({1, 1}, 1, 40));
    world.close();
    world.at(1);
    const JobId guest = world.submit(malleable({2, 2}, 2, 20));
    world.close();
    return world.runs(guest);
  };
  EXPECT_TRUE(starts("weight=1"));
  EXPECT_TRUE(starts("weight=1,margin=1.6"));
  EXPECT_FALSE(starts("weight=1,margin=1.7"));
  EXPECT_FALSE(starts("weight=0"));
  EXPECT_TRUE(starts("weight=0,margin=0.8"));
  EXPECT_FALSE(starts("mates=1"));
}

// The first waiting job is reserved on all nodes from 100 s on. The job of 100 s would lose less
// over its walltime than that of 50 s, but would end later than the reservation begins.
TEST(Lend, KeepsReservations) {
  for (const bool protects : {true, false}) {
    SmallWorld world(machine(2),
                     std::string("lend:order=fcfs,protect=") + (protects ? "on" : "off"));
    const JobId shorter = world.submit(malleable({1, 1}, 1, 50));
    const JobId longer = world.submit(malleable({1, 1}, 1, 100));
    world.close();
    world.at(10);
    const JobId first = world.submit(rigid(2, 1000));
    const JobId guest = world.submit(malleable({1, 1}, 1, 6));
    world.close();
    ASSERT_TRUE(world.runs(guest));
    EXPECT_FALSE(world.runs(first));
    EXPECT_EQ(world.core.job(shorter).limit, at_s(protects ? 56 : 50));
    EXPECT_EQ(world.core.job(longer).limit, at_s(protects ? 100 : 106));
  }
}

// Three jobs end at 100 s, and the first waiting one is reserved on so many nodes from then on. A
// guest of two nodes has its mate stay until 180 s, and an idle node until 116.7 s, or a second
// mate until 180 s as well.
TEST(Lend, KeepsReservationsFromAllOfAGuest) {
  const auto starts = [](bool has_idle, Nodes asks) {
    SmallWorld world(machine(4), "lend:order=fcfs,margin=0.1");
    world.submit(malleable({1, 1}, 1, 100));
    world.submit(malleable({1, 1}, 1, 100));
    world.submit(malleable({1, 1}, 1, 100));
    if (!has_idle) world.submit(rigid(1, 1000));
    world.close();
    world.at(10);
    world.submit(rigid(asks, 1000));
    const JobId guest = world.submit(malleable({2, 2}, 2, 80));
    world.close();
    return world.runs(guest);
  };
  EXPECT_TRUE(starts(true, 2));
  EXPECT_FALSE(starts(true, 3));
  EXPECT_TRUE(starts(false, 1));
  EXPECT_FALSE(starts(false, 2));
}

// A job that should have ended long ago could end at any time: it is nobody's mate.
TEST(Lend, WhoIsOverdueIsNoMate) {
  SmallWorld world(machine(1), "lend");
  world.submit(malleable({1, 1}, 1, 10));
  world.close();
  world.at(500);
  const JobId guest = world.submit(malleable({1, 1}, 1, 1));
  world.close();
  EXPECT_FALSE(world.runs(guest));
}

// Its mate has 20 s left, of which it makes a quarter beside the guest; the nodes are reserved
// then.
TEST(Lend, AGuestMayOutliveItsMates) {
  for (const bool may : {true, false}) {
    SmallWorld world(machine(2),
                     std::string("lend:order=fcfs,protect=off,outlive=") + (may ? "on" : "off"));
    world.submit(rigid(1, 2000));
    const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
    world.close();
    world.at(980);
    world.submit(rigid(1, 500));
    const JobId guest = world.submit(malleable({1, 1}, 1, 100));
    world.close();
    EXPECT_EQ(world.runs(guest), may);
    if (may) EXPECT_EQ(world.core.job(mate).limit, at_s(980 + 80));
  }
}

// Two sockets of four cores: one of them, or six cores.
TEST(Lend, MayTakeWholeSocketsOnly) {
  for (const bool whole : {true, false}) {
    SmallWorld world(machine(1), std::string("lend:whole_sockets=") + (whole ? "on" : "off"));
    const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
    world.close();
    world.at(1);
    world.submit(malleable({1, 1}, 1, 10));
    world.close();
    EXPECT_EQ(world.core.job(mate).pace, (whole ? Pace{4, 8} : Pace{2, 8}));
  }
}

// Each mate uses four of its eight cores. A guest of two nodes has six of each, for 133.3 s, in
// which each mate loses half; or four, for 200 s, in which they lose nothing.
TEST(Lend, TheSplitMayBeTheOneThatLosesLeast) {
  for (const bool least : {true, false}) {
    SmallWorld world(machine(2),
                     std::string("lend:weight=0,split=") + (least ? "least_loss" : "most"));
    JobSpec spec = malleable({1, 1}, 1, 1000);
    spec.cores = 4;
    const JobId mate = world.submit(spec);
    world.submit(spec);
    world.close();
    world.at(1);
    const JobId guest = world.submit(malleable({2, 2}, 2, 100));
    world.close();
    ASSERT_TRUE(world.runs(guest));
    EXPECT_EQ(world.core.job(mate).pace, (least ? Pace{1, 1} : Pace{2, 4}));
    EXPECT_EQ(world.core.job(guest).pace, (least ? Pace{4, 8} : Pace{6, 8}));
  }
}

// Half of its nodes are lost where the mate uses four of its cores, and nothing by taking fewer,
// but for that the guest stays longer: over its requested time that is more.
TEST(Lend, TheSplitThatLosesLeastMayBeTheLargest) {
  SmallWorld world(machine(1), "lend:split=least_loss");
  JobSpec spec = malleable({1, 1}, 1, 1000);
  spec.cores = 4;
  const JobId mate = world.submit(spec);
  world.close();
  world.at(1);
  world.submit(malleable({1, 1}, 1, 100));
  world.close();
  EXPECT_EQ(world.core.job(mate).pace, (Pace{2, 4}));
}

// The guest has done 30 s of its 100 s when a node comes free that nobody can use.
TEST(Lend, AGuestMovesOnToIdleNodes) {
  for (const bool moves : {true, false}) {
    SmallWorld world(machine(2), std::string("lend:move_on=") + (moves ? "on" : "off"));
    const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
    const JobId other = world.submit(rigid(1, 1000));
    world.close();
    world.at(10);
    const JobId guest = world.submit(malleable({1, 1}, 1, 100));
    world.close();
    ASSERT_TRUE(world.runs(guest));
    world.at(50);
    world.end(other);
    world.close();
    EXPECT_EQ(world.core.job(mate).holding.parts.empty(), moves);
    EXPECT_EQ(world.core.job(guest).holding.parts.empty(), moves);
    EXPECT_EQ(world.core.job(guest).limit,
              (moves ? at_s(120) : later(at_s(10), seconds(400 / 3.0))));
    EXPECT_EQ(world.core.state().idle.count(), moves ? 0u : 1u);
    world.at(120);
    if (moves) world.end(guest);
    world.close();
    EXPECT_EQ(world.core.state().idle.count(), 1u);
  }
}

// Two nodes come free, of which the guest needs both: it has one idle one from the beginning.
TEST(Lend, AGuestKeepsTheNodesThatItHasAlone) {
  SmallWorld world(machine(3), "lend:move_on=on");
  world.submit(malleable({1, 1}, 1, 1000));
  const JobId other = world.submit(rigid(1, 1000));
  world.close();
  world.at(10);
  const JobId guest = world.submit(malleable({2, 2}, 2, 100));
  world.close();
  ASSERT_TRUE(world.runs(guest));
  const NodeSet before = world.core.job(guest).holding.nodes;
  world.at(50);
  world.end(other);
  world.close();
  const NodeSet after = world.core.job(guest).holding.nodes;
  EXPECT_EQ(intersection(before, after).count(), 1u);
  EXPECT_EQ(after.count(), 2u);
  EXPECT_TRUE(world.core.job(guest).holding.parts.empty());
}

// The node that comes free is for the job that is reserved on all of them from 100 s on, or, until
// then, for one that waits.
TEST(Lend, AGuestMovesOnToNothingThatIsReserved) {
  for (const bool reserved : {true, false}) {
    SmallWorld world(machine(3), "lend:order=fcfs,move_on=on");
    world.submit(malleable({1, 1}, 1, 1000));
    const JobId other = world.submit(rigid(1, 1000));
    world.submit(rigid(1, 90));
    world.close();
    world.at(10);
    const JobId guest = world.submit(malleable({1, 1}, 1, 100));
    world.close();
    ASSERT_TRUE(world.runs(guest));
    if (reserved) world.submit(rigid(2, 500));
    world.close();
    world.at(50);
    world.end(other);
    world.close();
    EXPECT_EQ(world.core.job(guest).holding.parts.empty(), !reserved);
  }
}

TEST(Lend, WhatIsLearnedIsAskedFor) {
  EXPECT_FALSE(make_policy("lend")->wants.contention);
  EXPECT_TRUE(make_policy("lend:learn=on")->wants.contention);
  EXPECT_FALSE(make_policy("portfolio:of=easy|lend")->wants.contention);
  EXPECT_TRUE(make_policy("portfolio:of=easy|lend+learn=on")->wants.contention);
}

// `tide:lend=on` lends on the terms that `lend` has by default.
TEST(Lend, ItsDefaultsAreThoseOfLending) {
  EXPECT_EQ(lending(Registry().parameters("lend")), Lending());
}

}  // namespace
}  // namespace ductile
