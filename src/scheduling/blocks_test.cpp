#include "scheduling/blocks.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::Stage;

/// Which jobs were started, and why.
std::vector<std::pair<JobId, Why>> starts(const std::vector<Decision>& decisions) {
  std::vector<std::pair<JobId, Why>> result;
  for (const Decision& decision : decisions) {
    if (decision.kind == Decision::Kind::start)
      result.push_back({decision.job, decision.reason.why});
  }
  return result;
}

using Starts = std::vector<std::pair<JobId, Why>>;

TEST(StartInOrder, StopsAtTheFirstThatDoesNotFit) {
  Stage stage;
  const JobId a = stage.submit(rigid(3, 10));
  const JobId b = stage.submit(rigid(3, 10));
  stage.submit(rigid(3, 10));
  stage.submit(rigid(1, 10));
  EXPECT_EQ(starts(stage.close([](Pass& p) { start_in_order(p); })),
            (Starts{{a, Why::in_order}, {b, Why::in_order}}));
}

TEST(StartInOrder, LooksAtTheFirstJobs) {
  Stage stage;
  const JobId a = stage.submit(rigid(1, 10));
  const JobId b = stage.submit(rigid(1, 10));
  const JobId c = stage.submit(rigid(1, 10));
  EXPECT_EQ(starts(stage.pass([](Pass& p) { start_in_order(p, {.jobs = 2}); })),
            (Starts{{a, Why::in_order}, {b, Why::in_order}}));
  EXPECT_EQ(starts(stage.pass([](Pass& p) { start_in_order(p, {.jobs = 2}); })),
            (Starts{{c, Why::in_order}}));
}

TEST(AnybodyFits, InWhatIdles) {
  Stage stage;
  stage.run(rigid(6, 10));  // of 8
  stage.pass([](Pass& p) { EXPECT_FALSE(anybody_fits(p)); });
  stage.submit(rigid(3, 10));
  stage.pass([](Pass& p) { EXPECT_FALSE(anybody_fits(p)); });
  stage.submit(rigid(2, 10));
  stage.pass([](Pass& p) { EXPECT_TRUE(anybody_fits(p)); });
}

// With depths, windows or rounding nobody behind the plan is started, also where the rules end it.
TEST(Backfill, SomeJobsAreLookedAtAndNoOthers) {
  for (const std::uint32_t most : {0u, 1u}) {
    Stage stage({.rules = {.reservations_per_plan = most}});
    stage.run(rigid(6, 100));
    stage.submit(rigid(8, 10));
    stage.submit(rigid(8, 10));
    stage.submit(rigid(1, 10));
    const Backfill two{.reservation_depth = Backfill::kUnlimited, .jobs = 2};
    EXPECT_EQ(starts(stage.pass([&](Pass& p) { backfill(p, two); })), Starts{});
    EXPECT_EQ(starts(stage.pass([&](Pass& p) { start_and_backfill(p, two); })), Starts{});
  }
}

// H10: nothing passes a job that waits for its nodes, if the policy is strict.
TEST(StartInOrder, StrictStopsAtAClaimOfHigherPriority) {
  for (const bool strict : {false, true}) {
    Stage stage;
    const JobId victim = stage.run(malleable({1, 8}, 6));
    const JobId first = stage.submit(rigid(1, 10));
    const JobId claims = stage.submit(rigid(4, 10));
    const JobId last = stage.submit(rigid(1, 10));
    stage.close([&](Pass& p) {
      EXPECT_TRUE(p.start(first, exactly(1), {}));
      const Cut cuts[] = {{victim, 2}};
      EXPECT_TRUE(p.start(claims, exactly(4), {}, {cuts}));  // 1 idle, 3 to come; 1 is incoming
    });
    EXPECT_EQ(stage.idle(), 0u);
    stage.at(5);
    stage.ended(first);
    const auto decisions = stage.close([&](Pass& p) { start_in_order(p, {.strict = strict}); });
    EXPECT_EQ(starts(decisions), strict ? Starts{} : (Starts{{last, Why::in_order}}));
  }
}

