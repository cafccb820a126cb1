#include "scheduling/pass.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/blocks.hpp"
#include "scheduling/policy.hpp"
#include "support/fingerprint.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::fingerprint;
using testing::holding;
using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::sized;
using testing::Stage;

constexpr Reason kReason{Why::in_order};

// --- The view
// ----------------------------------------------------------------------------------------

TEST(View, ShowsTheWaitingWithoutThoseThatHaveAClaim) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId a = stage.submit(rigid(3, 10));
  const JobId b = stage.submit(rigid(3, 10));
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.pending(), 2u);
    EXPECT_TRUE(p.before(a, b));
    const Cut cuts[] = {{victim, 5}};
    EXPECT_TRUE(p.start(a, exactly(3), kReason, {cuts}));
    EXPECT_EQ(p.pending(), 1u);
    EXPECT_EQ(p.first_pending(), b);
    EXPECT_EQ(p.next_pending(b), JobId::none);
    EXPECT_EQ(p.next_pending(a), b);  // gone, and still a place
    ASSERT_EQ(p.claims().size(), 1u);
    EXPECT_EQ(p.claims()[0].job, a);
    EXPECT_TRUE(p.any_resizing());
    EXPECT_EQ(p.in_use(), 8u);  // held and claimed
  });
}

TEST(View, NodesInUse) {
  Stage stage;
  stage.run(rigid(3, 10));
  stage.tell(event::NodesChanged{nodes({{6, 7}}), Health::down});
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.in_use(), 3u);
    EXPECT_EQ(p.in_service(), 6u);
    EXPECT_FALSE(p.any_resizing());
  });
}

TEST(View, NodesOnTheirWayToNobodyAreNotInUse) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  stage.at(10);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(victim, 2, kReason)); });
  const JobId waiting = stage.submit(rigid(3, 10));
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.in_use(), 2u);
    EXPECT_EQ(p.in_service(), 8u);
    EXPECT_TRUE(p.start(waiting, exactly(3), kReason, {.incoming = true}));
    EXPECT_EQ(p.in_use(), 5u);
    EXPECT_EQ(p.in_service(), 8u);
  });
  ASSERT_TRUE(stage.resized(victim));
  stage.pass([&](Pass& p) { EXPECT_EQ(p.in_use(), 5u); });
}

// H23
TEST(View, Estimates) {
  Stage stage;
  AdaptiveSpec spec;
  spec.resize_delay = whole_seconds(5);
  spec.cost = {.b_s = 2, .fixed_s = 1};
  const JobId id = stage.submit(malleable({1, 8}, 4, 100), spec);
  stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
  stage.at(50);
  stage.pass([&](Pass& p) {
    EXPECT_EQ(p.estimate(id, 8), whole_seconds(50));
    EXPECT_EQ(p.expected_end(id), at_s(100));
    EXPECT_EQ(p.expected_end(id, 8), at_s(75));
    EXPECT_EQ(p.expected_end(id, 2), at_s(150));
    EXPECT_EQ(p.expected_release(id), at_s(55));
    EXPECT_EQ(p.expected_cost(id, 6), whole_seconds(5));
    EXPECT_EQ(p.expected_cost(id, 4), Duration{});
    EXPECT_EQ(2 * p.work_left(id).left, p.work_left(id).whole);
    EXPECT_EQ(p.sizes(id), SizeConstraint{});
    p.resize(id, 2, kReason);
    EXPECT_EQ(p.expected_end(id, 4), at_s(100));  // it still runs at 4
    EXPECT_EQ(p.job(id).size(), 2u);
    EXPECT_EQ(p.job(id).holding.count, 4u);
  });
  stage.tell(event::Believed{id, 0, 0.25, 0});
  stage.pass([&](Pass& p) { EXPECT_DOUBLE_EQ(p.mtct(id), 0.25); });
  // At another size it is not known.
  ASSERT_TRUE(stage.resized(id));
  stage.pass([&](Pass& p) { EXPECT_DOUBLE_EQ(p.mtct(id), 0); });
}

TEST(View, TheEndAfterAResize) {
  for (const auto limit : {Rules::Limit::scaled, Rules::Limit::fixed}) {
    Stage::Setup setup;
    setup.rules.limit = limit;
    Stage stage(setup);
    AdaptiveSpec spec;
    spec.resize_delay = whole_seconds(10);
    spec.cost = {.b_s = 2, .fixed_s = 1};
    const JobId id = stage.submit(malleable({1, 8}, 4, 100), spec);
    const JobId other = stage.submit(malleable({1, 3}, 3, 100), spec);
    stage.close([&](Pass& p) {
      p.start(id, exactly(2), kReason);
      EXPECT_EQ(p.expected_end_after(id, 2), at_s(200));
      EXPECT_EQ(p.expected_end_after(id, 4), at_s(100));  // one start, which costs nothing
      p.start(other, exactly(3), kReason);
    });
    stage.at(50);
    stage.pass([&](Pass& p) {
      // 150 s are left on two nodes, and 140 of them when it can be resized.
      EXPECT_EQ(p.expected_end_after(id, 2), at_s(200));
      EXPECT_EQ(p.expected_end_after(id, 4), at_s(60 + 5 + 70));
      EXPECT_EQ(p.expected_end_after(id, 1), at_s(60 + 3 + 280));
      // The nodes of the other come 10 s from now, and so it is at 20.
      const Cut cuts[] = {{other, 1}};
      EXPECT_EQ(p.expected_end_after(id, 7, {cuts}), at_s(70 + 11) + seconds(130 * 2 / 7.0));
      EXPECT_EQ(p.expected_end_after(id, 8, {cuts}), kNever);  // there are not so many
      EXPECT_TRUE(p.resize(id, 3, kReason));
      EXPECT_EQ(p.expected_end_after(id, 3), at_s(60 + 3) + seconds(140 * 2 / 3.0));
      EXPECT_EQ(p.expected_end_after(id, 4), at_s(60 + 5 + 70));  // two steps are one resize
    });
    ASSERT_TRUE(stage.resized(id, holding({{0, 1}})));  // refused
    stage.at(195);
    stage.pass([&](Pass& p) {
      EXPECT_EQ(p.expected_end_after(id, 2), at_s(200));
      EXPECT_EQ(p.expected_end_after(id, 4), at_s(200));  // it is over before
    });
  }
}

