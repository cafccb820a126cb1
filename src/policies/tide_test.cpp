#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/speedup.hpp"
#include "support/world.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::SmallWorld;

/// What is not said in these tests: small steps, resizes for nothing, and two of the oldest jobs.
std::string with_rules(std::string settings) {
  for (const char* rule : {"step=0.34", "gain=2", "least_cost=0", "oldest=2", "slack=1.5"}) {
    const std::string text(rule);
    if (settings.find(text.substr(0, text.find('=') + 1)) != std::string::npos) continue;
    settings += (settings.find(':') == std::string::npos ? ":" : ",") + text;
  }
  return settings;
}

/// Jobs come when it is said that they come, so that they wait.
struct World : SmallWorld {
  explicit World(Nodes nodes, const std::string& settings = "tide")
      : SmallWorld(nodes, with_rules(settings)) {}
  JobId come(JobSpec spec, const AdaptiveSpec& adaptive = {}) {
    spec.submitted = now;
    return submit(spec, adaptive);
  }
  /// These run from now on.
  std::vector<JobId> run(const std::vector<JobSpec>& specs, const AdaptiveSpec& adaptive = {}) {
    std::vector<JobId> ids;
    for (const JobSpec& spec : specs) {
      ids.push_back(come(spec, adaptive));
      close();
    }
    return ids;
  }
  bool is_reserved(JobId id, std::int64_t second) const {
    return core.job(id).reserved == at_s(second);
  }
};

AdaptiveSpec cost(double seconds) { return {.cost = {.fixed_s = seconds}}; }
AdaptiveSpec model(const char* text) { return {.speedup = parse_speedup(text)}; }

TEST(Tide, IsWokenByAllButAnswersAndStartsAtTheSmallestSizes) {
  const auto tide = make_policy("tide");
  EXPECT_EQ(tide->traits.wakes, kAllButAnswers);
  EXPECT_EQ(tide->traits.start_size, StartSize::smallest);
  EXPECT_TRUE(tide->traits.answers_requests);
  EXPECT_EQ(tide->traits.order, QueueOrder::area);
}

TEST(Tide, TicksIfToldTo) {
  for (const auto& [settings, wake] :
       {std::pair("tide", kNever), std::pair("tide:tick=30", at_s(30))}) {
    World world(4, settings);
    world.run({rigid(2, 1000)});
    world.at(10);
    world.come(rigid(4, 10));
    world.close();
    EXPECT_EQ(world.core.next_wake(), wake) << settings;
  }
}

// Nobody can give nodes: the second job would wait until 1000 s. Inside of the first one, on six of
// the eight cores of its nodes, it is there for 16 s.
TEST(Tide, WhoWaitsStartsInsideOfOthersIfToldTo) {
  for (const char* settings : {"tide", "tide:lend=on"}) {
    SmallWorld world(Platform{.nodes = 2, .cores_per_node = 8, .sockets_per_node = 2}, settings);
    world.submit(malleable({2, 2}, 2, 1000));
    world.close();
    world.at(10);
    const JobId guest = world.submit(malleable({2, 2}, 2, 12));
    world.close();
    const bool lends = world.policy->traits.needs.parts;
    EXPECT_EQ(lends, std::string(settings) != "tide");
    ASSERT_EQ(world.runs(guest), lends);
    if (!lends) continue;
    EXPECT_EQ(world.why(guest), Why::guest);
    EXPECT_EQ(world.core.job(guest).limit, at_s(26));
  }
}

// The first job is reserved on all nodes from 100 s on: a guest of the job that ends then, which
// would lose less over its walltime, would keep it waiting.
TEST(Tide, GuestsKeepTheReservationOfTheFirst) {
  SmallWorld world(Platform{.nodes = 2, .cores_per_node = 8, .sockets_per_node = 2},
                   "tide:lend=on,order=fcfs");
  const JobId shorter = world.submit(malleable({1, 1}, 1, 50));
  const JobId longer = world.submit(malleable({1, 1}, 1, 100));
  world.close();
  world.at(10);
  const JobId first = world.submit(rigid(2, 1000));
  const JobId guest = world.submit(malleable({1, 1}, 1, 6));
  world.close();
  EXPECT_FALSE(world.runs(first));
  ASSERT_TRUE(world.runs(guest));
  EXPECT_EQ(world.core.job(shorter).limit, at_s(56));
  EXPECT_EQ(world.core.job(longer).limit, at_s(100));
}

