// What the cases of paper 004 (tests/data/paper_004) do not show.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/world.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using testing::malleable;
using testing::rigid;
using testing::SmallWorld;

Platform machine(Nodes nodes) {
  return {.nodes = nodes, .cores_per_node = 8, .sockets_per_node = 2};
}

TEST(Sd, RigidJobsAreNeitherGuestsNorMates) {
  SmallWorld world(machine(2), "sd");
  world.submit(rigid(1, 1000));
  world.submit(malleable({1, 1}, 1, 1000));
  world.close();
  world.at(10);
  const JobId waits = world.submit(rigid(1, 10));
  world.close();
  EXPECT_FALSE(world.runs(waits));
  const JobId guest = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_TRUE(world.runs(guest));
  EXPECT_EQ(world.why(guest), Why::guest);
}

// Under base=slurm jobs start inside of others where backfill plans, at multiples of its interval.
TEST(Sd, OverSlurmGuestsComeWithBackfill) {
  SmallWorld world(machine(1), "sd:base=slurm,bf_interval=20");
  world.submit(malleable({1, 1}, 1, 1000));
  world.close();
  world.at(1);
  const JobId guest = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_FALSE(world.runs(guest));
  EXPECT_EQ(world.core.next_wake(), testing::at_s(20));
  world.at(20);
  world.close();
  EXPECT_TRUE(world.runs(guest));
  EXPECT_EQ(world.why(guest), Why::guest);
}

// Who started at this instant is no mate, and who has a guest gets no second one.
TEST(Sd, AMateRunsAlone) {
  SmallWorld world(machine(1), "sd");
  const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
  const JobId first = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_TRUE(world.runs(mate));
  EXPECT_FALSE(world.runs(first));
  world.at(1);
  const JobId second = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_TRUE(world.runs(first));
  EXPECT_FALSE(world.runs(second));
  EXPECT_EQ(world.core.job(mate).pace.share(), 0.5);
  world.at(21);
  world.end(first);
  world.close();
  EXPECT_TRUE(world.runs(second));
  world.at(41);
  world.end(second);
  world.close();
  EXPECT_EQ(world.core.job(mate).pace.share(), 1);
  EXPECT_EQ(world.core.job(mate).limit, testing::at_s(1020));
}

// Eight cores: the mate leaves four to the first guest, for 20 s, and two of its own to the second
// one, for 40 s. Each takes 10 s of its time; what a guest leaves is its again.
TEST(Sd, SeveralGuestsIfToldTo) {
  SmallWorld world(machine(1), "sd:guests=2");
  const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
  world.close();
  world.at(1);
  const JobId first = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  world.at(2);
  const JobId second = world.submit(malleable({1, 1}, 1, 10));
  const JobId third = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_TRUE(world.runs(first));
  EXPECT_TRUE(world.runs(second));
  EXPECT_FALSE(world.runs(third));
  EXPECT_EQ(world.core.job(mate).pace, (Pace{2, 8}));
  EXPECT_EQ(world.core.job(first).pace, (Pace{4, 8}));
  EXPECT_EQ(world.core.job(second).pace, (Pace{2, 8}));
  EXPECT_EQ(world.core.job(mate).limit, testing::at_s(1020));
  EXPECT_EQ(world.core.job(first).limit, testing::at_s(21));
  EXPECT_EQ(world.core.job(second).limit, testing::at_s(42));
  world.at(21);
  world.end(first);
  world.close();
  EXPECT_TRUE(world.runs(third));  // inside of six cores, of which it has three
  EXPECT_EQ(world.core.job(third).pace, (Pace{3, 8}));
  EXPECT_EQ(world.core.job(mate).pace, (Pace{3, 8}));
  EXPECT_NEAR(to_seconds(world.core.job(mate).limit), 1030, 1e-5);
}