TEST(View, WorkLeftOfARigidJobIsItsTime) {
  Stage stage;
  const JobId id = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.work_left(id).left, p.work_left(id).whole);
    p.start(id, exactly(2), kReason);
  });
  stage.at(75);
  stage.pass([&](Pass& p) { EXPECT_EQ(4 * p.work_left(id).left, p.work_left(id).whole); });
}

// 3.8: a function of seed, pass and draw; nothing is stored.
TEST(View, RandomNumbersAreThoseOfThePass) {
  const auto draw = [](Stage& stage) {
    std::vector<std::uint64_t> drawn;
    stage.pass([&](Pass& p) { drawn = {p.random(), p.random()}; });
    return drawn;
  };
  Stage a, b;
  const auto first = draw(a);
  EXPECT_EQ(first, draw(b));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first, draw(a));
  Stage::Setup other;
  other.rules.seed = 2;
  Stage c(other);
  EXPECT_NE(first, draw(c));
}

// --- The pen
// -----------------------------------------------------------------------------------------

TEST(Pen, StartsTakeTheLowestNodesAndAsManyAsThereAre) {
  Stage stage;
  stage.run(rigid(2, 100));
  const JobId id = stage.submit(malleable({1, 8}, 4));
  const auto decisions = stage.close([&](Pass& p) { EXPECT_TRUE(p.start(id, {3, 8}, kReason)); });
  EXPECT_EQ(decisions[0].after, holding({{2, 7}}));
  EXPECT_EQ(decisions[0].limit, stage.now + seconds(100.0 * 4 / 6));
  EXPECT_EQ(stage.job(id).first_size, 6u);
}

TEST(Pen, SizesAreThoseOfTheType) {
  Stage stage;
  AdaptiveSpec even;
  even.constraint.kind = SizeConstraint::Kind::even;
  const JobId fixed = stage.submit(rigid(4, 10));
  const JobId evolves = stage.submit(sized(JobType::evolving, {1, 8}, 4, 10));
  const JobId pairs = stage.submit(malleable({3, 7}, 4), even);
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.start(fixed, exactly(3), kReason));
    EXPECT_FALSE(p.start(evolves, {3, 5}, kReason));
    EXPECT_FALSE(p.start(pairs, exactly(5), kReason));
    EXPECT_FALSE(p.start(pairs, {2, 4}, kReason));  // below its range
    EXPECT_TRUE(p.start(pairs, {3, 7}, kReason));
    EXPECT_EQ(p.job(pairs).size(), 6u);
  });
}

// 3.4: the same direction merges, the opposite one is not possible.
TEST(Pen, AStartAndAnExpansionAreOneDecision) {
  for (const bool instant : {true, false}) {
    Stage stage({.can = {.instant_start = instant}});
    const JobId id = stage.submit(malleable({1, 8}, 4, 100));
    const auto decisions = stage.close([&](Pass& p) {
      EXPECT_TRUE(p.start(id, exactly(4), kReason));
      EXPECT_FALSE(p.resize(id, 2, kReason));
      EXPECT_TRUE(p.resize(id, 8, kReason));
    });
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].kind, Decision::Kind::start);
    EXPECT_EQ(decisions[0].after.count, 8u);
    EXPECT_EQ(decisions[0].limit, at_s(50));
    EXPECT_EQ(stage.job(id).first_size, 8u);
    EXPECT_EQ(stage.core.unanswered().size(), instant ? 0u : 1u);
  }
}

TEST(Pen, ExpansionsMergeAndSoDoCuts) {
  Stage stage;
  const JobId grows = stage.run(malleable({1, 8}, 2));
  const JobId shrinks = stage.run(malleable({1, 8}, 4));
  const auto decisions = stage.pass([&](Pass& p) {
    EXPECT_TRUE(p.resize(grows, 3, kReason));
    EXPECT_TRUE(p.resize(grows, 4, kReason));
    EXPECT_FALSE(p.resize(grows, 3, kReason));
    EXPECT_TRUE(p.resize(shrinks, 3, kReason));
    EXPECT_TRUE(p.resize(shrinks, 1, kReason));
    EXPECT_FALSE(p.resize(shrinks, 2, kReason));
    EXPECT_EQ(p.incoming(), 3u);
  });
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].after.count, 4u);
  EXPECT_EQ(decisions[1].after.count, 1u);
}

TEST(Pen, AJobOfAnEarlierPassIsLeftAlone) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
  stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.resize(id, 2, kReason));
    EXPECT_FALSE(p.resize(id, 5, kReason));
  });
}