// ---- 2. Serve
// --------------------------------------------------------------------------------------

TEST(Tide, TheSmallestAreaGoesFirstUntilAJobIsOverdue) {
  const auto first_to_start = [](const std::string& settings) {
    World world(10, settings);
    const JobId busy = world.run({rigid(10, 100)})[0];
    world.at(1);
    const JobId large = world.come(rigid(10, 100));
    world.at(50);
    const JobId small = world.come(rigid(6, 10));
    world.close();
    world.at(100);
    world.end(busy);
    world.close();
    EXPECT_NE(world.runs(large), world.runs(small));
    return world.runs(large) ? large : small;
  };
  EXPECT_EQ(first_to_start("tide"), JobId{2});
  EXPECT_EQ(first_to_start("tide:order=fcfs"), JobId{1});
  // At 100 s 106 are to do, and it has waited for 99.
  EXPECT_EQ(first_to_start("tide:slack=0,grace=98"), JobId{1});
  EXPECT_EQ(first_to_start("tide:slack=0,grace=99"), JobId{2});
  EXPECT_EQ(first_to_start("tide:slack=0.93,grace=0"), JobId{1});
  EXPECT_EQ(first_to_start("tide:slack=0.94,grace=0"), JobId{2});
}

TEST(Tide, JobsStartAtTheirSmallestSizes) {
  World world(9);  // nothing idles
  AdaptiveSpec even;
  even.constraint.kind = SizeConstraint::Kind::even;
  const JobId malleable_one = world.come(malleable({3, 4}, 3, 100), even);
  const JobId moldable = world.come(sized(JobType::moldable, {2, 8}, 4, 100));
  const JobId evolving = world.come(sized(JobType::evolving, {1, 8}, 3, 100));
  world.close();
  EXPECT_EQ(world.size(malleable_one), 4u);
  EXPECT_EQ(world.size(moldable), 2u);
  EXPECT_EQ(world.size(evolving), 3u);
}

// The first one that cannot be served, though others give all they can, ends it.
TEST(Tide, NobodyIsCutForThoseBehind) {
  for (const auto& [large_s, small_s] : {std::pair(10, 100), std::pair(100, 10)}) {
    World world(10);
    const JobId runs = world.run({malleable({5, 10}, 10, 1000)})[0];
    EXPECT_EQ(world.size(runs), 10u);
    world.at(10);
    const JobId too_large = world.come(rigid(6, large_s));
    const JobId fits = world.come(rigid(5, small_s));
    world.close();
    EXPECT_FALSE(world.runs(too_large));
    EXPECT_EQ(world.runs(fits), small_s < large_s);
    EXPECT_EQ(world.size(runs), small_s < large_s ? 5u : 10u);
    if (world.runs(fits)) {
      EXPECT_EQ(world.why(fits), Why::shrunk_for);
    }
  }
}

TEST(Tide, OneShrinkForAllThatStart) {
  World world(10);
  const JobId runs = world.run({malleable({2, 10}, 10, 1000)})[0];
  world.at(10);
  const JobId one = world.come(rigid(3, 100));
  const JobId other = world.come(malleable({2, 2}, 2, 100));
  world.close();
  EXPECT_EQ(world.size(runs), 5u);
  EXPECT_EQ(world.size(one), 3u);
  EXPECT_EQ(world.size(other), 2u);
  EXPECT_EQ(world.core.job(runs).shrinks, 1u);
}

TEST(Tide, WithoutCutsJobsWait) {
  World world(10, "tide:cuts=off");
  const JobId runs = world.run({malleable({2, 10}, 10, 1000)})[0];
  world.at(10);
  const JobId waits = world.come(rigid(3, 100));
  world.close();
  EXPECT_EQ(world.size(runs), 10u);
  EXPECT_FALSE(world.runs(waits));
}

// ---- 6. Who is cut
// --------------------------------------------------------------------------------------

