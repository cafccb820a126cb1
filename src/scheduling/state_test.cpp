#include "scheduling/state.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/wide.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::holding;
using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::Stage;

TEST(State, EstimatesScaleTheWalltimeByTheModel) {
  Stage stage;
  const JobId linear = stage.submit(malleable({1, 8}, 4, 100));
  const JobId amdahl = stage.submit(malleable({1, 8}, 4, 100),
                                    AdaptiveSpec{.speedup = {Speedup::Kind::amdahl, 1.0}});
  EXPECT_EQ(stage.state().estimate(stage.job(linear), 4), whole_seconds(100));
  EXPECT_EQ(stage.state().estimate(stage.job(linear), 8), whole_seconds(50));
  EXPECT_EQ(stage.state().estimate(stage.job(amdahl), 8), whole_seconds(100));  // all serial
}

TEST(State, AWalltimeOfAnySizeIsNeverScaled) {
  Stage stage({.can = {.instant_start = false}});
  const AdaptiveSpec absolute{.walltime_for = WalltimeFor::any_size};
  const JobId id = stage.submit(malleable({1, 8}, 4, 100), absolute);
  EXPECT_EQ(stage.state().estimate(stage.job(id), 1), whole_seconds(100));
  stage.pass([&](Pass& p) {
    p.start(id, exactly(2), {});
    p.resize(id, 4, {});  // one decision to start on 4
  });
  EXPECT_EQ(stage.job(id).limit, at_s(100));
  stage.tell(event::Started{id, stage.job(id).decision, {}, {}});
  stage.at(10);
  stage.pass([&](Pass& p) { p.resize(id, 2, {}); });
  stage.resized(id);
  EXPECT_EQ(stage.job(id).limit, at_s(100));
  EXPECT_EQ(stage.state().end_with(stage.job(id), whole_seconds(60)), at_s(60));
  stage.tell(event::Believed{id, 0, 0, 0, std::nullopt, whole_seconds(70)});
  EXPECT_EQ(stage.job(id).limit, at_s(70));
  stage.tell(event::Believed{id, 0, 0, 0, Speedup{Speedup::Kind::amdahl, 1.0}});
  EXPECT_EQ(stage.job(id).limit, at_s(70));
}

TEST(State, APastEndReadsAsOneSecondFromNow) {
  Stage stage;
  const JobId id = stage.run(rigid(2, 10));
  stage.at(9);
  stage.close();
  EXPECT_EQ(stage.state().expected_end(stage.job(id)), at_s(10));
  stage.at(50);
  stage.close();
  EXPECT_EQ(stage.state().expected_end(stage.job(id)), at_s(51));
  EXPECT_EQ(stage.job(id).limit, at_s(10));  // never stored
}

TEST(State, AShrinkKeepsTheKeepNodeAndGivesUpSickNodesFirst) {
  Stage stage({.can = {.instant_start = false}});
  const JobId id = stage.submit(malleable({1, 8}, 6));
  stage.pass([&](Pass& p) { p.start(id, exactly(6), {}); });
  stage.tell(event::Started{id, stage.job(id).decision, {}, 5});
  stage.tell(event::NodesChanged{nodes({{1, 1}, {5, 5}}), Health::draining});
  const Job& job = stage.job(id);
  EXPECT_EQ(stage.state().kept(job, 5), holding({{0, 0}, {2, 5}}));  // 1 drains; 5 must stay
  EXPECT_EQ(stage.state().kept(job, 3), holding({{0, 0}, {2, 2}, {5, 5}}));
  EXPECT_EQ(stage.state().kept(job, 1), holding({{5, 5}}));
  EXPECT_EQ(stage.state().healthy(job.holding), 4u);
}