TEST(Pen, ACutMayBeNamedAgainForItsSurplus) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 8));
  const JobId a = stage.submit(rigid(2, 10));
  const JobId b = stage.submit(rigid(2, 10));
  const JobId c = stage.submit(rigid(2, 10));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(a, exactly(2), kReason, {cuts}));
    EXPECT_EQ(p.incoming(), 3u);
    EXPECT_TRUE(p.start(b, exactly(2), kReason, {cuts}));
    EXPECT_EQ(p.incoming(), 1u);
    EXPECT_FALSE(p.start(c, exactly(2), kReason, {cuts}));  // 1 is left
    EXPECT_FALSE(p.start(c, exactly(2), kReason, {.incoming = true}));
  });
}

TEST(Pen, ATagIsRemembered) {
  Stage stage;
  const JobId id = stage.submit(rigid(2, 10));
  stage.close([&](Pass& p) { EXPECT_TRUE(p.tag(id, JobId{5})); });
  stage.pass([&](Pass& p) { EXPECT_EQ(p.job(id).tag, JobId{5}); });
}

// H34
TEST(Pen, AReservationIsRecordedWhenItChanges) {
  Stage stage;
  const JobId id = stage.submit(rigid(8, 10));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.reserve(id, at_s(5), {Why::resources}));
    EXPECT_TRUE(p.reserve(id, at_s(5), {Why::resources}));
  });
  EXPECT_EQ(stage.core.pen_calls().size(), 1u);
  EXPECT_EQ(stage.job(id).reserved, at_s(5));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.reserve(id, at_s(5), {Why::resources})); });
  EXPECT_TRUE(stage.core.pen_calls().empty());
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(p.reserve(id, at_s(6), {Why::resources}));
    EXPECT_TRUE(p.start(id, exactly(8), kReason));
    EXPECT_FALSE(p.reserve(id, at_s(7), {Why::resources}));
  });
  EXPECT_EQ(stage.job(id).reserved, kNever);
}

/// Reserves one job in each pass.
class ReservesOne final : public Policy {
 public:
  explicit ReservesOne(JobId job) : Policy(Traits{}), job_(job) {}
  void schedule(Pass& pass) const override {
    EXPECT_TRUE(pass.reserve(job_, at_s(5), {Why::resources}));
  }

 private:
  JobId job_;
};

TEST(Pen, WhoIsNotReservedAgainByAPassThatReservesHoldsNoReservation) {
  Stage stage;
  const JobId first = stage.submit(rigid(8, 10)), other = stage.submit(rigid(7, 10)),
              last = stage.submit(rigid(6, 10));
  stage.close([&](Pass& p) {
    for (const JobId id : {last, first, other}) p.reserve(id, at_s(5), {Why::resources});
    p.drop_old_reservations();
  });
  EXPECT_EQ(stage.core.pen_calls().size(), 3u);
  stage.pass([&](Pass& p) { p.drop_old_reservations(); });  // it plans nothing
  EXPECT_EQ(stage.job(first).reserved, at_s(5));
  stage.pass(ReservesOne(other));
  EXPECT_EQ(stage.job(other).reserved, at_s(5));
  EXPECT_EQ(stage.job(first).reserved, kNever);
  EXPECT_EQ(stage.job(last).reserved, kNever);
  ASSERT_EQ(stage.core.pen_calls().size(), 2u);  // so that who follows them knows it as well
  EXPECT_EQ(stage.core.pen_calls()[0].job, first);
  EXPECT_EQ(stage.core.pen_calls()[1].job, last);
}

// H36
TEST(Pen, WhatIsNotPossibleChangesNothing) {
  Stage stage({.can = {.power_control = true}});
  const JobId runs = stage.run(malleable({2, 6}, 4));
  const JobId busy = stage.run(malleable({1, 8}, 2));
  const JobId waits = stage.submit(rigid(5, 10));
  const JobId held = stage.submit(rigid(1, 10));
  const JobId over = stage.submit(rigid(1, 10));
  stage.ended(over);
  stage.tell(event::Eligible{held, false});
  stage.pass([&](Pass& p) { p.resize(busy, 1, kReason); });
  const JobId unknown{999};
  stage.pass([&](Pass& p) {
    const std::uint64_t before = fingerprint(stage.state());
    const Cut too_deep[] = {{runs, 1}};
    const Cut up[] = {{runs, 5}};
    const Cut is_busy[] = {{busy, 1}};
    const Cut twice[] = {{runs, 3}, {runs, 2}};
    const Cut waiting[] = {{held, 1}};
    EXPECT_FALSE(p.start(runs, exactly(4), kReason));
    EXPECT_FALSE(p.start(held, exactly(1), kReason));
    EXPECT_FALSE(p.start(over, exactly(1), kReason));
    EXPECT_FALSE(p.start(waits, exactly(5), kReason));
    EXPECT_FALSE(p.start(waits, exactly(0), kReason));
    EXPECT_FALSE(p.start(waits, {5, 4}, kReason));
    for (const std::span<const Cut> cuts :
         std::initializer_list<std::span<const Cut>>{too_deep, up, is_busy, twice, waiting}) {
      EXPECT_FALSE(p.start(waits, exactly(5), kReason, {cuts}));
    }
    EXPECT_FALSE(p.resize(runs, 4, kReason));
    EXPECT_FALSE(p.resize(runs, 0, kReason));
    EXPECT_FALSE(p.resize(runs, 1, kReason));
    EXPECT_FALSE(p.resize(runs, 7, kReason));
    EXPECT_FALSE(p.resize(runs, 3, kReason, {.incoming = true}));  // a shrink has no sources
    EXPECT_FALSE(p.resize(waits, 2, kReason));
    EXPECT_FALSE(p.resize(busy, 2, kReason));
    EXPECT_FALSE(p.grant(RequestId{1}, kReason));
    EXPECT_FALSE(p.deny(RequestId{1}, kReason));
    EXPECT_FALSE(p.withdraw(ClaimId{1}, kReason));
    EXPECT_FALSE(p.reserve(runs, at_s(5), kReason));
    EXPECT_FALSE(p.wake_by(stage.now));
    EXPECT_FALSE(p.power_off(3, kReason));
    EXPECT_FALSE(p.power_off(0, kReason));
    EXPECT_FALSE(p.power_on(1, kReason));
    for (const auto verb : {PenCall::Verb::start, PenCall::Verb::resize, PenCall::Verb::reserve,
                            PenCall::Verb::tag}) {
      EXPECT_FALSE(p.call({.verb = verb, .job = unknown, .size = exactly(1), .time = at_s(9)}));
    }
    PenCall strange_victim{.verb = PenCall::Verb::start, .job = waits, .size = exactly(5)};
    strange_victim.cuts = {{unknown, 1}};
    EXPECT_FALSE(p.call(strange_victim));
    EXPECT_EQ(fingerprint(stage.state()), before);
  });
  EXPECT_TRUE(stage.core.pen_calls().empty());
}