TEST(Tide, ThoseGiveWhoLoseTheLeast) {
  const auto after = [](const std::string& settings, Nodes need, Nodes least) {
    World world(10, settings);
    const JobId shorter = world.run({malleable({1, 5}, 5, 100)})[0];
    const JobId longer = world.run({malleable({least, 5}, 5, 1000)})[0];
    world.at(10);
    const JobId starts = world.come(rigid(need, 10));
    world.close();
    EXPECT_TRUE(world.runs(starts));
    return std::pair(world.size(shorter), world.size(longer));
  };
  EXPECT_EQ(after("tide", 2, 1), std::pair(5u, 3u));
  EXPECT_EQ(after("tide:exponent=0", 2, 1), std::pair(3u, 5u));  // a tie: the smaller number
  // All that it can give before the next one is asked.
  EXPECT_EQ(after("tide", 3, 3), std::pair(4u, 3u));
}

// The rigid job ends in 25 s, and a cut costs 10.
TEST(Tide, NobodyIsCutForAJobThatStartsSoonWithoutThat) {
  const auto is_cut = [](const std::string& settings) {
    World world(10, settings);
    const JobId runs = world.come(malleable({1, 6}, 6, 1000), cost(10));
    world.close();
    world.run({rigid(4, 35)});
    world.at(10);
    const JobId waits = world.come(rigid(3, 50));
    world.close();
    EXPECT_EQ(world.runs(waits), world.size(runs) == 3);
    EXPECT_EQ(world.size(runs), world.runs(waits) ? 3u : 6u);
    return world.runs(waits);
  };
  EXPECT_FALSE(is_cut("tide"));
  EXPECT_FALSE(is_cut("tide:wait_for=2.5"));  // just then
  EXPECT_TRUE(is_cut("tide:wait_for=2.4"));
  EXPECT_TRUE(is_cut("tide:wait_for=0"));
}

// By 100 s, at the preferred size of 3, a node is worth 100^-0.7 / 3 to the job that waits; by 990
// s a sixth of 990^-0.7 to the one that runs.
TEST(Tide, NobodyIsCutForAJobToWhichNodesAreWorthLess) {
  const double ratio = std::pow(100, -0.7) / 3 / (std::pow(990, -0.7) / 6);  // 9.96
  EXPECT_GT(ratio, 9.9);
  EXPECT_LT(ratio, 10);
  for (const auto& [settings, is_cut] :
       {std::pair("tide:cut_worth=9.9", true), std::pair("tide:cut_worth=10", false),
        std::pair("tide", true)}) {
    World world(6, settings);
    world.run({malleable({1, 6}, 6, 1000)});
    world.at(10);
    const JobId waits = world.come(rigid(3, 100));
    world.close();
    EXPECT_EQ(world.runs(waits), is_cut) << settings;
    EXPECT_EQ(world.size(JobId{0}), is_cut ? 3u : 6u) << settings;
  }
}

// A node is worth 100^-0.7 / 3 to the job that waits; ten times longer, and a sixth, to the one
// that runs and has none to spare but what is idle.
TEST(Tide, WhereNodesAreScarceAStartHasToBeWorthThemToo) {
  const double ratio = std::pow(100, -0.7) / 3 / (std::pow(990, -0.7) / 6);  // 9.96
  EXPECT_GT(ratio, 9.9);
  EXPECT_LT(ratio, 10);
  for (const auto& [settings, is_cut] :
       {std::pair("tide:start_worth=9.9", true), std::pair("tide:start_worth=10", false),
        std::pair("tide:start_worth=10,scarce=0.59", false),
        std::pair("tide:start_worth=10,scarce=0.6", true),           // 3 of 5 are no more
        std::pair("tide:start_worth=10,slack=0,grace=0", false)}) {  // not for a moment
    World world(6, settings);
    world.run({malleable({1, 6}, 6, 1000)});
    world.at(10);
    const JobId waits = world.come(malleable({3, 4}, 3, 100));
    world.close();
    EXPECT_EQ(world.runs(waits), is_cut) << settings;
    EXPECT_EQ(world.size(JobId{0}), is_cut ? 3u : 6u) << settings;
  }
}