TEST(State, DelaysOfAUserFadeByWholeIntervals) {
  Stage::Setup setup;
  setup.rules.fairness.interval = whole_seconds(100);
  setup.rules.fairness.decay = 0.5;
  Stage stage(setup);
  JobSpec spec = testing::sized(JobType::evolving, {1, 8}, 2, 1000);
  const JobId asks = stage.run(spec);
  spec.user = 7;
  const JobId waits = stage.submit(spec);
  const auto grant = [&](std::uint32_t number) {
    stage.tell(event::EvolvingRequested{RequestId{number}, asks, 1, 0});
    stage.close([&](Pass& p) {
      const Delay delays[] = {{waits, whole_seconds(40)}};
      EXPECT_TRUE(p.grant(RequestId{number}, {Why::evolving}, {}, delays));
    });
    stage.resized(asks);
  };
  const auto delay = [&] {
    Duration found{};
    stage.pass([&](Pass& p) {
      found = p.delay_of(Party{Party::Kind::user, 7});
      EXPECT_EQ(p.delay_of(Party{Party::Kind::user, 8}), Duration{});
    });
    return found;
  };
  stage.at(10);
  grant(1);
  EXPECT_EQ(delay(), whole_seconds(40));
  stage.at(99);
  EXPECT_EQ(delay(), whole_seconds(40));
  stage.at(100);
  EXPECT_EQ(delay(), whole_seconds(20));
  stage.at(310);
  EXPECT_EQ(delay(), whole_seconds(5));
  grant(2);
  EXPECT_EQ(delay(), whole_seconds(45));
  EXPECT_EQ(stage.job(waits).delayed, whole_seconds(80));  // the job's own sum does not fade
}

// Of the delay that a grant planned counts what came of it: never more than was planned, and no
// more than to the beginning of a later plan, which knows better.
TEST(State, DelaysThatCameAreCountedAtTheStart) {
  const auto sums = [](Stage& stage, Party::Kind kind, std::uint32_t number) {
    const auto& all = stage.state().delays;
    const auto at = std::ranges::find(all, Party{kind, number}, &Delays::party);
    return at == all.end() ? std::array<double, 4>{}
                           : std::array{static_cast<double>(at->jobs), at->planned_s,
                                        at->suffered_s, at->caused_s};
  };
  struct Plan {
    int from, by;
  };
  const auto played = [&](const std::vector<Plan>& plans, int start, bool instant = true) {
    Stage::Setup setup;
    setup.can.instant_start = instant;
    Stage stage(setup);
    JobSpec asking = testing::sized(JobType::evolving, {1, 8}, 2, 1000);
    asking.user = 3;
    asking.account = 1;
    const JobId asks = stage.run(asking);
    JobSpec spec = rigid(2, 100);
    spec.user = 7;
    spec.account = 2;
    const JobId waits = stage.submit(spec);
    std::uint32_t number = 0;
    for (const Plan& plan : plans) {
      stage.at(10 + static_cast<int>(number));
      stage.tell(event::EvolvingRequested{RequestId{++number}, asks, 1, 0});
      stage.close([&](Pass& p) {
        const Delay delays[] = {{waits, whole_seconds(plan.by), at_s(plan.from)}};
        EXPECT_TRUE(p.grant(RequestId{number}, {Why::evolving}, {}, delays));
      });
      stage.resized(asks);
    }
    stage.at(start);
    stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(waits, exactly(2), {})); });
    if (!instant) {
      EXPECT_EQ(sums(stage, Party::Kind::user, 7)[2], 0);
      stage.at(start + 10);
      stage.tell(event::Started{waits, stage.job(waits).decision, {}, {}});
    }
    EXPECT_TRUE(stage.state().planned_delays.empty());
    const auto suffered = sums(stage, Party::Kind::user, 7);
    EXPECT_EQ(suffered, sums(stage, Party::Kind::account, 2));
    EXPECT_EQ(suffered[0], 1);
    EXPECT_EQ(sums(stage, Party::Kind::user, 3), sums(stage, Party::Kind::account, 1));
    EXPECT_EQ(sums(stage, Party::Kind::user, 3), (std::array{0.0, 0.0, 0.0, suffered[2]}));
    return std::pair(suffered[1], suffered[2]);
  };
  using Sums = std::pair<double, double>;  // planned, came
  EXPECT_EQ(played({{100, 50}}, 40), Sums(50, 0));
  EXPECT_EQ(played({{100, 50}}, 120), Sums(50, 20));
  EXPECT_EQ(played({{100, 50}}, 120, false), Sums(50, 30));  // the world takes 10 s to start it
  EXPECT_EQ(played({{100, 50}}, 500), Sums(50, 50));
  EXPECT_EQ(played({{100, 50}, {150, 30}}, 500), Sums(80, 80));
  EXPECT_EQ(played({{100, 50}, {150, 30}}, 160), Sums(80, 60));
  EXPECT_EQ(played({{100, 50}, {120, 10}}, 500), Sums(60, 30));  // the first had become 20
  EXPECT_EQ(played({{100, 50}, {60, 10}}, 500), Sums(60, 10));   // or nothing
  EXPECT_EQ(played({{100, 50}, {300, 10}}, 305), Sums(60, 55));
}