TEST(Pen, EveryCallIsRecordedAndCanBeMadeAgain) {
  Stage::Setup setup{.can = {.power_control = true}};
  Stage live(setup), again(setup);
  for (Stage* stage : {&live, &again}) {
    stage->run(malleable({1, 8}, 3));
    stage->run(sized(JobType::adaptive, {1, 8}, 2, 100));
    stage->submit(rigid(2, 10));
    stage->submit(rigid(3, 10));
    stage->tell(event::EvolvingRequested{RequestId{1}, JobId{1}, 4, 2});
    stage->tell(event::EvolvingRequested{RequestId{2}, JobId{0}, 1, 0});
    stage->tell(event::NodesChanged{nodes({{7, 7}}), Health::off});
  }
  const auto decisions = live.close([&](Pass& p) {
    const Cut cuts[] = {{JobId{0}, 1}};
    const Delay delays[] = {{JobId{2}, whole_seconds(5)}};
    EXPECT_TRUE(p.power_on(1, kReason));
    EXPECT_TRUE(p.power_off(1, kReason));
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}, {cuts, false}, delays));
    EXPECT_TRUE(p.withdraw(p.claims()[0].id, kReason));
    EXPECT_TRUE(p.start(JobId{2}, exactly(2), kReason, {.incoming = true}));
    EXPECT_TRUE(p.reserve(JobId{3}, at_s(50), {Why::resources}));
    EXPECT_TRUE(p.tag(JobId{3}, JobId{0}));
    EXPECT_TRUE(p.wake_by(at_s(60)));
  });
  const std::vector<PenCall> calls(live.core.pen_calls().begin(), live.core.pen_calls().end());
  EXPECT_EQ(calls.size(), 8u);
  const auto followed = follow(again.core, again.now, live.core.was_asked(), calls);
  EXPECT_TRUE(std::ranges::equal(followed, decisions));
  EXPECT_EQ(testing::difference_of(live.state(), again.state()), "");
}

// 3.4: a start and an expansion in one pass are one start, also if it waits for nodes.
struct WaitingStart {
  explicit WaitingStart(Rules::Limit limit = Rules::Limit::scaled) : stage(setup(limit)) {
    victim = stage.run(malleable({1, 8}, 8));
    id = stage.submit(malleable({2, 6}, 2, 60));
    stage.at(1);
    stage.close([&](Pass& p) {
      const Cut first[] = {{victim, 6}}, further[] = {{victim, 3}};
      EXPECT_TRUE(p.start(id, exactly(2), kReason, {first}));
      EXPECT_TRUE(p.growable(id));
      EXPECT_EQ(p.expected_end_after(id, 2), at_s(61));
      EXPECT_EQ(p.expected_end_after(id, 5, {further}), at_s(25));
      EXPECT_FALSE(p.resize(id, 7, kReason, {further}));  // beyond its largest size
      EXPECT_FALSE(p.resize(id, 6, kReason, {further}));  // more than there is
      EXPECT_FALSE(p.resize(id, 3, kReason));
      EXPECT_TRUE(p.resize(id, 5, kReason, {further}));
      EXPECT_EQ(p.job(id).size(), 5u);
      EXPECT_EQ(p.extra(id), 3u);
      expected_end = p.expected_end(id);
    });
  }
  static Stage::Setup setup(Rules::Limit limit) {
    Stage::Setup setup;
    setup.rules.limit = limit;
    return setup;
  }

  Stage stage;
  JobId victim{}, id{};
  Time expected_end{};
};

TEST(Start, ThatWaitsForNodesMayBeALargerOne) {
  WaitingStart its;
  ASSERT_EQ(its.stage.state().claims.size(), 1u);
  EXPECT_EQ(its.stage.state().claims[0].pledges,
            (std::vector<Pledge>{{its.victim, its.stage.job(its.victim).decision, 5}}));
  ASSERT_TRUE(its.stage.resized(its.victim));
  const auto decisions = its.stage.close();
  ASSERT_EQ(decisions.size(), 2u);  // and the victim's limit
  EXPECT_EQ(decisions.back().kind, Decision::Kind::start);
  EXPECT_EQ(decisions.back().after.count, 5u);
  EXPECT_EQ(its.stage.job(its.id).first_size, 5u);
  EXPECT_EQ(its.stage.job(its.id).limit, at_s(25));
  EXPECT_EQ(its.expected_end, at_s(25));
}