// It could not make up for that by growing.
TEST(Tide, AJobOfOneSizeNeedNotBeWorthItsNodes) {
  World world(6, "tide:start_worth=10");
  world.run({malleable({1, 6}, 6, 1000)});
  world.at(10);
  const JobId waits = world.come(rigid(3, 100));
  world.close();
  EXPECT_TRUE(world.runs(waits));
}

// Two jobs come at once to 6 idle nodes, both as fast on any: all of them are worth more to the
// short one.
TEST(Tide, WhereNodesAreScarceShortJobsGrowBeforeLongOnesStart) {
  for (const auto& [settings, sizes] :
       {std::pair("tide", std::pair(5u, 1u)), std::pair("tide:start_worth=1", std::pair(6u, 0u)),
        std::pair("tide:start_worth=0.1", std::pair(5u, 1u)),
        std::pair("tide:start_worth=1,scarce=1", std::pair(5u, 1u)),
        std::pair("tide:start_worth=1,hand_out=none", std::pair(1u, 1u))}) {
    World world(6, settings);
    const JobId shorter = world.come(malleable({1, 6}, 6, 100));
    const JobId longer = world.come(malleable({1, 6}, 6, 1000));
    world.close();
    EXPECT_EQ(world.size(shorter), sizes.first) << settings;
    EXPECT_EQ(world.runs(longer), sizes.second > 0) << settings;
  }
}

// Nobody can grow on nodes that are still on their way: a job that waits for these is not outbid.
// Those three came to nobody when the job that they were cut for was cancelled.
TEST(Tide, NodesOnTheirWayAreNotBidFor) {
  for (const Nodes most : {3u, 4u}) {
    World world(6, "tide:start_worth=10,scarce=0");
    world.run({malleable({1, 6}, 6, 1000)});
    world.at(10);
    const JobId first = world.come(rigid(3, 100));
    world.core.close(world.now, *world.policy);
    ASSERT_NE(world.core.job(first).claim, ClaimId::none);
    world.core.apply(world.now, event::Ended{first, EndState::cancelled, false});
    ASSERT_EQ(world.core.state().incoming(), 3u);
    const JobId next = world.come(malleable({3, most}, 3, 100));
    world.core.close(world.now, *world.policy);
    EXPECT_NE(world.core.job(next).claim, ClaimId::none);
  }
}

// ---- 3. and 4. Reservations
// --------------------------------------------------------------------------------------

// On 10 nodes 6 are busy until 100 s. A job of all has waited for 50 s when there are 137 s to do.
// A small one is first, from 100 s on. The last one would end behind the one of all.
TEST(Tide, TheOldestJobsAreReserved) {
  const auto starts = [](const std::string& settings, std::int64_t seconds = 130) {
    World world(10, settings);
    world.run({rigid(6, 100)});
    const JobId old = world.come(rigid(10, 50));
    world.close();
    world.at(50);
    const JobId head = world.come(rigid(5, 10));
    const JobId last = world.come(rigid(4, seconds));
    world.close();
    EXPECT_TRUE(world.is_reserved(head, 100));
    EXPECT_FALSE(world.runs(old));
    if (!world.runs(last)) {
      EXPECT_TRUE(world.is_reserved(old, 110));
    }
    return world.runs(last);
  };
  EXPECT_TRUE(starts("tide"));  // 50 s are not more than 54.8
  EXPECT_TRUE(starts("tide:oldest_share=0.37"));
  EXPECT_FALSE(starts("tide:oldest_share=0.36"));
  EXPECT_TRUE(starts("tide:oldest_share=0.36,oldest=0"));
  EXPECT_TRUE(starts("tide:oldest_share=0", 60));  // ends just then
  EXPECT_FALSE(starts("tide:oldest_share=0", 61));
}

// The last one is in the way of the second of the oldest ones only.
TEST(Tide, SoManyOfTheOldestAreReserved) {
  for (const auto& [oldest, starts] : {std::pair("1", true), std::pair("2", false)}) {
    World world(10, std::string("tide:oldest_share=0,oldest=") + oldest);
    world.run({rigid(6, 100)});
    const JobId first = world.come(rigid(6, 60));
    world.close();
    world.at(1);
    const JobId second = world.come(rigid(7, 60));
    world.close();
    world.at(50);
    world.come(rigid(5, 10));
    const JobId last = world.come(rigid(4, 130));
    world.close();
    EXPECT_EQ(world.runs(last), starts) << oldest;
    EXPECT_TRUE(world.is_reserved(first, 110));
    EXPECT_EQ(world.is_reserved(second, 170), !starts);
  }
}