// H10: a claim of lower priority is in nobody's way, nor is that of an expansion.
TEST(StartInOrder, StrictPassesOtherClaims) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 4));
  const JobId grows = stage.run(malleable({1, 8}, 3));
  const JobId claims = stage.submit(rigid(2, 10));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 2}};
    EXPECT_TRUE(p.start(claims, exactly(2), {}, {cuts}));  // 1 idle, 1 to come
    EXPECT_TRUE(p.resize(grows, 4, {}, {.incoming = true}));
  });
  JobSpec spec = rigid(1, 10);
  spec.priority = 1;
  const JobId urgent = stage.submit(spec);
  stage.tell(event::Ended{victim, EndState::completed, false});
  bool started = false;
  stage.close([&](Pass& p) {
    start_in_order(p, {.strict = true});
    started = p.job(urgent).status == Status::running;
  });
  EXPECT_TRUE(started);
}

TEST(Backfill, DepthOneIsEasy) {
  Stage stage({.platform = {.nodes = 4}});
  const JobId a = stage.submit(rigid(3, 10));
  const JobId head = stage.submit(rigid(4, 5));   // at 10
  stage.submit(rigid(1, 11));                     // would delay it
  const JobId fits = stage.submit(rigid(1, 10));  // just ends in time
  const auto decisions = stage.close([](Pass& p) { backfill(p, {.reservation_depth = 1}); });
  EXPECT_EQ(starts(decisions), (Starts{{a, Why::in_order}, {fits, Why::backfilled}}));
  EXPECT_EQ(stage.job(head).reserved, at_s(10));
}

TEST(Backfill, UnlimitedDepthDelaysNoReservation) {
  for (const std::uint32_t depth : {1u, 2u, Backfill::kUnlimited}) {
    Stage stage({.platform = {.nodes = 4}});
    stage.run(rigid(3, 10));
    const JobId head = stage.submit(rigid(4, 5));     // at 10
    const JobId second = stage.submit(rigid(2, 10));  // at 15
    const JobId third = stage.submit(rigid(1, 9));    // now, unless a reservation is in its way
    const JobId fourth = stage.submit(rigid(3, 10));  // at 25 if `second` is there
    const auto decisions = stage.close([&](Pass& p) { backfill(p, {.reservation_depth = depth}); });
    EXPECT_EQ(starts(decisions), (Starts{{third, Why::backfilled}}));
    EXPECT_EQ(stage.job(head).reserved, at_s(10));
    EXPECT_EQ(stage.job(second).reserved, depth > 1 ? at_s(15) : kNever);
    EXPECT_EQ(stage.job(fourth).reserved, depth > 2 ? at_s(25) : kNever);
  }
}

// Each plan of a pass has as many, the second one, too.
TEST(Backfill, TheRulesEndThePlan) {
  for (const std::uint32_t most : {2u, 3u}) {
    Stage stage({.platform = {.nodes = 4}, .rules = {.reservations_per_plan = most}});
    stage.run(rigid(3, 10));
    const JobId head = stage.submit(rigid(4, 5));     // at 10
    const JobId second = stage.submit(rigid(2, 10));  // at 15
    const JobId third = stage.submit(rigid(3, 10));   // at 25
    const JobId fourth = stage.submit(rigid(1, 9));   // now
    const auto decisions = stage.close([&](Pass& p) {
      backfill(p, {.reservation_depth = Backfill::kUnlimited});
      Left left = left_by_reservations(p, {.reservation_depth = Backfill::kUnlimited});
      EXPECT_EQ(left.during(p, fourth, 4, whole_seconds(12)), 0u);  // the head's is there
    });
    EXPECT_EQ(starts(decisions), (Starts{{fourth, Why::backfilled}}));
    EXPECT_EQ(stage.job(head).reserved, at_s(10));
    EXPECT_EQ(stage.job(second).reserved, at_s(15));
    EXPECT_EQ(stage.job(third).reserved, most == 2 ? kNever : at_s(25));
    EXPECT_TRUE(stage.core.was_cut_short());
  }
}