// As if it had started first, and grown then.
TEST(Start, ThatWaitsAndIsALargerOneHasTheDeadlineOfTheFirstSize) {
  WaitingStart its(Rules::Limit::fixed);
  ASSERT_TRUE(its.stage.resized(its.victim));
  its.stage.close();
  EXPECT_EQ(its.stage.job(its.id).size(), 5u);
  EXPECT_EQ(its.stage.job(its.id).limit, at_s(61));
  EXPECT_EQ(its.expected_end, at_s(61));
}

TEST(Start, ThatWaitsTakesWhatComesOfAnExpansion) {
  WaitingStart its;
  ASSERT_TRUE(its.stage.resized(its.victim, holding({{0, 4}})));
  its.stage.close();
  EXPECT_EQ(its.stage.job(its.id).size(), 3u);
  WaitingStart none;
  ASSERT_TRUE(none.stage.resized(none.victim, holding({{0, 6}})));
  none.stage.close();
  EXPECT_EQ(none.stage.job(none.id).status, Status::pending);
  EXPECT_EQ(none.stage.job(none.id).size(), 0u);
}

TEST(Start, ThatWaitsIsALargerOneOnlyInItsPass) {
  WaitingStart its;
  its.stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.growable(its.id));
    EXPECT_FALSE(p.resize(its.id, 6, kReason, {.incoming = true}));
  });
}

// What has to be waited for is a resize of its own: the start does not wait.
TEST(Start, ThatNeedNotWaitMayBeGivenMoreLater) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId id = stage.submit(malleable({2, 6}, 2, 60));
  stage.at(1);
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(id, exactly(2), kReason));
    EXPECT_FALSE(p.resize(id, 6, kReason, {cuts}));
    EXPECT_TRUE(p.resize(id, 5, kReason, {cuts}));
    EXPECT_FALSE(p.growable(id));  // it waits
  });
  EXPECT_EQ(stage.job(id).status, Status::running);
  EXPECT_EQ(stage.job(id).size(), 2u);
  ASSERT_TRUE(stage.resized(victim));
  stage.close();
  EXPECT_EQ(stage.job(id).size(), 5u);
  EXPECT_EQ(stage.job(id).first_size, 2u);
  EXPECT_EQ(stage.job(id).doing, Doing::resizing);
}

// --- Exact nodes, and rejections
// -------------------------------------------------------------------

TEST(StartOn, TakesExactlyTheseNodes) {
  Stage stage;
  stage.run(rigid(2, 10));  // 0 and 1
  const JobId id = stage.submit(rigid(3, 10));
  const NodeSet wanted = nodes({{3, 3}, {6, 7}});
  const auto decisions =
      stage.close([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(3), kReason, {.on = &wanted})); });
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].after, holding({{3, 3}, {6, 7}}));
  EXPECT_EQ(stage.job(id).holding, holding({{3, 3}, {6, 7}}));
  EXPECT_EQ(stage.idle(), 3u);
  ASSERT_EQ(stage.core.pen_calls().size(), 1u);
  EXPECT_EQ(stage.core.pen_calls()[0].on, wanted);
}

TEST(StartOn, IsFoldedOnTheSameNodes) {
  Stage stage, folded;
  const JobId id = stage.submit(rigid(2, 10));
  folded.submit(rigid(2, 10));
  const NodeSet wanted = nodes({{4, 5}});
  const auto decisions =
      stage.close([&](Pass& p) { p.start(id, exactly(2), kReason, {.on = &wanted}); });
  const auto again = follow(folded.core, folded.now, true, stage.core.pen_calls());
  EXPECT_EQ((std::vector<Decision>(again.begin(), again.end())), decisions);
  EXPECT_EQ(fingerprint(folded.state()), fingerprint(stage.state()));
}

TEST(ResizeOn, TakesAndGivesExactlyTheseNodes) {
  Stage stage, folded;
  const JobId id = stage.run(malleable({1, 8}, 4));  // 0 to 3
  folded.run(malleable({1, 8}, 4));
  ASSERT_TRUE(stage.tell(event::AtPoint{id}));  // so that the policy is asked
  ASSERT_TRUE(folded.tell(event::AtPoint{id}));
  const NodeSet wanted = nodes({{1, 1}, {3, 3}, {6, 7}});
  const auto decisions = stage.close([&](Pass& p) {
    EXPECT_FALSE(p.resize(id, exactly(3), kReason, {.on = &wanted}));  // these are 4
    EXPECT_TRUE(p.resize(id, exactly(4), kReason, {.on = &wanted}));
    EXPECT_FALSE(p.resize(id, exactly(4), kReason, {.on = &wanted}));
  });
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].after, holding({{1, 1}, {3, 3}, {6, 7}}));
  EXPECT_EQ(stage.job(id).holding, holding({{0, 3}, {6, 7}}));
  const auto again = follow(folded.core, folded.now, true, stage.core.pen_calls());
  EXPECT_EQ((std::vector<Decision>(again.begin(), again.end())), decisions);
  EXPECT_EQ(fingerprint(folded.state()), fingerprint(stage.state()));
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.job(id).holding, holding({{1, 1}, {3, 3}, {6, 7}}));
  EXPECT_EQ(stage.idle(), 4u);
}