TEST(State, DelaysOfWhatIsNotGrantedAfterAllDoNotCome) {
  Stage::Setup setup;
  setup.can.instant_start = false;
  Stage stage(setup);
  const JobId victim = stage.run(malleable({1, 8}, 6, 1000));
  const JobId asks = stage.run(testing::sized(JobType::evolving, {1, 8}, 2, 1000));
  const JobId waits = stage.submit(rigid(2, 100)), leaves = stage.submit(rigid(2, 100));
  stage.tell(event::EvolvingRequested{RequestId{1}, asks, 2, 0});
  const Cut cuts[] = {{victim, 4}};
  const Delay delays[] = {{waits, whole_seconds(5), at_s(50)},
                          {leaves, whole_seconds(5), at_s(50)}};
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}, {cuts, false}, delays));
  });
  EXPECT_EQ(stage.state().planned_delays.size(), 2u);
  stage.tell(event::Ended{leaves, EndState::cancelled, false});
  EXPECT_EQ(stage.state().planned_delays.size(), 1u);
  // Nor do they use up the limits. The job that left keeps what was planned for it.
  const auto counted = [&] {
    const Delays& its = stage.state().delays.front();
    return std::array{static_cast<double>(its.jobs), its.planned_s, its.sum_s};
  };
  EXPECT_EQ(counted(), (std::array{2.0, 10.0, 10.0}));
  stage.tell(event::EvolvingWithdrawn{RequestId{1}});
  EXPECT_TRUE(stage.state().planned_delays.empty());
  EXPECT_EQ(stage.job(waits).delayed, Duration{});
  EXPECT_EQ(counted(), (std::array{1.0, 5.0, 5.0}));
  stage.resized(victim);

  // The application does not grow when it is told that it may.
  stage.tell(event::EvolvingRequested{RequestId{2}, asks, 2, 0});
  stage.close([&](Pass& p) {
    const Delay again[] = {{waits, whole_seconds(5), at_s(50)}};
    EXPECT_TRUE(p.grant(RequestId{2}, {Why::evolving}, {}, again));
  });
  EXPECT_EQ(stage.state().planned_delays.size(), 1u);
  stage.tell(event::Resized{asks, stage.job(asks).decision, holding({{6, 7}}), at_s(60)});
  EXPECT_EQ(stage.job(asks).size(), 2u);
  EXPECT_TRUE(stage.state().planned_delays.empty());
  EXPECT_EQ(stage.job(waits).delayed, Duration{});
  EXPECT_EQ(counted(), (std::array{1.0, 5.0, 5.0}));
}