TEST(Backfill, IsCutShortWhereAJobHasNoPlan) {
  for (const std::uint32_t most : {0u, 2u, 3u, 4u}) {
    Stage stage({.platform = {.nodes = 4}, .rules = {.reservations_per_plan = most}});
    stage.run(rigid(4, 10));
    for (int i = 0; i < 3; ++i) stage.submit(rigid(4, 5));
    const auto plan = [](Pass& p) { backfill(p, {.reservation_depth = Backfill::kUnlimited}); };
    stage.close(plan);
    EXPECT_EQ(stage.core.was_cut_short(), most == 2) << most;
    stage.submit(rigid(4, 5));  // what was planned is remembered
    stage.close(plan);
    EXPECT_EQ(stage.core.was_cut_short(), most == 2 || most == 3) << most;
    stage.submit(rigid(4, 5));
    stage.close([](Pass& p) { backfill(p, {.reservation_depth = 2}); });
    EXPECT_FALSE(stage.core.was_cut_short());
  }
}

// H31: a head that waits for watts is reserved when they are there, and nobody takes them.
TEST(Backfill, ReservesNodesAndPower) {
  Stage stage({.platform = {.nodes = 8, .busy_w = 100}});
  stage.tell(event::CorridorChanged{0, 500});
  stage.run(rigid(4, 10));
  const JobId head = stage.submit(rigid(5, 5));
  stage.submit(rigid(1, 20));  // would take the head's watts
  const JobId fits = stage.submit(rigid(1, 9));
  const auto decisions = stage.close([](Pass& p) { backfill(p, {.reservation_depth = 1}); });
  EXPECT_EQ(stage.job(head).reserved, at_s(10));
  EXPECT_EQ(starts(decisions), (Starts{{fits, Why::backfilled}}));
}

// What is believed of claims and of running shrinks is part of the plan.
TEST(Backfill, SeesClaimsAndIncomingNodes) {
  Stage stage;
  AdaptiveSpec slow;
  slow.resize_delay = whole_seconds(20);
  const JobId victim = stage.run(malleable({1, 8}, 8, 1000), 8, slow);
  const JobId claims = stage.submit(rigid(3, 50));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(claims, exactly(3), {}, {cuts}));  // 2 more are incoming
    EXPECT_EQ(p.incoming(), 2u);
  });
  const JobId small = stage.submit(rigid(2, 10));
  const JobId large = stage.submit(rigid(5, 10));
  stage.close([](Pass& p) { backfill(p, {.reservation_depth = 2}); });
  EXPECT_EQ(stage.job(small).reserved, at_s(20) + kTick);  // the incoming ones
  EXPECT_EQ(stage.job(large).reserved, at_s(70) + kTick);  // those of the claim's job, too
}

// --- For policies that resize

TEST(StartSizes, AreTheSchedulersChoiceOrTheUsers) {
  Stage stage;
  const auto of = [&](JobType type, SizeConstraint::Kind kind) {
    const JobId id =
        stage.submit(testing::sized(type, {3, 8}, 5, 10), AdaptiveSpec{.constraint = {kind}});
    SizeRange sizes;
    stage.pass([&](Pass& p) { sizes = start_sizes(p, id); });
    return sizes;
  };
  using Kind = SizeConstraint::Kind;
  EXPECT_EQ(of(JobType::malleable, Kind::any), (SizeRange{3, 5}));
  EXPECT_EQ(of(JobType::moldable, Kind::any), (SizeRange{3, 5}));
  EXPECT_EQ(of(JobType::evolving, Kind::any), exactly(5));
  EXPECT_EQ(of(JobType::adaptive, Kind::even), (SizeRange{4, 5}));
  EXPECT_EQ(of(JobType::adaptive, Kind::cubic), exactly(5));  // its smallest is above the preferred
}

TEST(StartSizes, TheLargestThatFits) {
  Stage stage;
  const JobId even =
      stage.submit(malleable({3, 8}, 7), AdaptiveSpec{.constraint = {SizeConstraint::Kind::even}});
  const JobId user = stage.submit(rigid(3, 10));
  stage.pass([&](Pass& p) {
    EXPECT_EQ(fitting_size(p, even, 8), 7u);
    EXPECT_EQ(fitting_size(p, even, 7), 7u);
    EXPECT_EQ(fitting_size(p, even, 6), 6u);
    EXPECT_EQ(fitting_size(p, even, 5), 4u);
    EXPECT_EQ(fitting_size(p, even, 3), 0u);
    EXPECT_EQ(fitting_size(p, user, 4), 3u);
    EXPECT_EQ(fitting_size(p, user, 2), 0u);
  });
}