TEST(ResizeOn, NeedsIdleNodesOfAPossibleNumberAndNoOtherSource) {
  Stage stage;
  stage.run(rigid(2, 10));                           // 0 and 1
  const JobId id = stage.run(malleable({2, 4}, 3));  // 2 to 4
  EXPECT_FALSE(stage.tell(event::AtPoint{JobId{77}}));
  ASSERT_TRUE(stage.tell(event::AtPoint{id}));
  bool is_asked = false;
  stage.close([&](Pass& p) {
    is_asked = true;
    const auto resize = [&](const NodeSet& on, Sources sources = {}) {
      sources.on = &on;
      return p.resize(id, exactly(on.count()), kReason, sources);
    };
    EXPECT_FALSE(resize(nodes({{1, 4}})));  // 1 is held
    EXPECT_FALSE(resize(nodes({{2, 4}})));  // as it is
    EXPECT_FALSE(resize(nodes({{2, 2}})));  // too few
    EXPECT_FALSE(resize(nodes({{2, 6}})));  // too many
    EXPECT_FALSE(resize(nodes({{6, 8}})));  // there is no 8
    EXPECT_FALSE(resize(nodes({{2, 5}}), {.incoming = true}));
    EXPECT_TRUE(resize(nodes({{2, 5}})));
  });
  EXPECT_TRUE(is_asked);
}

TEST(GrantOn, IsTheAnswerWhateverItAskedFor) {
  Stage stage;
  const JobId id = stage.run(sized(JobType::evolving, {2, 6}, 2, 10));  // 0 and 1
  ASSERT_TRUE(stage.tell(event::EvolvingRequested{RequestId{0}, id, 1, 0}));
  const NodeSet wanted = nodes({{1, 1}, {4, 7}});
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.grant(RequestId{0}, kReason, {.on = &wanted}));
    EXPECT_FALSE(p.has_requests());
  });
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.job(id).holding, holding({{1, 1}, {4, 7}}));
}

TEST(StartOn, GivesAnEvolvingJobAnySize) {
  Stage stage;
  const JobId id = stage.submit(sized(JobType::evolving, {2, 6}, 2, 10));
  const NodeSet wanted = nodes({{2, 6}}), one = nodes({{2, 2}});
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.start(id, exactly(1), kReason, {.on = &one}));
    EXPECT_TRUE(p.start(id, exactly(5), kReason, {.on = &wanted}));
  });
  EXPECT_EQ(stage.job(id).holding, holding({{2, 6}}));
}

TEST(StartOn, NeedsIdleNodesOfTheRightNumberAndNoOtherSource) {
  Stage stage;
  stage.run(rigid(2, 10));  // 0 and 1
  const JobId victim = stage.run(malleable({1, 2}, 2));
  stage.tell(event::NodesChanged{nodes({{7, 7}}), Health::down});
  const JobId id = stage.submit(rigid(2, 10));
  stage.close([&](Pass& p) {
    const auto start = [&](const NodeSet& on, Sources sources = {}) {
      sources.on = &on;
      return p.start(id, exactly(2), kReason, sources);
    };
    EXPECT_FALSE(start(nodes({{1, 2}})));              // 1 is held
    EXPECT_FALSE(start(nodes({{6, 7}})));              // 7 is down
    EXPECT_FALSE(start(nodes({{7, 8}})));              // there is no 8
    EXPECT_FALSE(start(nodes({{4, 4}})));              // one too few
    EXPECT_FALSE(start(nodes({{4, 6}})));              // one too many
    EXPECT_FALSE(start({}));                           // none
    EXPECT_FALSE(start(nodes({{4, 5}}), {{}, true}));  // besides what comes
    const Cut cuts[] = {{victim, 1}};
    EXPECT_FALSE(start(nodes({{4, 5}}), {cuts}));
  });
  EXPECT_TRUE(stage.core.pen_calls().empty());
}

TEST(StartOn, NeedsIdentities) {
  Stage::Setup setup;
  setup.rules.identities = false;
  Stage stage(setup);
  const JobId id = stage.submit(rigid(2, 10));
  const NodeSet wanted = nodes({{4, 5}});
  stage.close([&](Pass& p) { EXPECT_FALSE(p.start(id, exactly(2), kReason, {.on = &wanted})); });
}

TEST(StartOn, AMoldableJobHasAsManyAsItMay) {
  Stage stage;
  const JobId id = stage.submit(sized(JobType::moldable, {2, 4}, 3, 10));
  const NodeSet one = nodes({{4, 4}}), four = nodes({{4, 7}});
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.start(id, {1, 8}, kReason, {.on = &one}));
    EXPECT_FALSE(p.start(id, exactly(3), kReason, {.on = &four}));
    EXPECT_TRUE(p.start(id, {2, 4}, kReason, {.on = &four}));
  });
  EXPECT_EQ(stage.job(id).holding.count, 4u);
}

TEST(Reject, TheJobIsOver) {
  Stage stage;
  const JobId runs = stage.run(rigid(2, 10));
  const JobId id = stage.submit(rigid(3, 10)), next = stage.submit(rigid(4, 10));
  const auto decisions = stage.close([&](Pass& p) {
    EXPECT_FALSE(p.reject(runs, {Why::outside}));
    EXPECT_FALSE(p.reject(JobId{17}, {Why::outside}));
    EXPECT_TRUE(p.reject(id, {Why::outside}));
    EXPECT_FALSE(p.knows(id));
    EXPECT_EQ(p.first_pending(), next);
    EXPECT_FALSE(p.reject(id, {Why::outside}));
  });
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].kind, Decision::Kind::reject);
  EXPECT_EQ(decisions[0].job, id);
  EXPECT_EQ(decisions[0].reason.why, Why::outside);
  EXPECT_FALSE(stage.tell(event::Ended{id, EndState::cancelled, false}));
}