// Who is first counts as none of them.
TEST(Tide, TheFirstIsNoneOfTheOldest) {
  World world(10, "tide:oldest_share=0,oldest=1");
  world.run({rigid(6, 100)});
  const JobId first = world.come(rigid(5, 10));
  const JobId other = world.come(rigid(10, 50));
  world.close();
  world.at(50);
  const JobId last = world.come(rigid(4, 130));
  world.close();
  EXPECT_TRUE(world.is_reserved(first, 100));
  EXPECT_TRUE(world.is_reserved(other, 110));
  EXPECT_FALSE(world.runs(last));
}

// A reservation from now on, on nodes that idle, is a start.
TEST(Tide, AnOldJobThatFitsNowStarts) {
  for (const char* settings : {"tide:oldest=0", "tide"}) {
    World world(10, settings);
    world.run({rigid(5, 100)});
    const JobId ends = world.run({rigid(5, 50)})[0];
    world.at(1);
    const JobId old = world.come(rigid(4, 100));
    world.at(2);
    const JobId head = world.come(rigid(6, 10));
    world.close();
    world.at(50);
    world.end(ends);
    world.close();
    EXPECT_TRUE(world.is_reserved(head, 100)) << settings;
    EXPECT_TRUE(world.runs(old)) << settings;
  }
}

// On 10 nodes a malleable job has 6, of which it can give 5, another one 3 until 100 s. The first
// takes 9.
TEST(Tide, InThePlanWhatOthersCanGiveIsFree) {
  for (const bool is_free : {true, false}) {
    World world(10, std::string("tide:extra_is_free=") + (is_free ? "on" : "off"));
    world.run({malleable({1, 6}, 6, 1000), rigid(3, 100)});
    world.at(10);
    const JobId head = world.come(rigid(9, 10));
    const JobId last = world.come(rigid(1, 200));
    world.close();
    EXPECT_TRUE(world.is_reserved(head, is_free ? 100 : 1000));
    EXPECT_EQ(world.runs(last), !is_free);
  }
}

// ---- 5. Hand-out
// --------------------------------------------------------------------------------------

// Three nodes become idle. All of them are reserved from 100 s on, if anybody waits.
TEST(Tide, WhatIsIdleIsHandedOut) {
  const auto after = [](const std::string& settings, bool waits) {
    World world(10, settings);
    const JobId grows = world.run({rigid(4, 100), rigid(3, 10), malleable({3, 10}, 3, 1000)})[2];
    world.at(5);
    if (waits) world.come(rigid(7, 50));
    world.close();
    world.at(10);
    world.end(JobId{1});
    world.close();
    return world.size(grows);
  };
  EXPECT_EQ(after("tide", true), 6u);
  EXPECT_EQ(after("tide:hand_out=unreserved", true), 3u);
  EXPECT_EQ(after("tide:hand_out=unreserved", false), 6u);
  EXPECT_EQ(after("tide:hand_out=none", true), 3u);
  EXPECT_EQ(after("tide:hand_out=none", false), 3u);
}

// Nodes that others keep out of reservations for are cut again.
TEST(Tide, WhatWasHandedOutComesBack) {
  World world(10);
  const JobId grows = world.run({rigid(4, 100), rigid(3, 10), malleable({3, 10}, 3, 1000)})[2];
  world.at(10);
  const JobId waits = world.come(rigid(7, 50));
  world.end(JobId{1});
  world.close();
  EXPECT_EQ(world.size(grows), 6u);
  world.at(100);
  world.end(JobId{0});
  world.close();
  EXPECT_TRUE(world.runs(waits));
  EXPECT_EQ(world.size(grows), 3u);
}