// What has faded since is taken off as what it is now.
TEST(State, DelaysOfALostGrantAreTakenOffAsTheyHaveFaded) {
  Stage::Setup setup;
  setup.rules.fairness.interval = whole_seconds(100);
  setup.rules.fairness.decay = 0.5;
  Stage stage(setup);
  const JobSpec evolving = testing::sized(JobType::evolving, {1, 8}, 2, 1000);
  const JobId first = stage.run(evolving), second = stage.run(evolving);
  const JobId waits = stage.submit(rigid(8, 100));
  const Holding had = stage.job(first).holding;
  const auto grant = [&](std::uint32_t number, JobId asks) {
    stage.tell(event::EvolvingRequested{RequestId{number}, asks, 1, 0});
    stage.close([&](Pass& p) {
      const Delay delays[] = {{waits, whole_seconds(40), at_s(1000)}};
      EXPECT_TRUE(p.grant(RequestId{number}, {Why::evolving}, {}, delays));
    });
  };
  stage.at(10);
  grant(1, first);
  stage.at(110);
  grant(2, second);
  EXPECT_EQ(stage.state().delays.front().sum_s, 60);
  stage.resized(first, had);  // it did not grow
  EXPECT_EQ(stage.state().delays.front().sum_s, 40);
  EXPECT_EQ(stage.state().delays.front().planned_s, 40);
  EXPECT_EQ(stage.state().delays.front().jobs, 1u);
  EXPECT_EQ(stage.job(waits).delayed, whole_seconds(40));
}

TEST(State, SeizingWhatOthersHoldIsTheWorldsContradiction) {
  Stage stage;
  stage.run(rigid(4, 100));
  const JobId second = stage.submit(rigid(4, 100));
  EXPECT_THROW(stage.tell(event::Started{second, DecisionId::none, holding({{3, 6}}), {}}),
               std::logic_error);
  Stage::Setup counts;
  counts.rules.identities = false;
  Stage plain(counts);
  plain.run(rigid(6, 100));
  const JobId third = plain.submit(rigid(4, 100));
  EXPECT_THROW(plain.tell(event::Started{third, DecisionId::none, {4, {}}, {}}), std::logic_error);
}

TEST(State, NodesThatDrainMayBeHeld) {
  Stage stage;
  stage.run(rigid(4, 100));  // on 0-3
  const JobId second = stage.submit(rigid(4, 100));
  stage.tell(event::NodesChanged{NodeSet{{{0, 3}}}, Health::draining});
  stage.tell(event::NodesChanged{NodeSet{{{4, 7}}}, Health::down});
  EXPECT_EQ(stage.state().out_of_service, 4u);
  EXPECT_THROW(stage.tell(event::Started{second, DecisionId::none, holding({{0, 3}}), {}}),
               std::logic_error);
  EXPECT_TRUE(stage.tell(event::Started{second, DecisionId::none, holding({{4, 7}}), {}}));
}