TEST(Reject, NotOneWithAClaim) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId id = stage.submit(rigid(3, 10));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 5}};
    EXPECT_TRUE(p.start(id, exactly(3), kReason, {cuts}));
    EXPECT_FALSE(p.reject(id, {Why::outside}));
  });
}

// --- Steps of frequency
// --------------------------------------------------------------------

/// Eight nodes that draw 100 W idle and 200 W busy, 125 W at half of the speed, and so much for
/// jobs.
Stage slowing_stage(double for_jobs_w, bool instant = true) {
  Stage::Setup setup;
  setup.platform.idle_w = 100;
  setup.platform.busy_w = 200;
  setup.platform.steps = {{0.5, 0.25}};
  setup.can.instant_start = instant;
  setup.rules.slow_for_power = true;
  Stage stage(setup);
  stage.tell(event::CorridorChanged{0, 800 + for_jobs_w});
  return stage;
}

JobId run_slowed(Stage& stage, const JobSpec& spec) {
  const JobId id = stage.submit(spec, AdaptiveSpec{});
  stage.pass(
      [&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(spec.preferred), kReason, {.step = 1})); });
  stage.now += kTick;
  return id;
}

bool raises(Stage& stage, JobId id) {
  bool done = false;
  stage.pass([&](Pass& p) { done = p.raise_frequency(id, 0, kReason); });
  return done;
}

TEST(Frequency, AStartAtALowerOneIsAsAnyOther) {
  Stage stage = slowing_stage(100);
  AdaptiveSpec spec;
  spec.constraint.kind = SizeConstraint::Kind::power_of_two;
  const JobId id = stage.submit(sized(JobType::moldable, {1, 8}, 6, 10), spec);
  const auto start = [&](Nodes n, std::uint8_t step = 1) {
    bool done = false;
    stage.pass([&](Pass& p) { done = p.start(id, exactly(n), kReason, {.step = step}); });
    return done;
  };
  EXPECT_FALSE(start(3));     // no size of it
  EXPECT_FALSE(start(9));     // beyond the machine
  EXPECT_FALSE(start(8));     // 200 W
  EXPECT_FALSE(start(4, 2));  // there is no such step
  EXPECT_TRUE(start(4));
  EXPECT_EQ(stage.state().free_power_mw(), 0);
  EXPECT_EQ(stage.job(id).limit, at_s(30));  // 60 node-seconds at half of the speed
}

TEST(Frequency, IsRaisedByWhatIsFree) {
  for (const JobSpec& spec : {rigid(2, 100), malleable({1, 8}, 2)}) {
    Stage stage = slowing_stage(199);
    const JobId id = run_slowed(stage, spec);
    stage.at(50);
    EXPECT_FALSE(raises(stage, id));
    stage.tell(event::CorridorChanged{0, 1000});
    EXPECT_TRUE(raises(stage, id));
    EXPECT_EQ(stage.state().free_power_mw(), 0);
    EXPECT_EQ(stage.job(id).limit, at_s(125));  // a quarter of it is done
    EXPECT_FALSE(raises(stage, id));
  }
}

TEST(Frequency, IsNotRaisedWhileAnythingElseIsUnderWay) {
  Stage stage = slowing_stage(650);
  const JobId other = stage.run(malleable({1, 8}, 6));
  const JobId id = run_slowed(stage, malleable({1, 8}, 2));
  stage.at(10);
  // It is to grow when the other has given a node, and power.
  const Cut cuts[] = {{other, 5}};
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, exactly(3), kReason, {cuts})); });
  stage.tell(event::CorridorChanged{0, 1600});
  EXPECT_FALSE(raises(stage, id));
  ASSERT_NE(stage.job(id).claim, ClaimId::none);
  ASSERT_TRUE(stage.resized(other));
  stage.close();
  ASSERT_EQ(stage.job(id).doing, Doing::resizing);
  EXPECT_FALSE(raises(stage, id));
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.state().free_power_mw(), 1000 * (800 - 500 - 3 * 25));
  EXPECT_TRUE(raises(stage, id));
  EXPECT_EQ(stage.state().free_power_mw(), 0);

  Stage slow = slowing_stage(100, false);
  const JobId starts = run_slowed(slow, rigid(2, 10));
  slow.tell(event::CorridorChanged{0, 1600});
  EXPECT_FALSE(raises(slow, starts));
  ASSERT_TRUE(slow.started(starts));
  EXPECT_TRUE(raises(slow, starts));
}

TEST(Frequency, IsKeptByAResize) {
  Stage stage = slowing_stage(100);
  const JobId id = run_slowed(stage, malleable({1, 8}, 2));
  EXPECT_EQ(stage.job(id).limit, at_s(200));
  stage.at(100);
  stage.pass([&](Pass& p) {
    EXPECT_EQ(p.expected_end(id, 4), at_s(150));
    EXPECT_FALSE(p.resize(id, exactly(5), kReason));  // 125 W
    EXPECT_TRUE(p.resize(id, exactly(4), kReason));
  });
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.job(id).limit, at_s(150));
  EXPECT_EQ(stage.state().free_power_mw(), 0);
}