// A guest is nobody's mate: what it would lend were not its own again.
TEST(Sd, AGuestHasNoGuests) {
  SmallWorld world(machine(2), "sd:guests=3");
  JobSpec owner = malleable({1, 1}, 1, 1000);
  owner.ranks = 4;  // it has no more cores to leave than to one
  world.submit(rigid(1, 5000));
  world.submit(owner);
  world.close();
  world.at(1);
  const JobId first = world.submit(malleable({1, 1}, 1, 100));
  world.close();
  world.at(2);
  const JobId second = world.submit(malleable({1, 1}, 1, 10));
  world.close();
  EXPECT_TRUE(world.runs(first));
  EXPECT_FALSE(world.runs(second));
}

// Of these two partitions, on the same nodes, each has a bound of its own. The mate, of 100 s,
// would end 150 s after its submission.
TEST(Sd, PartitionsMayHaveBoundsOfTheirOwn) {
  const auto starts = [](const std::string& bounds, std::uint64_t partitions) {
    Platform its = machine(1);
    its.partitions = {{.name = "A", .nodes = {{{0, 0}}}}, {.name = "B", .nodes = {{{0, 0}}}}};
    SmallWorld world(its, "sd:max_slowdown=" + bounds);
    const auto where = std::make_shared<const Where>(Where{.partitions = partitions});
    world.submit(malleable({1, 1}, 1, 100), {}, where);
    world.close();
    world.at(10);
    const JobId guest = world.submit(malleable({1, 1}, 1, 50));
    world.close();
    return world.runs(guest);
  };
  EXPECT_FALSE(starts("1.4", 1));
  EXPECT_TRUE(starts("1.4+A:1.6", 1));
  EXPECT_FALSE(starts("1.4+A:1.6", 2));
  EXPECT_TRUE(starts("1.4+B:inf", 2));
  EXPECT_FALSE(starts("1.6+A:1.4", 1));
  EXPECT_TRUE(starts("1.6+A:1.4", 3));  // who may run in several has the largest
  EXPECT_TRUE(starts("1.6+C:1.4", 1));  // there is no such partition now
}

// Half of a node is a socket; of three sockets one is taken, and of one none can be.
TEST(Sd, WholeSocketsAreTakenWhereTheFactorAllowsOne) {
  const auto taken = [](std::uint32_t sockets, const std::string& factor) {
    Platform its = machine(1);
    its.cores_per_node = 12;
    its.sockets_per_node = sockets;
    SmallWorld world(its, "sd:sharing_factor=" + factor);
    const JobId mate = world.submit(malleable({1, 1}, 1, 1000));
    world.close();
    world.at(1);
    world.submit(malleable({1, 1}, 1, 10));
    world.close();
    return world.core.job(mate).pace;
  };
  EXPECT_EQ(taken(2, "0.5"), (Pace{6, 12}));
  EXPECT_EQ(taken(3, "0.5"), (Pace{8, 12}));
  EXPECT_EQ(taken(1, "0.3"), (Pace{9, 12}));  // 3 of 12 cores, one by one
  EXPECT_EQ(taken(4, "0.7"), (Pace{6, 12}));
  EXPECT_EQ(taken(1, "0"), (Pace{1, 1}));
}

TEST(Sd, JobsKeepACoreForEachProcess) {
  for (const std::uint16_t ranks : {std::uint16_t{4}, std::uint16_t{5}}) {
    SmallWorld world(machine(1), "sd");
    JobSpec spec = malleable({1, 1}, 1, 1000);
    spec.ranks = ranks;
    world.submit(spec);
    world.close();
    world.at(1);
    const JobId guest = world.submit(malleable({1, 1}, 1, 10));
    world.close();
    EXPECT_EQ(world.runs(guest), ranks == 4) << ranks;
  }
}

TEST(Sd, RefusesABoundThatIsNone) {
  for (const std::string text : {"0", "-1", "nan", "p101", "p0", "p", "average", "2x", "+", "10+",
                                 "10+short", "10+:5", "10+short:", "10+short:x", "10+a:5+a:6"}) {
    try {
      (void)make_policy("sd:max_slowdown=" + text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("max_slowdown")) << text;
    }
  }
  for (const std::string text :
       {"1.5", "inf", "mean", "median", "p90", "p99.9", "10+short:5+long:mean"}) {
    EXPECT_NO_THROW((void)make_policy("sd:max_slowdown=" + text)) << text;
  }
}

}  // namespace
}  // namespace ductile