TEST(Tick, IsTheNextMultipleWhileJobsWaitOrRun) {
  Stage stage;
  const auto wake = [&](std::int64_t second, Duration period) {
    stage.now = at_s(second);
    stage.core.apply(stage.now, event::TimerFired{});
    stage.pass([&](Pass& p) { tick(p, period); });
    return stage.core.next_wake();
  };
  EXPECT_EQ(wake(0, whole_seconds(30)), kNever);  // no jobs
  stage.submit(rigid(8, 100));
  EXPECT_EQ(wake(1, {}), kNever);
  EXPECT_EQ(wake(1, whole_seconds(30)), at_s(30));
  EXPECT_EQ(wake(29, whole_seconds(30)), at_s(30));
  EXPECT_EQ(wake(30, whole_seconds(30)), at_s(60));
  EXPECT_EQ(wake(61, seconds(2.5)), Time{seconds(62.5)});
}

// On 8 nodes, 3 of them busy until 10 s and 2 until 20 s, the head needs 6 of them: the shadow time
// is 10 s, and no node is extra. With 5 it is 10 s and one is.
TEST(Shadow, ProtectsTheHead) {
  Stage stage;
  stage.run(rigid(3, 10));
  stage.run(rigid(2, 20));
  const JobId head = stage.submit(malleable({5, 8}, 8, 50));
  const JobId others = stage.submit(malleable({1, 3}, 3, 9));
  stage.pass([&](Pass& p) {
    const Shadow tight(p, head, 6);
    EXPECT_EQ(p.job(head).reserved, p.job(JobId{0}).limit);
    EXPECT_FALSE(tight.allows(p, others, 1));  // 27 s
    Shadow wide(p, head, 5);
    EXPECT_TRUE(wide.allows(p, others, 1));
    EXPECT_FALSE(wide.allows(p, others, 2));  // 13.5 s
    EXPECT_TRUE(wide.allows(p, others, 3));   // 9 s
    wide.took(p, others, 1);
    EXPECT_FALSE(wide.allows(p, others, 1));
    EXPECT_FALSE(wide.allows(p, others, 3));
  });
}

// Prabhakaran et al. 2015: jobs A and B end after 1 h and half an hour.
TEST(Plan, AJobStartsWhenTheLastItDependsOnEnds) {
  for (const auto& [need, start_s] : {std::pair(3u, 1800), std::pair(4u, 3600)}) {
    Stage::Setup setup;
    setup.platform.nodes = 4;
    Stage stage(setup);
    stage.submit(rigid(1, 3600));
    stage.submit(rigid(1, 1800));
    const JobId c = stage.submit(rigid(need, 600));
    stage.close([&](Pass& pass) {
      const Backfill options{.reservation_depth = 5, .extra_is_free = true};
      Timeline plan = timeline_for(pass, options);
      start_or_reserve(pass, plan, options);
    });
    EXPECT_EQ(stage.job(c).reserved, at_s(start_s));
  }
}

// A job that needs extra nodes of others now is planned for now, and not started.
TEST(Plan, ExtraNodesAreFreeFromNowOn) {
  for (const bool extra_is_free : {true, false}) {
    Stage stage;
    const JobId running = stage.submit(malleable({2, 7}, 7));
    stage.close([&](Pass& pass) { pass.start(running, exactly(7), {}); });
    stage.at(1);
    const JobId first = stage.submit(rigid(8, 10));
    const JobId second = stage.submit(rigid(3, 10));
    stage.close([&](Pass& pass) {
      backfill(pass, {.reservation_depth = 2, .extra_is_free = extra_is_free});
    });
    EXPECT_EQ(stage.job(second).status, Status::pending);
    EXPECT_EQ(stage.job(first).reserved, at_s(100));
    EXPECT_EQ(stage.job(second).reserved, at_s(extra_is_free ? 1 : 110));
  }
}

}  // namespace
}  // namespace ductile