TEST(Frequency, WhoEndsNoLaterSoStartsSlower) {
  for (const std::int64_t length_s : {99, 100}) {
    Stage stage = slowing_stage(250);
    stage.run(rigid(2, length_s));
    stage.now = {};
    const JobId id = stage.submit(rigid(2, 100));
    stage.pass([&](Pass& p) { start_in_turn(p, [](JobId) { return false; }); });
    EXPECT_EQ(stage.job(id).status, length_s == 100 ? Status::running : Status::pending);
    EXPECT_EQ(stage.job(id).step, length_s == 100 ? 1 : 0);
  }
}

TEST(Frequency, WhoIsRefusedStartsAtNone) {
  for (const Turn turn : {Turn::refused, Turn::lacks}) {
    Stage stage = slowing_stage(50);
    const JobId id = stage.submit(rigid(2, 100));
    stage.pass([&](Pass& p) { start_in_turn(p, [&](JobId) { return turn; }); });
    EXPECT_EQ(stage.job(id).status, turn == Turn::lacks ? Status::running : Status::pending);
  }
}

/// Partitions of either half of the nodes, and of all.
struct TwoPartitions {
  explicit TwoPartitions(double for_jobs_w) : stage(slowing_stage(for_jobs_w)) {
    Platform machine = stage.state().platform;
    machine.partitions = {{.name = "half", .nodes = nodes({{0, 3}})},
                          {.name = "other", .nodes = nodes({{4, 7}})},
                          {.name = "all", .nodes = nodes({{0, 7}})}};
    EXPECT_TRUE(stage.tell(event::MachineChanged{machine, stage.state().capabilities}));
  }
  JobId submit(Nodes n, int partition) {
    const Where where{.partitions = std::uint64_t{1} << partition};
    stage.tell(event::Submitted{rigid(n, 100), {}, std::make_shared<Where>(where)});
    return JobId{stage.state().jobs.size() - 1};
  }
  bool keeps_waiting(JobId id) {
    stage.pass([&](Pass& p) { start_in_turn(p, [](JobId) { return false; }); });
    return stage.job(id).status == Status::pending;
  }
  Stage stage;
};

TEST(Frequency, NobodyStartsSlowerByPowerThatOneBeforeLacks) {
  for (const bool is_alone : {true, false}) {
    TwoPartitions its(60);
    if (!is_alone) its.submit(4, 1);  // 100 W at least
    EXPECT_EQ(its.keeps_waiting(its.submit(2, 0)), !is_alone);
  }
}

TEST(Frequency, NobodyStartsSlowerOnNodesForWhichOneBeforeWaits) {
  for (const bool is_alone : {true, false}) {
    TwoPartitions its(150);
    if (!is_alone) its.submit(1, 0);  // there is power for it
    EXPECT_EQ(its.keeps_waiting(its.submit(2, 2)), !is_alone);
  }
}

TEST(Frequency, OneThatWouldLackNoPowerStartsNoSlower) {
  Stage stage = slowing_stage(250);
  const JobId id = stage.submit(rigid(2, 100));
  stage.pass([&](Pass& p) { start_in_turn(p, [](JobId) { return false; }); });
  EXPECT_EQ(stage.job(id).status, Status::pending);
}

TEST(Frequency, IsRaisedBesideWhatThoseWhoWaitNeed) {
  for (const Nodes needed : {7U, 1U}) {
    Stage stage = slowing_stage(199);
    const JobId id = run_slowed(stage, rigid(2, 100));
    stage.submit(rigid(needed, 100));
    stage.tell(event::CorridorChanged{0, 800 + 250});
    stage.pass([](Pass& p) { raise_frequencies(p); });
    EXPECT_EQ(stage.job(id).step, 1) << needed;
    stage.tell(event::CorridorChanged{0, 800 + 299});
    stage.pass([](Pass& p) { raise_frequencies(p); });
    EXPECT_EQ(stage.job(id).step, 1) << needed;
    stage.tell(event::CorridorChanged{0, 800 + 200 + 100.0 * needed});
    stage.pass([](Pass& p) { raise_frequencies(p); });
    EXPECT_EQ(stage.job(id).step, 0) << needed;
  }
}

// At full frequency the one who waits would never start, at the lowest he needs 175 W.
TEST(Frequency, IsRaisedBesideWhatWhoCanOnlyStartSlowedNeeds) {
  Stage stage = slowing_stage(199);
  const JobId id = run_slowed(stage, rigid(2, 100));
  stage.submit(rigid(7, 100));
  stage.tell(event::CorridorChanged{0, 800 + 374});
  stage.pass([](Pass& p) { raise_frequencies(p); });
  EXPECT_EQ(stage.job(id).step, 1);
  stage.tell(event::CorridorChanged{0, 800 + 375});
  stage.pass([](Pass& p) { raise_frequencies(p); });
  EXPECT_EQ(stage.job(id).step, 0);
}

TEST(Frequency, WhoCouldStartAtTheLowestIsNotTooLarge) {
  Stage stage = slowing_stage(200);
  const JobId id = stage.submit(rigid(8, 10));
  EXPECT_EQ(stage.state().least_start_mw(stage.job(id)), 200'000);
}

TEST(Frequency, WhoBeginsAnewHasNone) {
  Stage stage = slowing_stage(100);
  const JobId id = run_slowed(stage, rigid(4, 10));
  ASSERT_TRUE(stage.ended(id, true));
  EXPECT_EQ(stage.job(id).step, 0);
  EXPECT_EQ(stage.state().free_power_mw(), 100'000);
  stage.pass([&](Pass& p) { EXPECT_FALSE(p.start(id, exactly(4), kReason)); });
}

}  // namespace
}  // namespace ductile