TEST(State, AJobIsBelievedToDrawNoLessThanIdleNodes) {
  Stage::Setup setup;
  setup.platform.idle_w = 100;
  setup.platform.busy_w = 250;
  Stage stage(setup);
  const JobId id = stage.run(rigid(4, 100));
  EXPECT_EQ(stage.state().power_mw(), 8 * 100'000 + 4 * 150'000);
  stage.tell(event::Believed{id, 60, 0, 0});
  EXPECT_EQ(stage.state().power_mw(), 8 * 100'000);
}

// --- The backlog, and who is overdue
// -----------------------------------------------------------------------------------------

TEST(Backlog, IsWhatTheNodesInServiceNeedForAllThatIsThere) {
  Stage stage;  // of 8 nodes
  const State& state = stage.state();
  EXPECT_EQ(state.backlog(), Duration{});
  stage.run(rigid(3, 100));  // until 100 s
  stage.at(20);
  stage.submit(rigid(8, 30));
  stage.submit(malleable({1, 8}, 4, 50));  // at its preferred size
  stage.close();
  EXPECT_EQ(state.backlog(), whole_seconds(3 * 80 + 8 * 30 + 4 * 50) / 8);
  // Nodes that are not up do none of it.
  stage.tell(event::NodesChanged{nodes({{6, 7}}), Health::down});
  stage.close();
  EXPECT_EQ(state.backlog(), (whole_seconds(3 * 80 + 8 * 30 + 4 * 50)) / 6);
  // Who is past his believed end has nothing left that is known.
  stage.at(200);
  stage.close();
  EXPECT_EQ(state.backlog(), whole_seconds(8 * 30 + 4 * 50) / 6);
}

TEST(Backlog, CountsClaimsAndResizedJobs) {
  Stage stage;
  const State& state = stage.state();
  const JobId victim = stage.run(malleable({2, 8}, 8, 100));
  const JobId waits = stage.submit(rigid(4, 60));
  stage.at(50);
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.start(waits, exactly(4), {Why::shrunk_for}, {cuts}));
  });
  // 400 node-seconds are left of it, and the claim holds 4 nodes until what it starts has ended.
  const Time end = state.expected_end(stage.job(victim));
  const Duration left = end - stage.now;
  const Claim& claim = state.claims.front();
  const Duration claimed = claim.release - stage.now;
  EXPECT_GE(claimed, whole_seconds(60));
  EXPECT_EQ(state.backlog(), (4 * left + 4 * claimed) / 8);
  stage.resized(victim);
  stage.close();
  EXPECT_EQ(state.backlog(), (4 * whole_seconds(100) + 4 * whole_seconds(60)) / 8);
}

// As the sum over all jobs, whatever happens to them.
TEST(Backlog, IsTheSumByHand) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed, Stream::test, 4);
    Stage stage;
    const State& state = stage.state();
    std::int64_t second = 0;
    for (int n = 0; n < 100; ++n) {
      second += static_cast<std::int64_t>(draws.below(20));
      stage.at(second);
      if (draws.chance(0.6)) {
        const auto size = static_cast<Nodes>(1 + draws.below(8));
        stage.submit(malleable({1, 8}, size, static_cast<std::int64_t>(1 + draws.below(100))));
      }
      if (!state.running.empty() && draws.chance(0.3)) {
        stage.ended(state.running[draws.below(state.running.size())]);
      }
      stage.close([&](Pass& p) {
        const JobId id = p.first_pending();
        if (id != JobId::none && draws.chance(0.7)) p.start(id, {1, 8}, {Why::in_order});
        if (p.running_malleable().empty() || !draws.chance(0.5)) return;
        p.resize(p.running_malleable()[0], static_cast<Nodes>(1 + draws.below(8)), {});
      });
      while (!stage.core.unanswered().empty()) {
        stage.resized(stage.core.unanswered()[0].job);
        stage.close();
      }
      Wide sum = 0;
      for (std::uint32_t i = 0; i < state.jobs.size(); ++i) {
        if (!state.jobs.knows(JobId{i})) continue;
        const Job& job = stage.job(JobId{i});
        if (job.status == Status::pending) {
          sum += Wide{job.spec.preferred} * job.spec.walltime.count();
        } else if (job.status == Status::running && job.limit > stage.now) {
          sum += Wide{job.size()} * (job.limit - stage.now).count();
        }
      }
      ASSERT_EQ(state.backlog().count(), sum / 8) << "seed " << seed << ", step " << n;
    }
  }
}

TEST(Backlog, OfJobsWithoutEndIsNoMoreThanAFourthOfAllTime) {
  Stage stage;
  JobSpec endless = rigid(8, 1);
  endless.walltime = Duration::max() / 2;
  for (int n = 0; n < 20; ++n) stage.submit(endless);
  stage.close();
  EXPECT_EQ(stage.state().backlog(), Duration{Duration::max().count() / 4});
}