TEST(Tide, JobsGrowInThePassThatStartsThem) {
  for (const bool grows : {true, false}) {
    World world(20, std::string("tide:grow_starts=") + (grows ? "on" : "off"));
    const JobId one = world.come(malleable({2, 8}, 4, 100));
    const JobId other = world.come(sized(JobType::moldable, {2, 8}, 4, 100));
    world.close();
    EXPECT_EQ(world.size(one), grows ? 8u : 2u);
    EXPECT_EQ(world.size(other), grows ? 8u : 2u);
    EXPECT_EQ(world.decisions.size(), 2u);  // one start each
    world.at(1);
    world.come(rigid(1, 10));
    world.close();
    EXPECT_EQ(world.size(one), 8u);
    EXPECT_EQ(world.size(other), grows ? 8u : 2u);
  }
}

// On 16 nodes 8 are busy until 100 s; then the first takes 12 for 10 s. So two more are left for
// longer than that.
TEST(Tide, MoldableJobsTakeWhatReservationsLeave) {
  const auto after = [](const std::string& settings, JobType type, bool waits) {
    World world(16, settings);
    world.run({rigid(8, 100)});
    world.at(1);
    if (waits) world.come(rigid(12, 10));
    const JobId id = world.come(sized(type, {2, 16}, 4, 200));
    world.close();
    return world.size(id);
  };
  EXPECT_EQ(after("tide", JobType::moldable, true), 4u);
  EXPECT_EQ(after("tide", JobType::malleable, true), 8u);
  EXPECT_EQ(after("tide", JobType::moldable, false), 8u);
  EXPECT_EQ(after("tide:moldable=1.5", JobType::moldable, false), 6u);
  EXPECT_EQ(after("tide:moldable=0", JobType::moldable, false), 2u);
  EXPECT_EQ(after("tide:moldable=0", JobType::malleable, false), 8u);
}

// A job of four nodes with 40 s left, and two nodes that become idle.
Nodes grown(const std::string& settings, const AdaptiveSpec& adaptive, Nodes idle = 2) {
  World world(4 + idle, settings);
  const JobId id = world.come(malleable({4, 8}, 4, 50), adaptive);
  const JobId ends = world.come(rigid(idle, 20));
  world.close();
  EXPECT_EQ(world.size(id), 4u);
  world.at(10);
  world.end(ends);
  world.close();
  return world.size(id);
}

TEST(Tide, EachStepHasItsLeastSizeAndGain) {
  const AdaptiveSpec flat = model("table:4=100:5=99:6=98"), late = model("table:4=100:5=99:6=50");
  EXPECT_EQ(grown("tide", {}), 6u);
  EXPECT_EQ(grown("tide", flat), 4u);
  EXPECT_EQ(grown("tide:gain=1", flat), 6u);
  EXPECT_EQ(grown("tide", late), 4u);
  EXPECT_EQ(grown("tide:step=0.5", late), 6u);
}

// From four to five it wins 8 s.
TEST(Tide, AResizeHasToPay) {
  EXPECT_EQ(grown("tide", cost(0.9), 1), 4u);
  EXPECT_EQ(grown("tide", cost(0.8), 1), 4u);  // just as much
  EXPECT_EQ(grown("tide", cost(0.7), 1), 5u);
  EXPECT_EQ(grown("tide:pays=8", cost(0.9), 1), 5u);
  EXPECT_EQ(grown("tide:least_cost=0.7", {}, 1), 5u);
  EXPECT_EQ(grown("tide:least_cost=0.9", {}, 1), 4u);
  EXPECT_EQ(grown("tide:pays=0", cost(9), 1), 4u);  // it would end later
  EXPECT_EQ(grown("tide:pays=0,expand_benefit=off", cost(9), 1), 5u);
  EXPECT_EQ(grown("tide", cost(1.3), 2), 6u);  // both steps together, 13.3 s
}

TEST(Tide, NodesGoWhereTheyBuyTheMost) {
  const auto after = [](const std::string& settings) {
    World world(12, settings);
    world.run({rigid(4, 20)});
    world.come(malleable({4, 8}, 4, 1000));
    world.come(malleable({4, 8}, 4, 100));
    world.close();
    world.at(10);
    world.end(JobId{0});
    world.close();
    return std::pair(world.size(JobId{1}), world.size(JobId{2}));
  };
  EXPECT_EQ(after("tide"), std::pair(4u, 8u));
  EXPECT_EQ(after("tide:exponent=0"), std::pair(8u, 4u));
}