class WhoIsOverdue : public ::testing::Test {
 protected:
  WhoIsOverdue() {
    stage_.script->traits.order = QueueOrder::area;
    stage_.script->traits.overdue = {.slack = 0.5, .grace = whole_seconds(30)};
  }
  JobId submit(const JobSpec& spec) {
    JobSpec its = spec;
    its.submitted = stage_.now;
    return stage_.submit(its);
  }
  JobId first_at(std::int64_t second) { return first_at(at_s(second)); }
  /// Something happens then.
  JobId first_at(Time time) {
    stage_.now = time;
    JobId first = JobId::none;
    JobSpec nothing = rigid(1, 0);  // so that there is a pass
    nothing.walltime = kTick;
    nothing.priority = -1;
    submit(nothing);
    stage_.close([&](Pass& p) { first = p.first_pending(); });
    return first;
  }
  Stage stage_;
};

TEST_F(WhoIsOverdue, WhoHasWaitedLongerThanTheBacklogExplainsAndForHowLong) {
  stage_.run(rigid(8, 100));
  stage_.now = Time{};
  const JobId large = submit(rigid(8, 100));
  const JobId small = submit(rigid(1, 80));
  // B at t: 100 - t + 100 + 10. Overdue if t > 0.5 (210 - t) + 30, t > 90.
  EXPECT_EQ(first_at(10), small);
  EXPECT_EQ(first_at(90), small);
  EXPECT_EQ(first_at(at_s(90) + 2 * kTick), large);
  EXPECT_EQ(stage_.state().sorting.overdue, JobId{3});  // both; not who came later
}

TEST_F(WhoIsOverdue, StaysSo) {
  stage_.script->traits.overdue = {.slack = 0.5, .grace = Duration{}};
  stage_.run(rigid(8, 100));
  stage_.now = Time{};
  const JobId large = submit(rigid(8, 100));
  stage_.at(10);
  submit(rigid(1, 80));
  // B at 80: 20 + 100 + 10.
  EXPECT_EQ(first_at(80), large);
  const JobId mark = stage_.state().sorting.overdue;
  // So much comes that nobody would be.
  stage_.at(81);
  const JobId tiny = submit(rigid(1, 1));
  for (int n = 0; n < 10; ++n) submit(rigid(8, 1'000'000));
  EXPECT_EQ(first_at(82), large);
  EXPECT_EQ(stage_.state().sorting.overdue, mark);
  EXPECT_GT(tiny, large);
  EXPECT_GT(tiny, JobId{index(mark) - 1});
}

// With none to do what waits is overdue at once after the grace; and without slack.
TEST_F(WhoIsOverdue, GraceAloneCountsWithoutSlack) {
  stage_.script->traits.overdue = {.slack = 0, .grace = whole_seconds(30)};
  stage_.run(rigid(8, 1000));
  stage_.now = Time{};
  const JobId large = submit(rigid(8, 100));
  const JobId small = submit(rigid(1, 10));
  EXPECT_EQ(first_at(1), small);
  EXPECT_EQ(first_at(30), small);
  EXPECT_EQ(first_at(at_s(30) + kTick), large);
}

TEST_F(WhoIsOverdue, PriorityGoesBeforeThat) {
  stage_.script->traits.overdue = {.slack = 0, .grace = Duration{}};
  stage_.run(rigid(8, 1000));
  stage_.now = Time{};
  submit(rigid(8, 100));
  stage_.at(5);
  JobSpec urgent = rigid(8, 1000);
  urgent.priority = 1;
  const JobId first = submit(urgent);
  EXPECT_EQ(first_at(50), first);
}

// As any order that changes with time it is looked at only every `priority_period`.
TEST_F(WhoIsOverdue, IsAskedEveryPeriod) {
  stage_.script->traits.overdue = {.slack = 0, .grace = whole_seconds(30)};
  stage_.script->traits.priority_period = whole_seconds(50);
  stage_.run(rigid(8, 1000));
  stage_.now = Time{};
  const JobId large = submit(rigid(8, 100));
  const JobId small = submit(rigid(1, 10));
  EXPECT_EQ(first_at(49), small);
  EXPECT_EQ(first_at(50), large);
}

}  // namespace
}  // namespace ductile