// ---- 7. Rebalance
// --------------------------------------------------------------------------------------

// One of 12 nodes has long to run. The other one gets its 6 as it starts, and then two more.
TEST(Tide, NodesMoveBetweenRunningJobs) {
  const auto after = [](const std::string& settings, double seconds = 0, bool ends = true) {
    World world(19, settings);
    const JobId last = world.run({rigid(1, 5'000)})[0];
    world.come(malleable({1, 12}, 12, 10'000), cost(seconds));
    world.close();
    world.at(10);
    if (ends) {
      world.end(last);
      world.come(rigid(1, 1));
    }
    const JobId other = world.come(malleable({1, 20}, 6, 100));
    world.close();
    return std::pair(world.size(JobId{1}), world.size(other));
  };
  EXPECT_EQ(after("tide"), std::pair(10u, 8u));
  EXPECT_EQ(after("tide:moves=1"), std::pair(10u, 8u));
  EXPECT_EQ(after("tide:moves=0"), std::pair(12u, 6u));
  EXPECT_EQ(after("tide", 0, false), std::pair(12u, 6u));  // only when a job has ended
  EXPECT_EQ(after("tide", 1.2), std::pair(10u, 8u));
  EXPECT_EQ(after("tide", 1.3), std::pair(12u, 6u));
  EXPECT_EQ(after("tide:pays=9", 1.3), std::pair(10u, 8u));
  EXPECT_EQ(after("tide:least_cost=0.7"), std::pair(12u, 6u));
}

// ---- 1. Evolving requests
// --------------------------------------------------------------------------------------

// On 8 nodes job 0 has 3, of which two can be cut, job 1 has 4; one is idle.
World asked(std::int32_t delta, Nodes at_least = 0, const std::string& settings = "tide") {
  World world(8, settings);
  world.run({malleable({1, 3}, 3, 1000), sized(JobType::evolving, {1, 8}, 4, 1000)});
  world.at(10);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{1}, delta, at_least});
  world.close();
  return world;
}

TEST(Tide, EvolvingRequestsTakeIdleNodesThenThoseOfVictims) {
  EXPECT_EQ(asked(-2).size(JobId{1}), 2u);
  EXPECT_EQ(asked(1).size(JobId{1}), 5u);
  EXPECT_EQ(asked(1).size(JobId{0}), 3u);
  EXPECT_EQ(asked(3).size(JobId{1}), 7u);
  EXPECT_EQ(asked(3).size(JobId{0}), 1u);
  const World denied = asked(4);
  EXPECT_EQ(denied.size(JobId{1}), 4u);
  EXPECT_EQ(denied.size(JobId{0}), 3u);
  EXPECT_EQ(denied.decisions.front().kind, Decision::Kind::deny);
  EXPECT_EQ(asked(4, 1).size(JobId{1}), 5u);  // what is idle will do
  EXPECT_EQ(asked(1, 0, "tide:cuts=off").size(JobId{1}), 5u);
  EXPECT_EQ(asked(2, 0, "tide:cuts=off").size(JobId{1}), 4u);
}

TEST(Tide, ForARequestThoseGiveWhoLoseTheLeast) {
  World world(12);
  world.run({malleable({1, 4}, 4, 100), malleable({1, 4}, 4, 1000),
             sized(JobType::evolving, {1, 8}, 4, 1000)});
  world.at(10);
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{2}, 2, 0});
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 4u);
  EXPECT_EQ(world.size(JobId{1}), 2u);
  EXPECT_EQ(world.size(JobId{2}), 6u);
}

TEST(Tide, RequestsComeBeforeTheQueue) {
  World world(8);
  world.run({malleable({2, 4}, 4, 1000), sized(JobType::adaptive, {4, 8}, 4, 1000)});
  world.at(10);
  const JobId waits = world.come(rigid(2, 10));
  world.core.apply(world.now, event::EvolvingRequested{RequestId{0}, JobId{1}, 2, 0});
  world.close();
  EXPECT_EQ(world.size(JobId{0}), 2u);
  EXPECT_EQ(world.size(JobId{1}), 6u);
  EXPECT_FALSE(world.runs(waits));
}

}  // namespace
}  // namespace ductile
