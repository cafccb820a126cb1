// The core's contract, rule by rule. H numbers are the scenarios of docs/architecture.md that an
// earlier contract failed.
#include "scheduling/core.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/snapshot.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::holding;
using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::sized;
using testing::Stage;

constexpr Reason kReason{Why::in_order};
constexpr double kNoBound = std::numeric_limits<double>::infinity();

Stage::Setup slow_starts() {
  Stage::Setup setup;
  setup.can.instant_start = false;
  return setup;
}

/// The decisions of one kind.
std::vector<Decision> of(Decision::Kind kind, const std::vector<Decision>& all) {
  std::vector<Decision> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const Decision& decision) { return decision.kind == kind; });
  return some;
}
std::vector<Decision> starts(const std::vector<Decision>& all) {
  return of(Decision::Kind::start, all);
}
std::vector<Decision> resizes(const std::vector<Decision>& all) {
  return of(Decision::Kind::resize, all);
}

// --- Answers
// -----------------------------------------------------------------------------------------

// H1
TEST(Answers, AJobStartsUntilTheWorldSaysSo) {
  Stage stage(slow_starts());
  const JobId id = stage.submit(malleable({1, 8}, 4, 100));
  const auto decisions = stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(stage.job(id).status, Status::running);
  EXPECT_EQ(stage.job(id).doing, Doing::starting);
  EXPECT_EQ(stage.core.unanswered(), decisions);
  EXPECT_EQ(stage.idle(), 4u);  // held from the decision on
  EXPECT_EQ(stage.job(id).limit, at_s(100));
  stage.at(3);
  stage.pass([&](Pass& p) { EXPECT_FALSE(p.resizable(id)); });
  ASSERT_TRUE(stage.started(id));
  EXPECT_EQ(stage.job(id).started, at_s(3));
  EXPECT_EQ(stage.job(id).limit, at_s(103));
  EXPECT_TRUE(stage.core.unanswered().empty());
  stage.at(4);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resizable(id)); });
}

TEST(Answers, AFailedStartWaitsAgainAndNotBeforeItsTime) {
  Stage stage(slow_starts());
  const JobId first = stage.submit(rigid(4, 100));
  const JobId second = stage.submit(rigid(5, 100));
  stage.close([&](Pass& p) { p.start(first, exactly(4), kReason); });
  ASSERT_TRUE(stage.tell(event::StartFailed{first, stage.job(first).decision, at_s(5)}));
  EXPECT_EQ(stage.job(first).status, Status::pending);
  EXPECT_EQ(stage.idle(), 8u);
  EXPECT_EQ(stage.state().queue.front(), first);  // it keeps its place
  EXPECT_EQ(stage.state().queue.after(first, stage.job(first).spec), second);
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.fits(first, 4));
    EXPECT_FALSE(p.start(first, exactly(4), kReason));
  });
  EXPECT_EQ(stage.core.next_wake(), at_s(5));
  stage.at(5);
  const int asked = stage.script->asked;
  EXPECT_EQ(starts(stage.close([&](Pass& p) { p.start(first, exactly(4), kReason); })).size(), 1u);
  EXPECT_EQ(stage.script->asked, asked + 1);  // the time itself wakes the policy
}

TEST(Answers, AFailedStartForgetsItsRequests) {
  Stage stage(slow_starts());
  const JobId id = stage.submit(sized(JobType::evolving, {1, 8}, 2, 100));
  stage.close([&](Pass& p) { p.start(id, exactly(2), kReason); });
  ASSERT_TRUE(stage.tell(event::EvolvingRequested{RequestId{1}, id, 1, 0}));
  ASSERT_TRUE(stage.tell(event::StartFailed{id, stage.job(id).decision, {}}));
  EXPECT_TRUE(stage.state().requests.empty());
}

TEST(Answers, TheWorldMayStartAJobOnOtherNodes) {
  Stage stage(slow_starts());
  const JobId id = stage.submit(sized(JobType::moldable, {1, 8}, 4, 100));
  stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
  ASSERT_TRUE(stage.tell(event::Started{id, stage.job(id).decision, holding({{2, 3}, {6, 7}}), 6}));
  EXPECT_EQ(stage.job(id).holding, holding({{2, 3}, {6, 7}}));
  EXPECT_EQ(stage.job(id).keep, 6u);
  EXPECT_EQ(stage.state().idle.nodes(), nodes({{0, 1}, {4, 5}}));
}

TEST(Answers, AStartOnFewerNodesTakesLonger) {
  Stage stage(slow_starts());
  const JobId id = stage.submit(sized(JobType::moldable, {1, 8}, 4, 100));
  stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
  ASSERT_TRUE(stage.tell(event::Started{id, stage.job(id).decision, holding({{0, 1}}), {}}));
  EXPECT_EQ(stage.job(id).limit, at_s(200));
  EXPECT_EQ(of(Decision::Kind::set_limit, stage.close()).size(), 1u);
}

// H2
TEST(Answers, ThatAreStaleChangeNothing) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 2, kReason)); });
  const DecisionId shrink = stage.job(id).decision;
  ASSERT_TRUE(stage.ended(id, true));
  stage.at(1);
  stage.close([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(4), kReason)); });
  // The answer of its first life arrives in its second one.
  EXPECT_FALSE(stage.tell(event::Resized{id, shrink, holding({{0, 1}}), {}}));
  EXPECT_EQ(stage.job(id).holding, holding({{0, 3}}));
  EXPECT_EQ(stage.state().stale, 1u);
  // Doubled, foreign and unknown ones.
  EXPECT_FALSE(stage.tell(event::Started{id, stage.job(id).decision, {}, {}}));
  EXPECT_FALSE(stage.tell(event::Resized{id, DecisionId{77}, holding({{0, 1}}), {}}));
  EXPECT_FALSE(stage.tell(event::Resized{JobId{77}, shrink, holding({{0, 1}}), {}}));
  EXPECT_EQ(stage.state().stale, 4u);
}

TEST(Answers, ThatMakeNoSenseChangeNothing) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  EXPECT_FALSE(stage.tell(event::Resized{id, DecisionId::none, {}, {}}));
  EXPECT_FALSE(stage.tell(event::Resized{id, DecisionId::none, {3, nodes({{0, 1}})}, {}}));
  EXPECT_FALSE(stage.tell(event::Resized{id, DecisionId::none, holding({{7, 8}}), {}}));
  EXPECT_FALSE(stage.tell(event::NodesChanged{nodes({{7, 8}}), Health::down}));
  EXPECT_EQ(stage.job(id).holding, holding({{0, 3}}));
}

// H3 a
TEST(Answers, AJobMayStopHalfway) {
  Stage stage({.platform = {.nodes = 16}});
  const JobId id = stage.run(malleable({1, 16}, 16));
  stage.pass([&](Pass& p) { p.resize(id, 8, kReason); });
  ASSERT_TRUE(stage.resized(id, holding({{0, 11}})));
  EXPECT_EQ(stage.job(id).size(), 12u);
  EXPECT_EQ(stage.job(id).shrinks, 1);
  EXPECT_EQ(stage.job(id).gain, -4);
  EXPECT_EQ(stage.idle(), 4u);
}

// H3 b
TEST(Answers, AnAbortedGrowthMayHoldMoreThanBefore) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 2));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 4, kReason)); });
  EXPECT_EQ(stage.idle(), 4u);
  ASSERT_TRUE(stage.resized(id, holding({{0, 2}}), at_s(60)));  // one node of the helper stays
  EXPECT_EQ(stage.job(id).size(), 3u);
  EXPECT_EQ(stage.job(id).expands, 1);
  EXPECT_EQ(stage.idle(), 5u);
  // Even more than it was given: free nodes of the world.
  stage.at(60);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 1, kReason)); });
  ASSERT_TRUE(stage.resized(id, holding({{0, 5}})));
  EXPECT_EQ(stage.job(id).holding, holding({{0, 5}}));
  EXPECT_EQ(stage.idle(), 2u);
}

// A refusal is no reconfiguration.
TEST(Answers, ARefusalIsNotCounted) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { p.resize(id, 2, kReason); });
  ASSERT_TRUE(stage.refused(id));
  EXPECT_EQ(stage.job(id).shrinks, 0);
  EXPECT_EQ(stage.job(id).gain, 0);
  EXPECT_EQ(stage.job(id).size(), 4u);
}

// H4: what the world says is free is free.
TEST(Answers, FreedNodesServeAtOnce) {
  Stage stage;
  const JobId first = stage.run(rigid(8, 100));
  const JobId second = stage.submit(rigid(8, 100));
  stage.at(10);
  ASSERT_TRUE(stage.ended(first));
  EXPECT_EQ(starts(stage.close([&](Pass& p) { p.start(second, exactly(8), kReason); })).size(), 1u);
}

// H21
TEST(Answers, FactsThatNobodyOrderedAreTaken) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId claims = stage.submit(rigid(4, 100));
  const JobId other = stage.submit(rigid(1, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.start(claims, exactly(4), kReason, {cuts}));
  });
  EXPECT_EQ(stage.state().claimed, 2u);
  // Somebody else starts a job on a node of the claim.
  ASSERT_TRUE(stage.tell(event::Started{other, DecisionId::none, holding({{7, 7}}), {}}));
  EXPECT_EQ(stage.job(other).status, Status::running);
  EXPECT_EQ(stage.state().claims[0].held, holding({{6, 6}}));
  // The claim is hopeless now: dissolved at the close, its job waits at its place.
  stage.close();
  EXPECT_TRUE(stage.state().claims.empty());
  EXPECT_EQ(stage.state().queue.front(), claims);
  // Somebody resizes a job.
  ASSERT_TRUE(stage.tell(event::Resized{other, DecisionId::none, holding({{6, 7}}), {}}));
  EXPECT_EQ(stage.job(other).size(), 2u);
}

TEST(Answers, AnUnsolicitedStartDissolvesTheJobsOwnClaim) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId claims = stage.submit(rigid(3, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.start(claims, exactly(3), kReason, {cuts}));
  });
  ASSERT_TRUE(stage.tell(event::Started{claims, DecisionId::none, holding({{6, 7}}), {}}));
  EXPECT_TRUE(stage.state().claims.empty());
  EXPECT_EQ(stage.state().incoming(), 2u);
  EXPECT_EQ(stage.job(claims).status, Status::running);
}

TEST(Answers, AnUnsolicitedResizeDissolvesTheJobsOwnClaim) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 4));
  const JobId grows = stage.run(malleable({1, 4}, 2));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{victim, 2}};
    EXPECT_TRUE(p.resize(grows, 4, kReason, {cuts}));
  });
  // At its new size the expansion would go beyond its limits.
  ASSERT_TRUE(stage.tell(event::Resized{grows, DecisionId::none, holding({{4, 5}, {6, 6}}), {}}));
  EXPECT_TRUE(stage.state().claims.empty());
  stage.resized(victim);
  EXPECT_TRUE(resizes(stage.close()).empty());
  EXPECT_EQ(stage.job(grows).size(), 3u);
}

// --- Claims
// ------------------------------------------------------------------------------------------

TEST(Claims, NothingToWaitForIsNoClaim) {
  Stage stage;
  const JobId id = stage.submit(rigid(4, 100));
  const auto decisions = stage.close(
      [&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(4), kReason, {.incoming = true})); });
  EXPECT_EQ(starts(decisions).size(), 1u);
  EXPECT_EQ(stage.state().next_claim, 0u);
}

TEST(Claims, AllOrNothing) {
  Stage stage;
  const JobId victim = stage.run(malleable({4, 8}, 6));
  const JobId id = stage.submit(rigid(5, 100));
  const auto decisions = stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_FALSE(p.start(id, exactly(5), kReason, {cuts}));  // 2 idle and 2 to come
  });
  EXPECT_TRUE(decisions.empty());
  EXPECT_EQ(stage.job(victim).size(), 6u);
  EXPECT_EQ(stage.idle(), 2u);
}

TEST(Claims, IdleNodesFirstThenTheCutsInTheirOrder) {
  Stage stage;
  const JobId a = stage.run(malleable({1, 8}, 3));
  const JobId b = stage.run(malleable({1, 8}, 3));
  const JobId id = stage.submit(rigid(5, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{b, 1}, {a, 1}};
    EXPECT_TRUE(p.start(id, exactly(5), kReason, {cuts}));
  });
  const Claim& claim = stage.state().claims[0];
  EXPECT_EQ(claim.held, holding({{6, 7}}));
  ASSERT_EQ(claim.pledges.size(), 2u);
  EXPECT_EQ(claim.pledges[0].victim, b);
  EXPECT_EQ(claim.pledges[0].count, 2u);
  EXPECT_EQ(claim.pledges[1].count, 1u);
  EXPECT_EQ(stage.state().incoming(), 1u);  // the surplus is nobody's
  EXPECT_EQ(stage.job(id).claim, claim.id);
  EXPECT_EQ(stage.state().queue.size(), 0u);
}

// H6
TEST(Claims, OneVictimServesTwoBeneficiaries) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId grows = stage.run(malleable({1, 8}, 2));
  const JobId starts_later = stage.submit(rigid(3, 100));
  const auto decisions = stage.close([&](Pass& p) {
    const Cut some[] = {{victim, 4}};
    EXPECT_TRUE(p.resize(grows, 4, kReason, {some}));
    const Cut more[] = {{victim, 1}};
    EXPECT_TRUE(p.start(starts_later, exactly(3), kReason, {more}));
  });
  ASSERT_EQ(decisions.size(), 1u);  // the cuts merge into one shrink
  EXPECT_EQ(decisions[0].after.count, 1u);
  ASSERT_TRUE(stage.resized(victim));
  const auto due = stage.close();
  ASSERT_EQ(resizes(due).size(), 1u);
  EXPECT_EQ(resizes(due)[0].job, grows);
  EXPECT_EQ(resizes(due)[0].after.count, 4u);
  ASSERT_EQ(starts(due).size(), 1u);
  EXPECT_EQ(starts(due)[0].after.count, 3u);
}

// H6
TEST(Claims, OneBeneficiaryWaitsForAllItsVictims) {
  Stage stage;
  const JobId a = stage.run(malleable({1, 8}, 4));
  const JobId b = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(4, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{a, 2}, {b, 2}};
    EXPECT_TRUE(p.start(id, exactly(4), kReason, {cuts}));
  });
  ASSERT_TRUE(stage.resized(a));
  EXPECT_TRUE(starts(stage.close()).empty());
  EXPECT_EQ(stage.idle(), 0u);  // the claim holds them
  EXPECT_EQ(stage.state().claimed, 2u);
  ASSERT_TRUE(stage.resized(b));
  EXPECT_EQ(starts(stage.close())[0].after, holding({{2, 3}, {6, 7}}));
}

TEST(Claims, TheOldestIsFedFirst) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 8));
  const JobId first = stage.submit(rigid(3, 100));
  const JobId second = stage.submit(rigid(3, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 2}};
    EXPECT_TRUE(p.start(first, exactly(3), kReason, {cuts}));
    EXPECT_TRUE(p.start(second, exactly(3), kReason, {cuts}));
  });
  ASSERT_TRUE(stage.resized(victim, holding({{0, 4}})));  // 3 of the 6
  const auto due = starts(stage.close());
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].job, first);
  EXPECT_EQ(stage.state().queue.front(), second);  // dissolved
}

// H7
TEST(Claims, AnEmptyPledgeIsABarrier) {
  Stage stage;
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId grows = stage.run(malleable({1, 8}, 2));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.resize(grows, 4, {Why::corridor}, {cuts}));  // 2 idle nodes would do
  });
  ASSERT_EQ(stage.state().claims.size(), 1u);
  EXPECT_EQ(stage.state().claims[0].pledges[0].count, 0u);
  EXPECT_TRUE(stage.close().empty());
  EXPECT_EQ(stage.job(grows).doing, Doing::nothing);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(resizes(stage.close())[0].job, grows);
}

// H7: the barrier is passed, but the watts are not there.
TEST(Claims, ADueClaimMustStillFitThePowerBudget) {
  for (const bool refuses : {false, true}) {
    Stage stage({.platform = {.nodes = 8, .busy_w = 100}});
    const JobId heat = stage.run(malleable({1, 8}, 4));
    const JobId id = stage.submit(rigid(2, 100));
    stage.tell(event::CorridorChanged{0, 450});
    stage.close([&](Pass& p) {
      EXPECT_FALSE(p.fits(id, 2));
      const Cut cuts[] = {{heat, 2}};
      EXPECT_TRUE(p.start(id, exactly(2), {Why::corridor}, {cuts}));
    });
    ASSERT_TRUE(refuses ? stage.refused(heat) : stage.resized(heat));
    EXPECT_EQ(starts(stage.close()).size(), refuses ? 0u : 1u);
    EXPECT_TRUE(stage.state().claims.empty());
  }
}

// What draws too much already may still make room for others.
TEST(Claims, AreMadeWhileTheCorridorIsViolated) {
  Stage stage({.platform = {.nodes = 8, .busy_w = 100}});
  const JobId heat = stage.run(malleable({1, 8}, 6));
  const JobId id = stage.submit(rigid(1, 100));
  stage.tell(event::CorridorChanged{0, 300});
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(id, exactly(1), {Why::corridor}, {cuts}));
  });
  stage.resized(heat);
  EXPECT_EQ(starts(stage.close()).size(), 1u);
}

// H8
TEST(Claims, ThatCannotBeMetAreDissolvedAndThePolicyIsAsked) {
  Stage stage;
  stage.script->traits.wakes = kind_of<event::Submitted>();
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId other = stage.run(malleable({1, 8}, 2));
  const JobId id = stage.submit(rigid(4, 100));
  const JobId last = stage.submit(rigid(1, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}, {other, 1}};
    EXPECT_TRUE(p.start(id, exactly(4), kReason, {cuts}));
  });
  ASSERT_TRUE(stage.refused(victim, at_s(30)));
  bool asked = false;
  stage.close([&](Pass& p) {
    asked = true;
    EXPECT_TRUE(p.claims().empty());
    EXPECT_EQ(p.first_pending(), id);  // in its old place
    EXPECT_EQ(p.next_pending(id), last);
    EXPECT_EQ(p.incoming(), 1u);  // the other victim's, promised to nobody
    EXPECT_FALSE(p.resizable(victim));
  });
  EXPECT_TRUE(asked);
}

// H38
TEST(Claims, TakeIdleNodesInPlaceOfThoseTheyWaitFor) {
  for (const bool take : {true, false}) {
    Stage::Setup setup;
    setup.rules.claims_take_idle = take;
    Stage stage(setup);
    const JobId victim = stage.run(malleable({1, 8}, 5));
    const JobId other = stage.run(rigid(3, 100));
    const JobId id = stage.submit(rigid(3, 100));
    stage.close([&](Pass& p) {
      const Cut cuts[] = {{victim, 2}};
      EXPECT_TRUE(p.start(id, exactly(3), kReason, {cuts}));
    });
    stage.at(1);
    ASSERT_TRUE(stage.ended(other));
    EXPECT_EQ(starts(stage.close()).size(), take ? 1u : 0u);
    EXPECT_EQ(stage.idle(), take ? 0u : 3u);
    EXPECT_EQ(stage.state().incoming(), take ? 3u : 0u);
    ASSERT_TRUE(stage.resized(victim));
    EXPECT_EQ(starts(stage.close()).size(), take ? 0u : 1u);
    EXPECT_EQ(stage.idle(), 3u);
  }
}

TEST(Claims, WaitForABarrierBesideIdleNodes) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 4));
  const JobId other = stage.run(rigid(1, 100));
  const JobId id = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(id, exactly(2), kReason, {cuts}));  // idle nodes suffice
  });
  stage.at(1);
  ASSERT_TRUE(stage.ended(other));
  EXPECT_TRUE(starts(stage.close()).empty());
  ASSERT_TRUE(stage.resized(victim));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
}

// H38: nodes that an answer gives to nobody are an event for a policy that answers do not wake.
TEST(Answers, ThatGiveNodesToNobodyWakeThePolicy) {
  Stage stage;
  stage.script->traits.wakes = kEveryEvent & ~kind_of<event::Resized>();
  const JobId id = stage.run(malleable({1, 8}, 4));
  const auto wakes = [&](Nodes to, std::int64_t decided, std::int64_t answered, Interval holds) {
    stage.at(decided);
    stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, to, kReason)); });
    stage.at(answered);
    EXPECT_TRUE(stage.resized(id, holding({holds})));
    const int asked = stage.script->asked;
    stage.close();
    return stage.script->asked > asked;
  };
  EXPECT_TRUE(wakes(6, 1, 2, {0, 3}));   // refused
  EXPECT_TRUE(wakes(6, 3, 4, {0, 4}));   // done in part
  EXPECT_FALSE(wakes(6, 5, 6, {0, 5}));  // done
  EXPECT_FALSE(wakes(4, 7, 7, {0, 3}));  // the pass has seen what it gives at once
  EXPECT_TRUE(wakes(2, 8, 9, {0, 1}));
}

TEST(Limits, LeavePausesOut) {
  Stage stage;
  const JobId id = stage.run(malleable({2, 4}, 4, 60));
  stage.at(20);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 2, kReason)); });
  stage.at(25);
  const Holding two = holding({{0, 1}});
  ASSERT_TRUE(stage.tell(event::Resized{id, stage.job(id).decision, two, {}, whole_seconds(5)}));
  EXPECT_EQ(stage.job(id).limit, at_s(105));
  stage.at(35);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 4, kReason)); });
  stage.at(40);
  // No resize stops a job before it was decided.
  const Holding four = stage.job(id).holding;
  ASSERT_TRUE(stage.tell(event::Resized{id, stage.job(id).decision, four, {}, whole_seconds(50)}));
  EXPECT_EQ(stage.job(id).limit, at_s(75));
}

// H9
TEST(Claims, WithdrawnNodesCanBeAdopted) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId first = stage.submit(rigid(5, 100));
  const JobId second = stage.submit(rigid(4, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(first, exactly(5), kReason, {cuts}));
  });
  stage.at(1);
  const auto decisions = stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.start(second, exactly(4), kReason, {.incoming = true}));  // all promised
    EXPECT_TRUE(p.withdraw(p.claims()[0].id, kReason));
    EXPECT_EQ(p.idle(), 2u);
    EXPECT_EQ(p.incoming(), 3u);
    EXPECT_EQ(p.first_pending(), first);
    EXPECT_FALSE(p.start(second, exactly(4), kReason));
    EXPECT_TRUE(p.start(second, exactly(4), kReason, {.incoming = true}));
    EXPECT_EQ(p.incoming(), 1u);
  });
  EXPECT_TRUE(decisions.empty());
  ASSERT_TRUE(stage.resized(victim));
  EXPECT_EQ(starts(stage.close())[0].job, second);
  EXPECT_EQ(stage.idle(), 1u);
}

// H11
TEST(Claims, ARangeStartsWithWhatCame) {
  Stage stage;
  std::vector<JobId> victims;
  for (int n = 0; n < 3; ++n) victims.push_back(stage.run(malleable({1, 8}, 2)));
  const JobId id = stage.submit(malleable({3, 6}, 5));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victims[0], 1}, {victims[1], 1}, {victims[2], 1}};
    EXPECT_TRUE(p.start(id, {3, 5}, kReason, {cuts}));
  });
  ASSERT_TRUE(stage.resized(victims[0]));
  ASSERT_TRUE(stage.refused(victims[1]));
  ASSERT_TRUE(stage.resized(victims[2]));
  EXPECT_EQ(starts(stage.close())[0].after.count, 4u);
}

TEST(Claims, TheSurplusOfADueClaimIsIdle) {
  Stage stage;
  AdaptiveSpec even;
  even.constraint.kind = SizeConstraint::Kind::even;
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId id = stage.submit(malleable({2, 8}, 4), even);
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 3}};
    EXPECT_TRUE(p.start(id, {2, 5}, kReason, {cuts}));
  });
  EXPECT_EQ(stage.state().claims[0].pledged(), 3u);
  ASSERT_TRUE(stage.resized(victim));
  EXPECT_EQ(starts(stage.close())[0].after.count, 4u);
  EXPECT_EQ(stage.idle(), 1u);
}

// H12
TEST(Claims, HaveNoChains) {
  Stage stage;
  const JobId victim = stage.run(malleable({1, 8}, 5));
  const JobId grows = stage.run(malleable({1, 8}, 3));
  const JobId waits = stage.submit(rigid(2, 100));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.resize(grows, 4, kReason, {cuts}));
    const Cut back[] = {{grows, 1}};
    EXPECT_FALSE(p.resizable(grows));
    EXPECT_FALSE(p.resizable(victim));
    EXPECT_FALSE(p.start(waits, exactly(2), kReason, {back}));  // a beneficiary is no victim
    EXPECT_FALSE(p.resize(victim, 6, kReason, {back}));         // a victim no beneficiary
    EXPECT_FALSE(p.resize(grows, 4, kReason, {back}));          // nobody is cut for itself
  });
}

TEST(Claims, AnExpectedTimeIsThatOfTheLatestPledge) {
  Stage stage;
  AdaptiveSpec slow;
  slow.resize_delay = whole_seconds(7);
  const JobId a = stage.run(malleable({1, 8}, 4), 4, slow);
  const JobId b = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(2, 10));
  stage.at(10);
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{a, 3}, {b, 3}};
    EXPECT_TRUE(p.start(id, exactly(2), kReason, {cuts}));
    EXPECT_EQ(p.claims()[0].expected, at_s(17));
    EXPECT_EQ(p.claims()[0].release, at_s(27));
  });
}

// --- Passes
// ------------------------------------------------------------------------------------------

// H14
TEST(Passes, APolicyIsAskedForItsEventsOnly) {
  Stage stage;
  stage.script->traits.wakes = kind_of<event::Submitted>();
  const JobId victim = stage.run(malleable({1, 8}, 8));
  const JobId id = stage.submit(rigid(4, 100));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.woken_by<event::Submitted>());
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.start(id, exactly(4), kReason, {cuts}));
  });
  const int asked = stage.script->asked;
  stage.close();
  EXPECT_EQ(stage.script->asked, asked);
  // A due claim is carried out without it.
  ASSERT_TRUE(stage.resized(victim));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
  EXPECT_EQ(stage.script->asked, asked);
  // When it is asked, it learns of all that happened since the last pass.
  stage.ended(id);
  stage.close();
  stage.submit(rigid(1, 1));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.woken_by<event::Ended>());
    EXPECT_TRUE(p.woken_by<event::Resized>());
    EXPECT_FALSE(p.woken_by<event::Started>());
  });
  EXPECT_EQ(stage.script->asked, asked + 1);
}

// H15
TEST(Passes, AJobIsTouchedOnceInAnInstant) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 6, kReason)); });
  ASSERT_TRUE(stage.resized(id));
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.resizable(id));
    EXPECT_FALSE(p.resize(id, 4, kReason));
  });
  stage.now += kTick;
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 4, kReason)); });
  // Nor is a refused one asked again at once, or before it said.
  ASSERT_TRUE(stage.refused(id, at_s(20)));
  EXPECT_EQ(stage.core.next_wake(), at_s(20));
  stage.at(19);
  stage.pass([&](Pass& p) { EXPECT_FALSE(p.resize(id, 4, kReason)); });
  stage.at(20);
  stage.close([&](Pass& p) { EXPECT_TRUE(p.resize(id, 4, kReason)); });
}

// What a world says may be late: what is due in the past is due now.
TEST(Passes, ARefusalWithATimeThatHasPassedIsTriedAgain) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
  stage.at(50);
  ASSERT_TRUE(stage.refused(id, at_s(10)));
  EXPECT_EQ(stage.core.next_wake(), at_s(50) + kTick);
  stage.now += kTick;
  stage.close([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
}

TEST(Passes, WhoRefusesAgainAndAgainIsLeftAloneTwiceAsLong) {
  Stage::Setup setup;
  setup.rules.counted_refusals = 4;
  Stage stage(setup);
  const JobId id = stage.run(malleable({1, 8}, 4));
  const auto asked_again_after = [&] {
    stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
    EXPECT_TRUE(stage.refused(id, stage.now + whole_seconds(10)));
    const Duration alone = stage.core.next_wake() - stage.now;
    stage.now += alone - kTick;
    stage.pass([&](Pass& p) { EXPECT_FALSE(p.resizable(id)); });
    stage.now += kTick;
    return static_cast<int>(to_seconds(alone));
  };
  for (const int expected : {10, 20, 40, 80, 80}) EXPECT_EQ(asked_again_after(), expected);
  // It does as it is told, once.
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
  ASSERT_TRUE(stage.resized(id));
  stage.now += kTick;
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 4, kReason)); });
  ASSERT_TRUE(stage.resized(id));
  stage.now += kTick;
  for (const int expected : {10, 20}) EXPECT_EQ(asked_again_after(), expected);
  // An operator does not wait for that.
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 3, kReason)); });
  ASSERT_TRUE(stage.refused(id, stage.now + whole_seconds(10)));
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 2}));
  EXPECT_EQ(resizes(stage.close()).size(), 1u);
}

TEST(Passes, ThePolicysTimerIsTheEarliest) {
  Stage stage;
  stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.wake_by(stage.now));
    EXPECT_TRUE(p.wake_by(at_s(30)));
    EXPECT_TRUE(p.wake_by(at_s(20)));
    EXPECT_TRUE(p.wake_by(at_s(25)));
  });
  EXPECT_EQ(stage.core.next_wake(), at_s(20));
  stage.at(10);
  EXPECT_FALSE(stage.tell(event::TimerFired{}));
  stage.at(20);
  EXPECT_TRUE(stage.tell(event::TimerFired{}));
  const int asked = stage.script->asked;
  stage.close();
  EXPECT_EQ(stage.script->asked, asked + 1);
  // H16: nothing is wanted any more.
  EXPECT_EQ(stage.core.next_wake(), kNever);
}

TEST(Passes, TimeNeverGoesBack) {
  Stage stage;
  stage.at(10);
  stage.close();
  stage.at(5);
  stage.submit(rigid(1, 100));
  stage.close([&](Pass& p) { EXPECT_EQ(p.now(), at_s(10)); });
}

// H18: an order that changes with time is sorted when its period has passed.
TEST(Passes, TimeDependentOrdersAreSortedByPeriod) {
  const auto first_at_50 = [](std::int64_t period_s) {
    Stage stage;
    stage.script->traits.order = QueueOrder::wfp3;
    stage.script->traits.priority_period = whole_seconds(period_s);
    const JobId large = stage.submit(rigid(8, 1000));
    stage.submit(rigid(1, 10));
    stage.pass([&](Pass& p) { EXPECT_EQ(p.first_pending(), large); });
    stage.at(50);
    stage.submit(rigid(1, 1'000'000));
    JobId first{};
    stage.close([&](Pass& p) { first = p.first_pending(); });
    return first;
  };
  EXPECT_EQ(first_at_50(1'000'000), JobId{0});
  EXPECT_EQ(first_at_50(10), JobId{1});
}

TEST(Passes, WhoHasHeldLessForHisShareGoesFirstUnderFairshare) {
  const auto of = [](std::uint32_t user, Nodes nodes) {
    JobSpec spec = rigid(nodes, 10'000);
    spec.user = user;
    return spec;
  };
  Stage stage;
  stage.script->traits.order = QueueOrder::fairshare;
  stage.script->traits.fair_share = {.half_life = whole_seconds(100), .shares = {{2, 0.25}}};
  stage.run(of(1, 2));
  const JobId of_two = stage.run(of(2, 1));
  const JobId one = stage.submit(of(1, 8)), two = stage.submit(of(2, 8)),
              none = stage.submit(of(3, 8));
  stage.close();
  const auto order = [&] {
    std::vector<JobId> ids;
    stage.submit(of(4, 8));  // a pass, as for any event
    stage.close([&](Pass& p) {
      for (JobId id = p.first_pending(); id != JobId::none; id = p.next_pending(id)) {
        if (p.job(id).spec.user != 4) ids.push_back(id);
      }
    });
    return ids;
  };
  stage.at(10);
  EXPECT_EQ(order(), (std::vector{none, one, two}));
  // What is over fades, and what runs does not.
  ASSERT_TRUE(stage.ended(of_two));
  stage.at(1000);
  EXPECT_EQ(order(), (std::vector{none, two, one}));
  JobSpec urgent = of(1, 8);
  urgent.priority = 1;
  const JobId first = stage.submit(urgent);
  EXPECT_EQ(order().front(), first);
}

TEST(Passes, AnotherPolicyTakesOver) {
  Stage stage;
  const JobId large = stage.submit(rigid(8, 1000));
  const JobId small = stage.submit(rigid(1, 10));
  stage.close([&](Pass& p) { EXPECT_EQ(p.first_pending(), large); });
  Traits other = stage.core.traits();
  other.order = QueueOrder::sjf;
  stage.close([&](Pass& p) { p.reserve(large, at_s(9), {Why::in_order}); });
  ASSERT_TRUE(stage.tell(event::ConfigChanged{other}));
  EXPECT_EQ(stage.job(large).reserved, kNever);
  stage.close([&](Pass& p) { EXPECT_EQ(p.first_pending(), small); });
  EXPECT_EQ(stage.core.traits(), other);
}

// A portfolio that goes on with who rules changes nothing, and asks nobody.
TEST(Passes, AChoiceThatChangesNothingWakesNobody) {
  Stage stage;
  const JobId large = stage.submit(rigid(8, 1000));
  stage.close([&](Pass& p) { p.reserve(large, at_s(9), {Why::in_order}); });
  const Traits same = stage.core.traits();
  ASSERT_TRUE(stage.tell(event::ConfigChanged{same, Choice{}}));
  EXPECT_EQ(stage.job(large).reserved, at_s(9));
  stage.close([](Pass&) { ADD_FAILURE(); });
  EXPECT_FALSE(stage.core.was_asked());
  Traits other = same;
  other.order = QueueOrder::sjf;
  ASSERT_TRUE(stage.tell(event::ConfigChanged{other, Choice{}}));
  EXPECT_EQ(stage.job(large).reserved, kNever);
  stage.close([](Pass&) {});
  EXPECT_TRUE(stage.core.was_asked());
}

TEST(Passes, APolicyThatNeedsWhatTheWorldCannotDoIsRefused) {
  Stage stage;
  Traits other = stage.core.traits();
  other.needs.power_control = true;
  EXPECT_FALSE(stage.tell(event::ConfigChanged{other}));
  EXPECT_FALSE(stage.core.traits().needs.power_control);
  EXPECT_THROW(Core({.nodes = 8}, {}, {}, other), InputError);
  EXPECT_NO_THROW(Core({.nodes = 8}, {.power_control = true}, {}, other));
  other.needs = {.resizes_per_job = 2};
  EXPECT_THROW(Core({.nodes = 8}, {.resizes_per_job = 1}, {}, other), InputError);
  EXPECT_NO_THROW(Core({.nodes = 8}, {.resizes_per_job = 2}, {}, other));
}

// What was recorded goes: a build that wakes policies at other times folds it all the same.
TEST(Passes, ARecordSaysWhetherThePolicyWasAsked) {
  Stage stage;
  const JobId id = stage.submit(rigid(1, 10));
  follow(stage.core, stage.now, false, {});
  EXPECT_FALSE(stage.core.was_asked());
  EXPECT_EQ(stage.state().passes, 0u);
  const PenCall start{.verb = PenCall::Verb::start, .job = id, .size = exactly(1)};
  EXPECT_THROW(follow(stage.core, stage.now, false, {&start, 1}), std::logic_error);
  EXPECT_EQ(follow(stage.core, stage.now, true, {&start, 1}).size(), 1u);
  EXPECT_TRUE(stage.core.was_asked());
  EXPECT_EQ(stage.state().passes, 1u);
  stage.close();
  EXPECT_FALSE(stage.core.was_asked());
}

// Of the first policy as of any other.
TEST(Passes, UseFadesAsThePolicySaysFromTheBeginning) {
  Traits traits;
  traits.fair_share.half_life = whole_seconds(100);
  Core core({.nodes = 8}, {}, {.check = true}, traits);
  core.apply(Time{}, event::Submitted{rigid(2, 1000), {}});
  const PenCall start{.verb = PenCall::Verb::start, .job = JobId{0}, .size = exactly(2)};
  follow(core, Time{}, true, {&start, 1});
  core.apply(at_s(100), event::Ended{JobId{0}, EndState::completed, false});
  const auto used = core.state().uses.standings(at_s(100), traits.fair_share);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_NEAR(used[0].value, 100 / std::numbers::ln2, 1e-6);  // half of it has faded
}

// --- Limits
// ------------------------------------------------------------------------------------------

// H22
TEST(Limits, ScaleWithTheSizeOrAreFixed) {
  for (const auto rule : {Rules::Limit::scaled, Rules::Limit::fixed}) {
    Stage::Setup setup;
    setup.rules.limit = rule;
    Stage stage(setup);
    const JobId id = stage.submit(malleable({1, 8}, 4, 100));
    stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
    stage.at(50);
    stage.pass([&](Pass& p) { p.resize(id, 2, kReason); });
    EXPECT_EQ(stage.job(id).limit, at_s(100));  // nothing changed yet
    stage.at(60);
    ASSERT_TRUE(stage.resized(id));
    // 40 % of the work is left: 80 s at half the size.
    const bool scaled = rule == Rules::Limit::scaled;
    EXPECT_EQ(stage.job(id).limit, scaled ? at_s(140) : at_s(100));
    const auto decisions = of(Decision::Kind::set_limit, stage.close());
    ASSERT_EQ(decisions.size(), scaled ? 1u : 0u);
    if (scaled) {
      EXPECT_EQ(decisions[0].limit, at_s(140));
    }
  }
}

TEST(Limits, FollowTheMeasuredRate) {
  Stage stage;
  const JobId id = stage.submit(malleable({1, 8}, 4, 100), AdaptiveSpec{});
  stage.close([&](Pass& p) { p.start(id, exactly(4), kReason); });
  stage.tell(event::Believed{id, 0, 0, 0.5});  // half as fast as declared
  stage.at(40);
  stage.pass([&](Pass& p) {
    EXPECT_EQ(5 * p.work_left(id).left, 4 * p.work_left(id).whole);
    p.resize(id, 8, kReason);
  });
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.job(id).limit, at_s(80));
}

// What was done at all sizes is told anew by the model that was learned.
TEST(Limits, FollowTheLearnedModel) {
  for (const auto rule : {Rules::Limit::scaled, Rules::Limit::fixed}) {
    Stage stage({.rules = {.limit = rule, .identities = true, .check = true}});
    const JobId id = stage.submit(malleable({1, 8}, 2, 100), AdaptiveSpec{});
    stage.close([&](Pass& p) { p.start(id, exactly(2), kReason); });
    stage.at(10);
    stage.pass([&](Pass& p) { p.resize(id, 8, kReason); });
    ASSERT_TRUE(stage.resized(id));
    const bool scaled = rule == Rules::Limit::scaled;
    EXPECT_EQ(stage.job(id).limit, scaled ? Time{seconds(32.5)} : at_s(100));  // 90 s at a fourth
    stage.close();
    stage.at(20);
    event::Believed believed{id, 0, 0, 0};
    believed.model = Speedup{Speedup::Kind::amdahl, 0.2};  // 0.6 and 0.3 of the time of one node
    const EventKinds woken = stage.state().woken;
    ASSERT_TRUE(stage.tell(believed));
    EXPECT_EQ(stage.state().woken, woken);
    // 10 s at 2 nodes and 10 s at 8, which are worth 20: 70 s are left, 35 at 8.
    EXPECT_EQ(stage.job(id).limit, scaled ? at_s(55) : at_s(100));
    EXPECT_TRUE(of(Decision::Kind::set_limit, stage.close()).empty());
    stage.at(30);
    stage.pass([&](Pass& p) {
      EXPECT_EQ(2 * p.work_left(id).left, p.work_left(id).whole);
      if (!scaled) return;
      EXPECT_EQ(p.expected_end(id), at_s(55));
      EXPECT_EQ(p.expected_end(id, 2), at_s(80));
    });
    // It begins again with all of its work.
    ASSERT_TRUE(stage.tell(event::Ended{id, EndState::node_fail, true}));
    stage.at(31);
    stage.close([&](Pass& p) { p.start(id, exactly(8), kReason); });
    EXPECT_EQ(stage.job(id).limit, at_s(81));
    ASSERT_TRUE(stage.tell(believed));
    EXPECT_EQ(stage.job(id).limit, at_s(81));
  }
}

// --- Nodes
// -------------------------------------------------------------------------------------------

// H25
TEST(Nodes, HealthIsApartFromOwnership) {
  Stage stage;
  const JobId id = stage.run(rigid(4, 100));
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{3, 5}}), Health::draining}));
  EXPECT_EQ(stage.idle(), 2u);
  EXPECT_EQ(stage.state().out_of_service, 2u);  // 3 is still the job's
  EXPECT_EQ(stage.job(id).holding.count, 4u);
  EXPECT_FALSE(stage.tell(event::NodesChanged{nodes({{3, 5}}), Health::draining}));
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{3, 5}}), Health::down}));
  EXPECT_EQ(stage.state().out_of_service, 2u);
  stage.ended(id);
  EXPECT_EQ(stage.idle(), 5u);
  EXPECT_EQ(stage.state().out_of_service, 3u);
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{3, 4}}), Health::up}));
  EXPECT_EQ(stage.state().idle.nodes(), nodes({{0, 4}, {6, 7}}));
  // A plan counts on healthy nodes only.
  const JobId other = stage.run(rigid(7, 100));
  stage.tell(event::NodesChanged{nodes({{0, 0}}), Health::down});
  std::int64_t released = 0;
  stage.state().releases.for_each([&](Time, ReleaseTag, std::int64_t n) { released += n; });
  EXPECT_EQ(released, 6);
  EXPECT_EQ(stage.job(other).holding.count, 7u);
}

// H26
TEST(Nodes, AShrinkKeepsTheRightOnes) {
  Stage stage(slow_starts());
  const JobId id = stage.submit(malleable({1, 8}, 6));
  stage.close([&](Pass& p) { p.start(id, exactly(6), kReason); });
  ASSERT_TRUE(stage.tell(event::Started{id, stage.job(id).decision, {}, 5}));
  stage.at(1);
  stage.tell(event::NodesChanged{nodes({{0, 0}}), Health::draining});
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 4}));
  EXPECT_EQ(resizes(stage.close())[0].after, holding({{1, 3}, {5, 5}}));
  ASSERT_TRUE(stage.resized(id));
  EXPECT_EQ(stage.state().out_of_service, 1u);
  EXPECT_EQ(stage.idle(), 3u);
}

/// A malleable job of one to eight nodes on 0-5.
class Draining : public ::testing::Test {
 protected:
  bool drain(std::initializer_list<Interval> which) {
    return stage_.tell(event::NodesChanged{nodes(which), Health::draining});
  }
  /// Where the job is sent, if anywhere.
  std::optional<Holding> sent(JobId id) {
    for (const Decision& decision : resizes(stage_.close())) {
      if (decision.job != id) continue;
      EXPECT_EQ(decision.reason, (Reason{Why::draining}));
      return decision.after;
    }
    return std::nullopt;
  }

  Stage stage_;
  const JobId id_ = stage_.run(malleable({1, 8}, 6));
};

TEST_F(Draining, NodesAreLeft) {
  stage_.script->traits.wakes = 0;  // whatever the policy waits for
  stage_.pass([](Pass&) {});
  ASSERT_TRUE(drain({{1, 1}, {4, 4}}));
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 3}, {5, 5}}));
  ASSERT_TRUE(stage_.resized(id_));
  EXPECT_EQ(stage_.state().out_of_service, 2u);
  stage_.at(1);
  stage_.script->traits.wakes = kEveryEvent;
  // It is the policy's again.
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id_, 6, kReason)); });
  EXPECT_EQ(stage_.job(id_).holding, holding({{0, 0}, {2, 3}, {5, 7}}));
}

TEST_F(Draining, NodesThatAreGoodAgainStay) {
  ASSERT_TRUE(drain({{1, 1}, {4, 4}}));
  ASSERT_TRUE(stage_.tell(event::NodesChanged{nodes({{0, 2}}), Health::up}));
  EXPECT_EQ(sent(id_), holding({{0, 3}, {5, 5}}));
}

TEST_F(Draining, NodesThatFailAreTheWorldsToTakeAway) {
  ASSERT_TRUE(drain({{1, 1}}));
  ASSERT_TRUE(stage_.tell(event::NodesChanged{nodes({{1, 1}}), Health::down}));
  EXPECT_EQ(sent(id_), std::nullopt);
}

TEST_F(Draining, NodesAreKeptByJobsThatCannotBeSoSmall) {
  stage_.ended(id_);
  stage_.close();
  const JobId fixed = stage_.run(rigid(2, 100));                            // 0-1
  const JobId least = stage_.run(malleable({2, 8}, 3));                     // 2-4
  const JobId asks = stage_.run(sized(JobType::evolving, {1, 8}, 2, 100));  // 5-6
  ASSERT_TRUE(drain({{0, 0}, {3, 4}, {6, 6}}));
  for (const JobId id : {fixed, least, asks}) EXPECT_EQ(sent(id), std::nullopt);
  // With one of the two the other suffices.
  ASSERT_TRUE(stage_.tell(event::NodesChanged{nodes({{4, 4}}), Health::up}));
  EXPECT_EQ(sent(least), holding({{2, 2}, {4, 4}}));
}

TEST_F(Draining, LeavesASizeThatIsAllowed) {
  stage_.ended(id_);
  stage_.close();
  AdaptiveSpec even;
  even.constraint.kind = SizeConstraint::Kind::even;
  const JobId id = stage_.run(malleable({2, 8}, 6), 6, even);
  ASSERT_TRUE(drain({{0, 0}}));
  EXPECT_EQ(sent(id), holding({{1, 4}}));
  ASSERT_TRUE(stage_.resized(id));
  stage_.at(1);
  ASSERT_TRUE(drain({{1, 3}}));  // one is too few
  EXPECT_EQ(sent(id), std::nullopt);
}

TEST_F(Draining, TheNodeThatMustStayIsNotLeft) {
  stage_.ended(id_);
  stage_.close();
  AdaptiveSpec even;
  even.constraint.kind = SizeConstraint::Kind::even;
  const JobId id = stage_.submit(malleable({2, 8}, 3), even);
  ASSERT_TRUE(stage_.tell(event::Started{id, DecisionId::none, holding({{0, 2}}), 1}));
  stage_.close();
  stage_.at(1);
  ASSERT_TRUE(drain({{1, 1}}));
  EXPECT_EQ(sent(id), std::nullopt);
  ASSERT_TRUE(drain({{2, 2}}));
  EXPECT_EQ(sent(id), holding({{0, 1}}));
}

TEST_F(Draining, WaitsForWhatIsUnderWay) {
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id_, 8, kReason)); });
  ASSERT_TRUE(drain({{1, 1}}));
  EXPECT_EQ(sent(id_), std::nullopt);
  ASSERT_TRUE(stage_.resized(id_));
  EXPECT_EQ(sent(id_), std::nullopt);  // once in an instant
  EXPECT_EQ(stage_.core.next_wake(), stage_.now + kTick);
  stage_.now += kTick;
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 7}}));
}

TEST_F(Draining, IsTriedAgainAfterARefusal) {
  ASSERT_TRUE(drain({{1, 1}}));
  ASSERT_TRUE(sent(id_));
  ASSERT_TRUE(stage_.refused(id_, at_s(30)));
  EXPECT_EQ(sent(id_), std::nullopt);
  EXPECT_EQ(stage_.core.next_wake(), at_s(30));
  stage_.at(30);
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 5}}));
}

TEST_F(Draining, AnOrderIsStronger) {
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{id_, 6}));
  ASSERT_TRUE(drain({{1, 1}}));
  EXPECT_EQ(sent(id_), std::nullopt);
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{id_, 0}));
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 5}}));
}

TEST_F(Draining, WhatAWorldCannotDoIsNotAsked) {
  Stage::Setup setup;
  setup.can.resizes_per_job = 0;
  Stage stage(setup);
  stage.run(malleable({1, 8}, 6));
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{1, 1}}), Health::draining}));
  EXPECT_TRUE(stage.close().empty());
}

// A machine of 8 nodes whose jobs can leave nodes for others; job `id_` has 0 to 4.
class Moving : public ::testing::Test {
 protected:
  static Stage::Setup setup(bool moves = true) {
    Stage::Setup setup;
    setup.can.moves = moves;
    return setup;
  }
  bool drain(std::initializer_list<Interval> parts) {
    return stage_.tell(event::NodesChanged{nodes(parts), Health::draining});
  }
  bool order(std::initializer_list<Interval> off) {
    return stage_.tell(event::MoveOrdered{id_, nodes(off)});
  }
  std::optional<Holding> sent(JobId id) { return sent(stage_, id); }
  static std::optional<Holding> sent(Stage& stage, JobId id) {
    for (const Decision& decision : resizes(stage.close())) {
      if (decision.job == id) return decision.after;
    }
    return std::nullopt;
  }

  Stage stage_{setup()};
  const JobId id_ = stage_.run(malleable({5, 8}, 5));
};

TEST_F(Moving, LeavesNodesThatDrainForIdleOnes) {
  ASSERT_TRUE(drain({{1, 2}}));
  EXPECT_EQ(sent(id_), holding({{0, 0}, {3, 6}}));
  // Until it has, it holds both, and computes where it was.
  EXPECT_EQ(stage_.job(id_).holding, holding({{0, 6}}));
  EXPECT_EQ(stage_.job(id_).size(), 5u);
  EXPECT_EQ(stage_.state().settled(stage_.job(id_)), holding({{0, 4}}));
  ASSERT_TRUE(stage_.resized(id_));
  EXPECT_EQ(stage_.state().out_of_service, 2u);
  EXPECT_EQ(stage_.idle(), 1u);
  EXPECT_EQ(stage_.job(id_).expands + stage_.job(id_).shrinks, 0);
  stage_.at(1);
  EXPECT_EQ(sent(id_), std::nullopt);
}

TEST_F(Moving, WaitsForIdleNodesAtItsSmallestSize) {
  const JobId other = stage_.run(rigid(2, 100));  // 5-6
  ASSERT_TRUE(drain({{1, 2}}));
  EXPECT_EQ(sent(id_), std::nullopt);
  stage_.at(7);
  ASSERT_TRUE(stage_.ended(other));
  EXPECT_EQ(sent(id_), holding({{0, 0}, {3, 6}}));
}

TEST_F(Moving, IsSmallerAsFarAsThereIsNoOtherNode) {
  stage_.ended(id_);
  stage_.close();
  const JobId id = stage_.run(malleable({2, 8}, 6));  // 0-5
  stage_.run(rigid(1, 100));                          // 6
  ASSERT_TRUE(drain({{0, 1}}));
  EXPECT_EQ(sent(id), holding({{2, 5}, {7, 7}}));
  // 5 nodes of those with which it began: not counted as moved.
  ASSERT_TRUE(stage_.resized(id));
  EXPECT_EQ(stage_.job(id).shrinks, 1);
}

TEST_F(Moving, KeepsTheSizeThatWasOrdered) {
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{id_, 5}));
  ASSERT_TRUE(drain({{1, 1}}));
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 5}}));
}

TEST_F(Moving, ARefusedOneHasItsNodesBackAndIsTriedAgain) {
  ASSERT_TRUE(drain({{1, 1}}));
  ASSERT_TRUE(sent(id_));
  ASSERT_TRUE(
      stage_.tell(event::Resized{id_, stage_.job(id_).decision, holding({{0, 4}}), at_s(30)}));
  EXPECT_EQ(stage_.idle(), 3u);
  EXPECT_EQ(sent(id_), std::nullopt);
  EXPECT_EQ(stage_.core.next_wake(), at_s(30));
  stage_.at(30);
  EXPECT_EQ(sent(id_), holding({{0, 0}, {2, 5}}));
}

TEST_F(Moving, RefusalsCount) {
  Stage::Setup counts = setup();
  counts.rules.counted_refusals = 3;
  Stage stage(counts);
  const JobId id = stage.run(malleable({5, 8}, 5));
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{1, 1}}), Health::draining}));
  // Left alone for 10 s, and then for twice as long.
  for (const auto& [at, until] : {std::pair{10, 20}, std::pair{20, 40}}) {
    stage.at(at);
    ASSERT_TRUE(sent(stage, id));
    ASSERT_TRUE(stage.resized(id, holding({{0, 4}}), at_s(at + 10)));
    EXPECT_EQ(stage.job(id).not_before, at_s(until));
  }
}

TEST_F(Moving, TheNodeThatMustStayStays) {
  stage_.ended(id_);
  stage_.close();
  const JobId id = stage_.submit(malleable({3, 8}, 3));
  ASSERT_TRUE(stage_.tell(event::Started{id, DecisionId::none, holding({{0, 2}}), 1}));
  stage_.close();
  stage_.at(1);
  ASSERT_TRUE(drain({{0, 1}}));
  EXPECT_EQ(sent(id), holding({{1, 3}}));
}

TEST_F(Moving, NeedsPowerForBoth) {
  Stage::Setup with_power = setup();
  with_power.platform.idle_w = 100;
  with_power.platform.busy_w = 200;
  Stage stage(with_power);
  const JobId id = stage.run(malleable({4, 4}, 4));
  stage.tell(event::CorridorChanged{0, 8 * 100 + 5 * 100});  // one node more
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{0, 1}}), Health::draining}));
  EXPECT_EQ(sent(stage, id), std::nullopt);
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{0, 0}}), Health::up}));
  EXPECT_EQ(sent(stage, id), holding({{0, 0}, {2, 4}}));
}

TEST_F(Moving, IsOrdered) {
  ASSERT_TRUE(order({{0, 1}, {5, 5}}));
  EXPECT_EQ(sent(id_), holding({{2, 4}, {6, 7}}));  // not to one that it is to leave, too
  ASSERT_TRUE(stage_.resized(id_));
  EXPECT_EQ(stage_.idle(), 3u);
  stage_.at(1);
  EXPECT_EQ(sent(id_), std::nullopt);
  EXPECT_TRUE(stage_.state().moves.empty());
}

TEST_F(Moving, AnOrderWaitsForNodesAndIsLifted) {
  ASSERT_TRUE(order({{0, 4}}));
  EXPECT_EQ(sent(id_), std::nullopt);  // five are to be left, and three are idle
  ASSERT_TRUE(order({{0, 3}}));        // the new order takes the place of the old one
  EXPECT_EQ(stage_.state().moves.size(), 1u);
  EXPECT_EQ(sent(id_), std::nullopt);
  EXPECT_TRUE(order({}));
  EXPECT_FALSE(order({}));
  EXPECT_TRUE(stage_.state().moves.empty());
  ASSERT_TRUE(order({{0, 3}}));
  ASSERT_TRUE(stage_.ended(id_));
  stage_.close();
  EXPECT_TRUE(stage_.state().moves.empty());
}

TEST_F(Moving, IsOrderedOnlyWhereItCanBeDone) {
  EXPECT_FALSE(order({{5, 7}}));  // it has none of them
  EXPECT_FALSE(order({{0, 8}}));  // there is no node 8
  const JobId fixed = stage_.run(rigid(1, 100));
  EXPECT_FALSE(stage_.tell(event::MoveOrdered{fixed, nodes({{5, 5}})}));
  const JobId waits = stage_.submit(malleable({5, 8}, 5));
  EXPECT_FALSE(stage_.tell(event::MoveOrdered{waits, nodes({{5, 5}})}));
  Stage stays(setup(false));
  const JobId id = stays.run(malleable({5, 8}, 5));
  EXPECT_FALSE(stays.tell(event::MoveOrdered{id, nodes({{0, 0}})}));
  ASSERT_TRUE(stays.tell(event::NodesChanged{nodes({{0, 0}}), Health::draining}));
  EXPECT_EQ(sent(stays, id), std::nullopt);
}

// Records of jobs go in pages, when all of a page are over.
TEST_F(Moving, AnOrderEndsWithItsJob) {
  ASSERT_TRUE(order({{0, 4}}));
  std::vector<JobId> others;
  for (int i = 0; i < 2000; ++i) others.push_back(stage_.submit(rigid(1, 100)));
  for (const JobId id : others) ASSERT_TRUE(stage_.ended(id));
  ASSERT_TRUE(stage_.ended(id_));
  EXPECT_TRUE(stage_.state().moves.empty());
  EXPECT_TRUE(stage_.close().empty());
}

TEST_F(Moving, ToNodesThatItIsNotOrderedOff) {
  stage_.run(rigid(2, 100));             // 5-6
  ASSERT_TRUE(order({{2, 4}, {7, 7}}));  // 7 is the only one that idles
  ASSERT_TRUE(drain({{0, 0}}));
  EXPECT_EQ(sent(id_), std::nullopt);
  EXPECT_TRUE(order({}));
  EXPECT_EQ(sent(id_), holding({{1, 4}, {7, 7}}));
}

TEST_F(Moving, IsLookedAtWhenAPolicyGivesAClaimUp) {
  const JobId victim = stage_.run(malleable({1, 2}, 2));  // 5-6
  stage_.at(1);
  stage_.pass([&](Pass& p) {
    const Cut cuts[] = {{victim, 1}};
    EXPECT_TRUE(p.resize(id_, 7, kReason, {cuts}));  // its claim has node 7
  });
  ASSERT_TRUE(drain({{0, 0}}));
  EXPECT_EQ(sent(id_), std::nullopt);
  stage_.at(2);
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.withdraw(stage_.job(id_).claim, kReason)); });
  EXPECT_EQ(stage_.core.next_wake(), stage_.now + kTick);
  stage_.now += kTick;
  EXPECT_EQ(sent(id_), holding({{1, 4}, {7, 7}}));
}

TEST_F(Moving, WhatTheWorldSaysIsFinal) {
  ASSERT_TRUE(drain({{1, 2}}));
  ASSERT_TRUE(sent(id_));
  // It has moved to one of the two, and is smaller.
  ASSERT_TRUE(
      stage_.tell(event::Resized{id_, stage_.job(id_).decision, holding({{0, 0}, {3, 5}}), {}}));
  EXPECT_EQ(stage_.job(id_).holding.count, 4u);
  EXPECT_EQ(stage_.idle(), 2u);
  EXPECT_EQ(stage_.job(id_).shrinks, 1);
}

TEST(Nodes, WithoutIdentitiesAreOnlyCounted) {
  Stage::Setup setup;
  setup.rules.identities = false;
  Stage stage(setup);
  const JobId victim = stage.run(malleable({1, 8}, 6));
  const JobId id = stage.submit(rigid(4, 100));
  EXPECT_FALSE(stage.tell(event::NodesChanged{nodes({{0, 0}}), Health::down}));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{victim, 4}};
    EXPECT_TRUE(p.start(id, exactly(4), kReason, {cuts}));
  });
  ASSERT_TRUE(stage.tell(event::Resized{victim, stage.job(victim).decision, {4, {}}, {}}));
  const auto due = starts(stage.close());
  EXPECT_EQ(due[0].after.count, 4u);
  EXPECT_TRUE(due[0].after.nodes.empty());
}

// --- Evolving requests
// -------------------------------------------------------------------------------

class Requests : public ::testing::Test {
 protected:
  Stage stage_;
  const JobId asks_ = stage_.run(sized(JobType::evolving, {1, 8}, 2, 100));
  const JobId victim_ = stage_.run(malleable({1, 8}, 4));
  bool ask(std::uint32_t id, std::int32_t delta, Nodes at_least = 0) {
    return stage_.tell(event::EvolvingRequested{RequestId{id}, asks_, delta, at_least});
  }
};

// H29
TEST_F(Requests, AreSeenWhileTheirJobDoesNothing) {
  ASSERT_TRUE(ask(1, 1));
  ASSERT_TRUE(ask(2, -1));
  EXPECT_FALSE(ask(2, -1));
  EXPECT_FALSE(ask(3, 0));
  stage_.pass([&](Pass& p) {
    ASSERT_EQ(p.requests().size(), 2u);
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}));
    EXPECT_TRUE(p.requests().empty());  // its job is busy now
    EXPECT_FALSE(p.grant(RequestId{2}, {Why::evolving}));
    EXPECT_FALSE(p.deny(RequestId{2}, {Why::evolving}));
  });
  ASSERT_TRUE(stage_.resized(asks_));
  EXPECT_EQ(stage_.job(asks_).size(), 3u);
  stage_.now += kTick;
  const auto decisions = stage_.pass([&](Pass& p) {
    ASSERT_EQ(p.requests().size(), 1u);
    EXPECT_TRUE(p.grant(RequestId{2}, {Why::evolving}));  // a shrink for nobody
  });
  EXPECT_EQ(resizes(decisions)[0].request, RequestId{2});
  EXPECT_EQ(resizes(decisions)[0].after.count, 2u);
}

TEST_F(Requests, AreOpenAgainWhenTheirClaimDissolves) {
  ASSERT_TRUE(ask(1, 4));
  stage_.pass([&](Pass& p) {
    EXPECT_FALSE(p.grant(RequestId{1}, {Why::evolving}));  // 2 idle nodes
    const Cut cuts[] = {{victim_, 2}};
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}, {cuts}));
    EXPECT_TRUE(p.requests().empty());
  });
  ASSERT_TRUE(stage_.refused(victim_));
  stage_.close([&](Pass& p) { EXPECT_EQ(p.requests().size(), 1u); });
}

TEST_F(Requests, AreGrantedWhenTheirNodesCame) {
  ASSERT_TRUE(ask(1, 4, 2));
  stage_.pass([&](Pass& p) {
    const Cut cuts[] = {{victim_, 2}};
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}, {cuts}));
  });
  EXPECT_EQ(stage_.state().requests.size(), 1u);
  ASSERT_TRUE(stage_.resized(victim_, holding({{2, 4}})));  // one of the two
  const auto decisions = resizes(stage_.close());
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].request, RequestId{1});
  EXPECT_EQ(decisions[0].after.count, 5u);  // 3 of 4; 2 would do
  EXPECT_TRUE(stage_.state().requests.empty());
}

TEST_F(Requests, AnApplicationKnowsWhatItCanUse) {
  AdaptiveSpec powers;
  powers.constraint.kind = SizeConstraint::Kind::power_of_two;
  stage_.ended(asks_);
  const JobId id = stage_.run(sized(JobType::evolving, {1, 8}, 2, 100), 2, powers);
  stage_.tell(event::EvolvingRequested{RequestId{1}, id, 3, 0});
  stage_.close([&](Pass& p) {
    const Cut cuts[] = {{victim_, 3}};
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}, {cuts}));
  });
  stage_.resized(victim_);
  EXPECT_EQ(resizes(stage_.close())[0].after.count, 5u);
}

TEST_F(Requests, EndWithDenialWithdrawalOrTheirJob) {
  ASSERT_TRUE(ask(1, 1));
  const auto decisions =
      stage_.close([&](Pass& p) { EXPECT_TRUE(p.deny(RequestId{1}, {Why::fairness})); });
  EXPECT_EQ(of(Decision::Kind::deny, decisions)[0].request, RequestId{1});
  EXPECT_TRUE(stage_.state().requests.empty());

  ASSERT_TRUE(ask(2, 4));
  stage_.close([&](Pass& p) {
    const Cut cuts[] = {{victim_, 2}};
    EXPECT_TRUE(p.grant(RequestId{2}, {Why::evolving}, {cuts}));
  });
  ASSERT_TRUE(stage_.tell(event::EvolvingWithdrawn{RequestId{2}}));
  EXPECT_FALSE(stage_.tell(event::EvolvingWithdrawn{RequestId{2}}));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.state().incoming(), 2u);

  ASSERT_TRUE(ask(3, 1));
  stage_.ended(asks_);
  EXPECT_TRUE(stage_.state().requests.empty());
  EXPECT_FALSE(ask(4, 1));
}

// An evolving job gives what it offered, and no policy takes more.
TEST_F(Requests, AGrantedShrinkIsNotCutFurther) {
  stage_.ended(asks_);
  const JobId id = stage_.run(sized(JobType::evolving, {1, 8}, 4, 100));
  const JobId waits = stage_.submit(rigid(2, 100));
  stage_.tell(event::EvolvingRequested{RequestId{1}, id, -2, 0});
  stage_.close([&](Pass& p) {
    EXPECT_TRUE(p.grant(RequestId{1}, {Why::evolving}));
    EXPECT_FALSE(p.resize(id, 1, kReason));
    const Cut more[] = {{id, 1}};
    EXPECT_FALSE(p.start(waits, exactly(2), kReason, {more}));
    const Cut as_it_is[] = {{id, 2}};
    EXPECT_TRUE(p.start(waits, exactly(2), kReason, {as_it_is}));
  });
  EXPECT_EQ(stage_.job(id).size(), 2u);
}

// --- Orders
// ------------------------------------------------------------------------------------------

// H30
TEST(Orders, PinAJobUntilTheyAreLifted) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 6}));
  EXPECT_FALSE(stage.tell(event::SizeOrdered{id, 6}));
  const auto decisions = stage.close([&](Pass& p) { EXPECT_FALSE(p.resizable(id)); });
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].reason.why, Why::ordered);
  EXPECT_EQ(decisions[0].after.count, 6u);
  ASSERT_TRUE(stage.resized(id));
  stage.at(1);
  EXPECT_TRUE(
      resizes(stage.pass([&](Pass& p) { EXPECT_FALSE(p.resize(id, 2, kReason)); })).empty());
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 0}));
  stage.close([&](Pass& p) { EXPECT_TRUE(p.resize(id, 2, kReason)); });
}

TEST(Orders, WaitForNodesAndForAnswers) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4));
  const JobId other = stage.run(rigid(3, 100));
  stage.pass([&](Pass& p) { p.resize(id, 2, kReason); });
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 6}));
  EXPECT_TRUE(stage.close().empty());  // busy
  ASSERT_TRUE(stage.resized(id));
  stage.at(1);
  EXPECT_TRUE(resizes(stage.close()).empty());  // 3 idle nodes are too few
  stage.ended(other);
  EXPECT_EQ(resizes(stage.close())[0].after.count, 6u);
}

TEST(Orders, ForAWaitingJobAreCarriedOutSoonAfterItsStart) {
  Stage stage;
  const JobId id = stage.submit(malleable({1, 8}, 4));
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 2}));
  stage.close([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(4), kReason)); });
  stage.submit(rigid(1, 1));
  stage.close();
  ASSERT_EQ(stage.core.next_wake(), stage.now + kTick);  // nothing else may ever happen
  stage.now += kTick;
  EXPECT_EQ(resizes(stage.close())[0].after.count, 2u);
}

TEST(Orders, ThatCannotBeCarriedOutAreRefused) {
  Stage stage;
  const JobId fixed = stage.run(rigid(2, 100));
  const JobId id = stage.run(malleable({2, 4}, 2));
  EXPECT_FALSE(stage.tell(event::SizeOrdered{fixed, 1}));
  EXPECT_FALSE(stage.tell(event::SizeOrdered{id, 5}));
  EXPECT_FALSE(stage.tell(event::SizeOrdered{id, 0}));  // there is none
  EXPECT_FALSE(stage.tell(event::SizeOrdered{JobId{77}, 2}));
}

// --- Power
// -------------------------------------------------------------------------------------------

// H31
TEST(Power, ABudgetBindsThePen) {
  Stage stage({.platform = {.nodes = 8, .idle_w = 10, .busy_w = 110}});
  stage.tell(event::CorridorChanged{0, 80 + 450});  // 4 busy nodes
  const JobId id = stage.submit(malleable({1, 8}, 6));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.fits(id, 4));
    EXPECT_FALSE(p.fits(id, 5));
    EXPECT_FALSE(p.start(id, exactly(5), kReason));
    EXPECT_TRUE(p.start(id, {2, 6}, kReason));  // as many as the watts allow
    EXPECT_DOUBLE_EQ(p.power_w(), 480);
  });
  EXPECT_EQ(stage.job(id).size(), 4u);
  stage.at(1);
  stage.pass([&](Pass& p) { EXPECT_FALSE(p.resize(id, 5, kReason)); });
  stage.tell(event::CorridorChanged{0, kNoBound});
  stage.close([&](Pass& p) { EXPECT_TRUE(p.resize(id, 8, kReason)); });
}

/// A machine of 8 nodes that draw nothing while idle and 100 W while busy, with a budget.
Stage powered_stage(double budget_w) {
  Stage stage({.platform = {.nodes = 8, .busy_w = 100}});
  stage.tell(event::CorridorChanged{0, budget_w});
  stage.close();
  return stage;
}
double free_w(const Stage& stage) {
  return static_cast<double>(stage.state().free_power_mw()) / 1000;
}

TEST(Power, AClaimHoldsItAndIsOwedIt) {
  Stage stage = powered_stage(600);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(3, 100));
  const JobId other = stage.submit(rigid(1, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(id, exactly(3), kReason, {cuts}));
    EXPECT_FALSE(p.fits(other, 1));  // a node idles, but its power is held
    EXPECT_FALSE(p.start(other, exactly(1), kReason));
  });
  ASSERT_EQ(stage.state().claims.size(), 1u);
  EXPECT_EQ(stage.state().claims[0].held_mw, 200'000);
  EXPECT_EQ(stage.state().claims[0].pledged_mw(), 100'000);
  EXPECT_EQ(free_w(stage), 0);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(stage.state().claims[0].held_mw, 300'000);
  EXPECT_EQ(free_w(stage), 100);  // what it gives besides
  EXPECT_EQ(starts(stage.close()).size(), 1u);
  EXPECT_EQ(free_w(stage), 100);
}

TEST(Power, AClaimIsNotMadeWithoutIt) {
  Stage stage = powered_stage(450);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(malleable({1, 8}, 4));
  stage.close([&](Pass& p) {
    const Cut some[] = {{heat, 2}}, more[] = {{heat, 1}};
    EXPECT_FALSE(p.start(id, exactly(3), kReason, {some}));  // 50 W, and 200 W of heat
    EXPECT_FALSE(p.start(id, exactly(4), kReason, {more}));
    EXPECT_EQ(p.job(heat).size(), 4u);
    EXPECT_TRUE(p.start(id, {1, 4}, kReason, {more}));
  });
  // So many nodes as have power.
  EXPECT_EQ(stage.state().claims[0].held.count, 3u);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(starts(stage.close())[0].after.count, 3u);
}

// What one claim is owed no other one is promised.
TEST(Power, IsPledgedOnce) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId first = stage.submit(rigid(1, 100)), second = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(first, exactly(1), kReason, {cuts}));
    EXPECT_FALSE(p.start(second, exactly(2), kReason, {cuts}));
    EXPECT_FALSE(p.start(second, exactly(2), kReason, {{}, true}));
    const Cut more[] = {{heat, 1}};
    EXPECT_TRUE(p.start(second, exactly(2), kReason, {more}));
  });
  // Nodes idle: of heat they need the power only.
  EXPECT_EQ(stage.state().claims[1].pledges[0].count, 0u);
  EXPECT_EQ(stage.state().claims[1].pledges[0].power_mw, 200'000);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(starts(stage.close()).size(), 2u);
}

// What comes and is promised to nobody may be power alone.
TEST(Power, ThatComesIsASource) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.resize(heat, 2, kReason));
    EXPECT_FALSE(p.start(id, exactly(2), kReason));
    EXPECT_TRUE(p.start(id, exactly(2), kReason, {{}, true}));
  });
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
}

TEST(Power, ThatIsFreeTakesThePlaceOfWhatIsOwed) {
  Stage stage = powered_stage(600);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId ends = stage.run(rigid(2, 100));
  const JobId id = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(id, exactly(2), kReason, {cuts}));
  });
  EXPECT_TRUE(stage.close().empty());
  EXPECT_EQ(stage.state().claims[0].held.count, 2u);
  ASSERT_TRUE(stage.ended(ends));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
  EXPECT_EQ(stage.state().unanswered[0].pledged_mw, 0);
  EXPECT_EQ(free_w(stage), 0);
}

// As soon as it is there, wherever it comes from.
TEST(Power, OfAHigherBudgetGoesToClaims) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(id, exactly(2), kReason, {cuts}));
  });
  EXPECT_TRUE(stage.close().empty());
  stage.tell(event::CorridorChanged{0, 600});
  EXPECT_EQ(starts(stage.close()).size(), 1u);
}

TEST(Power, OfADueClaimIsAsBelievedThen) {
  for (const double watts : {50, 100, 120, 210}) {
    Stage stage = powered_stage(400);
    const JobId heat = stage.run(malleable({1, 8}, 4));
    const JobId id = stage.submit(malleable({1, 8}, 2), AdaptiveSpec{});
    stage.close([&](Pass& p) {
      const Cut cuts[] = {{heat, 2}};
      EXPECT_TRUE(p.start(id, {1, 3}, kReason, {cuts}));  // 2: there is power for no more
    });
    stage.tell(event::Believed{id, watts, -1, -1});
    ASSERT_TRUE(stage.resized(heat));
    const auto due = starts(stage.close());
    ASSERT_EQ(due.size(), watts > 200 ? 0u : 1u) << watts;
    if (watts <= 200) {
      EXPECT_EQ(due[0].after.count, watts > 100 ? 1u : 2u) << watts;
    }
    EXPECT_TRUE(stage.state().claims.empty());
  }
}

// What is free goes to a due claim, also if it is less than nothing.
TEST(Power, ThatLacksIsTakenFromADueClaim) {
  for (const double budget_w : {400, 300, 200}) {
    Stage stage = powered_stage(400);
    const JobId heat = stage.run(malleable({1, 8}, 4));
    const JobId id = stage.submit(malleable({1, 8}, 2));
    stage.close([&](Pass& p) {
      const Cut cuts[] = {{heat, 2}};
      EXPECT_TRUE(p.start(id, {1, 2}, kReason, {cuts}));
    });
    stage.tell(event::CorridorChanged{0, budget_w});
    ASSERT_TRUE(stage.resized(heat));
    const auto due = starts(stage.close());
    ASSERT_EQ(due.size(), budget_w > 200 ? 1u : 0u);
    if (budget_w > 200) {
      EXPECT_EQ(due[0].after.count, budget_w > 300 ? 2u : 1u);
    }
    EXPECT_EQ(free_w(stage), 0);
  }
}

// A job of 6 nodes that is cut to 2 for two claims of 2; all of its 600 W are in use.
JobId run_and_cut_for_two(Stage& stage) {
  const JobId heat = stage.run(malleable({1, 8}, 6));
  const JobId first = stage.submit(rigid(2, 100)), second = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(first, exactly(2), kReason, {cuts}));
    EXPECT_TRUE(p.start(second, exactly(2), kReason, {cuts}));
  });
  return heat;
}

// Who is believed to draw less gives less: the newest claim is owed less.
TEST(Power, ThatAVictimDoesNotDrawIsNotOwed) {
  Stage stage = powered_stage(600);
  const JobId heat = run_and_cut_for_two(stage);
  stage.tell(event::Believed{heat, 75, -1, -1});
  EXPECT_EQ(stage.state().claims[0].pledged_mw(), 200'000);
  EXPECT_EQ(stage.state().claims[1].pledged_mw(), 100'000);
  EXPECT_EQ(free_w(stage), 150);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(starts(stage.close()).size(), 2u);
  EXPECT_EQ(free_w(stage), 50);
}

// The same where all nodes draw less.
TEST(Power, ThatNodesOfAnotherMachineDoNotDrawIsNotOwed) {
  Stage stage = powered_stage(600);
  run_and_cut_for_two(stage);
  Platform machine = stage.state().platform;
  machine.busy_w = 75;
  ASSERT_TRUE(stage.tell(event::MachineChanged{machine, stage.state().capabilities}));
  EXPECT_EQ(stage.state().claims[0].pledged_mw(), 200'000);
  EXPECT_EQ(stage.state().claims[1].pledged_mw(), 100'000);
}

// Plans see what comes of shrinks when it comes, and what is promised not at all.
TEST(Power, IsPlannedAsNodesAre) {
  for (const bool promised : {false, true}) {
    Stage stage = powered_stage(400);
    AdaptiveSpec slow;
    slow.resize_delay = whole_seconds(10);
    const JobId heat = stage.run(malleable({1, 8}, 4, 1000), 4, slow);
    const JobId waits = stage.submit(rigid(2, 50)), claims = stage.submit(rigid(2, 500));
    stage.close([&](Pass& p) {
      const Cut cuts[] = {{heat, 2}};
      if (promised) {
        EXPECT_TRUE(p.start(claims, exactly(2), kReason, {cuts}));
      } else {
        EXPECT_TRUE(p.resize(heat, 2, kReason));
      }
      const Time at = p.timeline().earliest(p.demand(waits, 2), whole_seconds(50), p.now());
      EXPECT_EQ(at, p.now() + whole_seconds(promised ? 510 : 10));
    });
  }
}

// What comes at this very instant is not late.
TEST(Power, ThatComesAtOnceIsPlannedForNow) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4, 1000));
  const JobId waits = stage.submit(rigid(2, 50));
  stage.close([&](Pass& p) {
    EXPECT_TRUE(p.resize(heat, 2, kReason));
    EXPECT_EQ(timeline_for(p, {}).earliest(p.demand(waits, 2), kTick, p.now()), p.now());
  });
}

TEST(Power, OfABudgetThatGoesIsForgotten) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId id = stage.submit(rigid(6, 100)), other = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    EXPECT_TRUE(p.start(other, exactly(2), kReason, {cuts}));
  });
  stage.tell(event::CorridorChanged{0, kNoBound});
  EXPECT_EQ(stage.state().claims[0].pledged_mw(), 0);
  stage.tell(event::CorridorChanged{0, 400});
  EXPECT_EQ(stage.state().unanswered[0].releases_mw, 200'000);
  EXPECT_EQ(stage.state().unanswered[0].pledged_mw, 0);
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
  EXPECT_EQ(stage.job(id).status, Status::pending);
}

TEST(Power, BeliefsWakeNobody) {
  Stage stage({.platform = {.nodes = 8, .busy_w = 100}});
  const JobId id = stage.run(rigid(4, 100));
  const int asked = stage.script->asked;
  ASSERT_TRUE(stage.tell(event::Believed{id, 150, 0, 0}));
  stage.close();
  EXPECT_EQ(stage.script->asked, asked);
  EXPECT_EQ(stage.state().power_mw(), 600'000);
}

TEST(Power, NodesThatBootAreExpectedWhenTheyAreReady) {
  Stage stage(
      {.platform = {.nodes = 8, .boot_time = whole_seconds(30)}, .can = {.power_control = true}});
  auto decisions = stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.power_off(9, kReason));
    EXPECT_TRUE(p.power_off(6, kReason));
    EXPECT_EQ(p.idle(), 2u);
    EXPECT_FALSE(p.power_on(1, kReason));  // decisions of one pass do not depend on each other
  });
  EXPECT_EQ(decisions[0].after, holding({{2, 7}}));
  const JobId id = stage.submit(rigid(4, 10));
  stage.at(10);
  decisions = stage.pass([&](Pass& p) {
    EXPECT_EQ(p.timeline().earliest(p.demand(id, 4), whole_seconds(10), p.now()), kNever);
    EXPECT_TRUE(p.power_on(3, kReason));
    EXPECT_EQ(p.timeline().earliest(p.demand(id, 4), whole_seconds(10), p.now()), at_s(40));
    EXPECT_FALSE(p.power_on(4, kReason));  // 3 are off; the others boot
  });
  EXPECT_EQ(decisions[0].after, holding({{2, 4}}));
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{2, 3}}), Health::up}));
  EXPECT_EQ(stage.state().boots.size(), 1u);
  ASSERT_TRUE(
      stage.tell(event::NodesChanged{nodes({{4, 4}}), Health::down}));  // it did not come up
  EXPECT_TRUE(stage.state().boots.empty());
  EXPECT_EQ(stage.idle(), 4u);
}

TEST(Power, OfIdleNodesThatDrainIsDrawn) {
  Stage stage({.platform = {.nodes = 4, .idle_w = 100, .busy_w = 300}});
  stage.tell(event::CorridorChanged{0, 900});
  const JobId job = stage.run(rigid(2, 100));
  const JobId waits = stage.submit(rigid(1, 100));
  const auto drawn = [&](std::uint32_t node, Health health) {
    EXPECT_TRUE(stage.tell(event::NodesChanged{nodes({{node, node}}), health}));
    return stage.state().power_mw() / 1000;
  };
  ASSERT_EQ(stage.state().power_mw(), 800'000);
  EXPECT_EQ(drawn(3, Health::draining), 800);
  EXPECT_FALSE(stage.state().fits_power(stage.job(waits), 1));
  EXPECT_EQ(drawn(3, Health::down), 700);
  EXPECT_TRUE(stage.state().fits_power(stage.job(waits), 1));
  EXPECT_EQ(drawn(3, Health::draining), 800);
  EXPECT_EQ(drawn(3, Health::off), 700);
  EXPECT_EQ(drawn(3, Health::up), 800);
  EXPECT_EQ(drawn(0, Health::draining), 800);
  EXPECT_EQ(drawn(1, Health::down), 800);  // as long as a job has it
  stage.tell(event::Ended{job, EndState::completed});
  EXPECT_EQ(stage.state().power_mw(), 300'000);
  EXPECT_EQ(drawn(0, Health::down), 200);
  EXPECT_EQ(drawn(1, Health::draining), 300);
}

// A claim that its policy gives up is no reason to stay on nodes that drain.
TEST(Claims, ThatAreWithdrawnLetTheirJobLeaveNodesThatDrain) {
  Stage stage;
  const JobId grows = stage.run(malleable({1, 8}, 4)), gives = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{gives, 2}};
    EXPECT_TRUE(p.resize(grows, 6, kReason, {cuts}));
  });
  stage.tell(event::NodesChanged{nodes({{3, 3}}), Health::draining});
  EXPECT_TRUE(resizes(stage.close()).empty());
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.withdraw(p.claims()[0].id, kReason)); });
  EXPECT_EQ(stage.core.next_wake(), stage.now + kTick);
  stage.now += kTick;
  ASSERT_TRUE(stage.tell(event::TimerFired{}));
  const auto left = resizes(stage.close());
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].after, holding({{0, 2}}));
}

// --- Groups
// -------------------------------------------------------------------------------------------

/// Two malleable jobs of 3 nodes, two that wait, and 2 idle nodes.
struct Pair {
  explicit Pair(const Stage::Setup& setup = {}) : stage(setup) {
    one = stage.run(malleable({1, 8}, 3));
    two = stage.run(malleable({1, 8}, 3));
    first = stage.submit(malleable({1, 8}, 3));
    second = stage.submit(malleable({1, 8}, 3));
  }
  /// Each of those that wait is to have 2 or 3 nodes, where 4 are given.
  bool carry_out() {
    bool done = false;
    stage.pass([&](Pass& p) {
      const Cut cuts[] = {{one, 1}, {two, 1}};
      const Gain gains[] = {{first, {2, 3}}, {second, {2, 3}}};
      done = p.carry_out(cuts, gains, kReason);
    });
    return done;
  }
  Stage stage;
  JobId one, two, first, second;
};

TEST(Groups, BecomeDecisionsTogether) {
  Pair pair;
  Stage& stage = pair.stage;
  ASSERT_TRUE(pair.carry_out());
  ASSERT_EQ(stage.state().claims.size(), 2u);
  // The least of each first: the first one has what idles.
  EXPECT_EQ(stage.state().claims[0].held.count, 2u);
  EXPECT_EQ(stage.state().claims[0].pledged(), 1u);
  EXPECT_EQ(stage.state().claims[1].pledged(), 3u);
  ASSERT_TRUE(stage.resized(pair.one));
  EXPECT_TRUE(starts(stage.close()).empty());
  ASSERT_TRUE(stage.resized(pair.two));
  const auto due = starts(stage.close());
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].after.count, 3u);
  EXPECT_EQ(due[1].after.count, 3u);
}

TEST(Groups, AreDissolvedTogether) {
  enum class How { refuses, ends, held, withdrawn, ordered };
  for (const How how : {How::refuses, How::ends, How::held, How::withdrawn, How::ordered}) {
    Pair pair;
    Stage& stage = pair.stage;
    ASSERT_TRUE(pair.carry_out());
    if (how != How::refuses) {
      ASSERT_TRUE(stage.resized(pair.one));
    }
    switch (how) {
      case How::refuses:
        stage.refused(pair.one);
        break;
      case How::ends:
        stage.ended(pair.first);
        break;
      case How::held:
        stage.tell(event::Eligible{pair.second, false});
        break;
      case How::withdrawn:
        stage.pass([&](Pass& p) { EXPECT_TRUE(p.withdraw(p.claims()[1].id, kReason)); });
        break;
      case How::ordered:
        stage.tell(event::SizeOrdered{pair.first, 2});
        break;
    }
    EXPECT_TRUE(starts(stage.close()).empty());
    EXPECT_TRUE(stage.state().claims.empty());
    EXPECT_EQ(stage.idle(), how == How::refuses ? 2u : 4u);
  }
}

TEST(Groups, AreDecidedAtOnceIfNothingHasToBeWaitedFor) {
  Stage stage;
  const JobId grows = stage.run(malleable({1, 8}, 2));
  const JobId first = stage.submit(malleable({1, 4}, 2)), second = stage.submit(rigid(2, 100));
  stage.pass([&](Pass& p) {
    const Gain gains[] = {{grows, {3, 8}}, {first, {2, 4}}, {second, exactly(2)}};
    EXPECT_TRUE(p.carry_out({}, gains, kReason));
    const Gain too_much[] = {{grows, {3, 8}}, {first, {2, 4}}};
    EXPECT_FALSE(p.carry_out({}, too_much, kReason));
  });
  EXPECT_TRUE(stage.state().claims.empty());
  EXPECT_EQ(stage.job(grows).size(), 4u);  // its least, and what the others do not need
  EXPECT_EQ(stage.job(first).size(), 2u);
  EXPECT_EQ(stage.job(second).size(), 2u);
}

TEST(Groups, NeedTheLeastOfEach) {
  Pair pair;
  pair.stage.pass([&](Pass& p) {
    const Cut cuts[] = {{pair.one, 2}, {pair.two, 2}};  // 4 nodes with those that idle
    const Gain large[] = {{pair.first, {2, 3}}, {pair.second, {3, 3}}};
    EXPECT_FALSE(p.carry_out(cuts, large, kReason));
    const Gain twice[] = {{pair.first, {2, 3}}, {pair.first, {2, 3}}};
    EXPECT_FALSE(p.carry_out(cuts, twice, kReason));
    const Gain himself[] = {{pair.first, {1, 3}}, {pair.one, {4, 4}}};
    EXPECT_FALSE(p.carry_out(cuts, himself, kReason));
    EXPECT_FALSE(p.carry_out(cuts, {}, kReason));
    EXPECT_EQ(p.job(pair.one).size(), 3u);
    const Gain gains[] = {{pair.first, {2, 3}}, {pair.second, {2, 3}}};
    EXPECT_TRUE(p.carry_out(cuts, gains, kReason));
  });
}

// H38 for all or none.
TEST(Groups, TakeIdleNodesIfAllAreDue) {
  Stage stage;
  const JobId one = stage.run(malleable({1, 8}, 4));
  const JobId ends = stage.run(rigid(1, 100)), other = stage.run(rigid(1, 100));
  const JobId first = stage.submit(rigid(2, 100)), second = stage.submit(rigid(2, 100));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{one, 2}};
    const Gain gains[] = {{first, exactly(2)}, {second, exactly(2)}};
    EXPECT_TRUE(p.carry_out(cuts, gains, kReason));
  });
  stage.ended(ends);
  EXPECT_TRUE(starts(stage.close()).empty());
  EXPECT_EQ(stage.idle(), 1u);
  stage.ended(other);
  EXPECT_EQ(starts(stage.close()).size(), 2u);
  EXPECT_EQ(stage.state().unanswered[0].pledged, 0u);
}

TEST(Groups, WaitForWhoIsCutAndOwesNothing) {
  Stage stage;
  const JobId one = stage.run(malleable({1, 8}, 4));
  const JobId first = stage.submit(rigid(1, 100)), second = stage.submit(rigid(1, 100));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{one, 2}};
    const Gain gains[] = {{first, exactly(1)}, {second, exactly(1)}};
    EXPECT_TRUE(p.carry_out(cuts, gains, {Why::corridor}));
  });
  EXPECT_TRUE(stage.state().claims[0].pledges[0].is_barrier());
  EXPECT_TRUE(starts(stage.close()).empty());
  stage.resized(one);
  EXPECT_EQ(starts(stage.close()).size(), 2u);
}

// A power corridor: a hot job shrinks, one grows, one starts; or nothing of it.
TEST(Groups, ShareOutPower) {
  for (const bool refuses : {false, true}) {
    Stage stage = powered_stage(600);
    const JobId heat = stage.run(malleable({1, 8}, 4));
    const JobId grows = stage.run(malleable({1, 8}, 2));
    const JobId starts_ = stage.submit(rigid(1, 100));
    stage.pass([&](Pass& p) {
      const Cut cuts[] = {{heat, 2}};
      const Gain both[] = {{grows, {4, 4}}, {starts_, exactly(1)}};
      EXPECT_FALSE(p.carry_out(cuts, both, {Why::corridor}));  // 2 nodes idle, but 300 W are needed
      const Gain gains[] = {{grows, {3, 8}}, {starts_, exactly(1)}};
      EXPECT_TRUE(p.carry_out(cuts, gains, {Why::corridor}));
    });
    ASSERT_TRUE(refuses ? stage.refused(heat) : stage.resized(heat));
    const auto due = stage.close();
    EXPECT_EQ(starts(due).size(), refuses ? 0u : 1u);
    EXPECT_EQ(resizes(due).size(), refuses ? 0u : 1u);
    EXPECT_TRUE(stage.state().claims.empty());
    EXPECT_EQ(free_w(stage), 0);
    EXPECT_EQ(stage.job(grows).size(), refuses ? 2u : 3u);
  }
}

// What one member does not need any more the other does not get.
TEST(Groups, MoveNothingBetweenTheirMembers) {
  Stage stage = powered_stage(400);
  const JobId heat = stage.run(malleable({1, 8}, 4));
  const JobId first = stage.submit(malleable({1, 8}, 1)),
              second = stage.submit(malleable({1, 8}, 1));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{heat, 2}};
    const Gain gains[] = {{first, {1, 1}}, {second, {1, 1}}};
    EXPECT_TRUE(p.carry_out(cuts, gains, kReason));
  });
  stage.tell(event::Believed{first, 50, -1, -1});
  stage.tell(event::Believed{second, 150, -1, -1});
  ASSERT_TRUE(stage.resized(heat));
  EXPECT_TRUE(starts(stage.close()).empty());
  EXPECT_TRUE(stage.state().claims.empty());
  EXPECT_EQ(free_w(stage), 200);
}

// Free power is for the least of all before it is for more of one.
TEST(Groups, HaveTheLeastOfEachFirstWhenTheyAreDue) {
  Stage stage = powered_stage(600);
  const JobId heat = stage.run(malleable({1, 8}, 4)), ends = stage.run(rigid(2, 100));
  const JobId first = stage.submit(malleable({1, 8}, 1)), second = stage.submit(rigid(1, 100));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{heat, 1}};
    const Gain gains[] = {{first, {1, 2}}, {second, exactly(1)}};
    EXPECT_TRUE(p.carry_out(cuts, gains, kReason));
  });
  stage.tell(event::Believed{first, 150, -1, -1});
  stage.tell(event::Believed{second, 150, -1, -1});
  stage.tell(event::CorridorChanged{0, 600});
  stage.ended(ends);
  stage.tell(event::CorridorChanged{0, 450});  // 50 W more than the claims hold in the end
  ASSERT_TRUE(stage.resized(heat));
  const auto due = starts(stage.close());
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].after.count, 1u);
}

TEST(Groups, OfOneAreWhatTheyAlwaysWere) {
  Stage stage;
  const JobId one = stage.run(malleable({1, 8}, 6)),
              evolves = stage.run(sized(JobType::evolving, {1, 8}, 1, 100));
  const JobId waits = stage.submit(rigid(2, 100));
  stage.tell(event::EvolvingRequested{RequestId{3}, evolves, 1, 0});
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{one, 4}};
    const Gain start[] = {{waits, exactly(2)}}, grant[] = {{.request = RequestId{3}}};
    EXPECT_TRUE(p.carry_out(cuts, start, kReason));
    EXPECT_TRUE(p.carry_out(cuts, grant, kReason, true));
  });
  ASSERT_EQ(stage.core.pen_calls().size(), 2u);
  EXPECT_EQ(stage.core.pen_calls()[0].verb, PenCall::Verb::start);
  EXPECT_EQ(stage.core.pen_calls()[1].verb, PenCall::Verb::grant);
  EXPECT_EQ(stage.state().claims[0].group, ClaimId::none);
}

// --- Ranges
// -------------------------------------------------------------------------------------------

TEST(Growth, GoesAsFarAsNodesAndPowerDo) {
  for (const double budget_w : {700, 450, 350, 250}) {
    Stage stage = powered_stage(budget_w);
    const JobId id = stage.run(malleable({1, 8}, 2));
    AdaptiveSpec powers;
    powers.constraint.kind = SizeConstraint::Kind::power_of_two;
    stage.pass([&](Pass& p) {
      EXPECT_FALSE(p.resize(id, {1, 8}, kReason));  // to what it has, or less
      EXPECT_FALSE(p.resize(id, {3, 9}, kReason));  // beyond its sizes
      EXPECT_EQ(p.resize(id, {3, 8}, kReason), budget_w > 250);
      EXPECT_FALSE(p.resize(id, {8, 8}, kReason));
    });
    EXPECT_EQ(stage.job(id).size(), static_cast<Nodes>(budget_w / 100));
  }
}

TEST(Growth, OfARangeKeepsToTheConstraint) {
  Stage stage;
  AdaptiveSpec powers;
  powers.constraint.kind = SizeConstraint::Kind::power_of_two;
  const JobId id = stage.run(malleable({1, 8}, 2), 2, powers);
  const JobId gives = stage.run(malleable({1, 8}, 3));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{gives, 1}};
    EXPECT_FALSE(p.resize(id, {5, 7}, kReason, {cuts}));
    EXPECT_TRUE(p.resize(id, {3, 8}, kReason, {cuts}));  // 4: there are no 8
  });
  EXPECT_EQ(stage.state().claims[0].held.count, 2u);
  EXPECT_EQ(stage.idle(), 1u);
  stage.resized(gives);
  EXPECT_EQ(resizes(stage.close())[0].after.count, 4u);
}

// --- Capabilities
// ------------------------------------------------------------------------------------

// H33
TEST(Capabilities, OneResizePerJob) {
  Stage stage({.can = {.resizes_per_job = 1}});
  const JobId id = stage.run(malleable({1, 8}, 4));
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 2, kReason)); });
  ASSERT_TRUE(stage.refused(id));  // a refusal uses nothing up
  stage.now += kTick;
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 2, kReason)); });
  ASSERT_TRUE(stage.resized(id));
  stage.now += kTick;
  ASSERT_TRUE(stage.tell(event::SizeOrdered{id, 4}));
  EXPECT_TRUE(resizes(stage.close([&](Pass& p) { EXPECT_FALSE(p.resizable(id)); })).empty());
  ASSERT_TRUE(stage.ended(id, true));  // another life, another resize
  stage.tell(event::SizeOrdered{id, 0});
  stage.at(1);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(4), kReason)); });
  stage.at(2);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resizable(id)); });
}

TEST(Capabilities, NoneAtAll) {
  Stage stage({.can = {.resizes_per_job = 0}});
  const JobId id = stage.run(sized(JobType::adaptive, {1, 8}, 4, 100));
  stage.tell(event::EvolvingRequested{RequestId{1}, id, 1, 0});
  EXPECT_FALSE(stage.tell(event::SizeOrdered{id, 2}));
  stage.close([&](Pass& p) {
    EXPECT_FALSE(p.resizable(id));
    EXPECT_FALSE(p.resize(id, 2, kReason));
    EXPECT_FALSE(p.grant(RequestId{1}, kReason));
    EXPECT_TRUE(p.deny(RequestId{1}, kReason));
    EXPECT_FALSE(p.power_off(1, kReason));
    EXPECT_FALSE(p.power_on(1, kReason));
  });
}

// --- Jobs that come and go
// ---------------------------------------------------------------------------

TEST(Jobs, HaveAtLeastOneNode) {
  Stage stage;
  const JobId job = stage.submit(malleable({0, 6}, 5));
  EXPECT_EQ(stage.job(job).spec.size, (SizeRange{1, 6}));
  const auto decisions = stage.close(
      [&](Pass& pass) { EXPECT_TRUE(pass.start(job, pass.job(job).spec.size, kReason)); });
  EXPECT_EQ(starts(decisions).size(), 1u);
}

TEST(Jobs, ThatCanNeverFitAreRejected) {
  Stage stage;
  const JobId large = stage.submit(rigid(9, 10));
  const JobId prefers = stage.submit(sized(JobType::moldable, {4, 20}, 16, 10));
  const JobId shrinks = stage.submit(sized(JobType::moldable, {4, 20}, 8, 10));
  const JobId outside = stage.submit(sized(JobType::moldable, {5, 7}, 4, 10));
  const auto rejected = of(Decision::Kind::reject, stage.close());
  ASSERT_EQ(rejected.size(), 3u);
  EXPECT_EQ(rejected[0].job, large);
  EXPECT_EQ(rejected[0].reason.why, Why::infeasible);
  EXPECT_EQ(rejected[1].job, prefers);
  EXPECT_EQ(rejected[2].job, outside);
  EXPECT_EQ(stage.job(shrinks).status, Status::pending);
  EXPECT_EQ(stage.job(shrinks).spec.size.max, 8u);
}

// Chadha, John and Gerndt 2020: a start size outside the constraint is legal, the next change moves
// into it.
TEST(Jobs, StartAtTheirPreferredSizeWhateverTheirConstraint) {
  Stage stage;
  AdaptiveSpec powers;
  powers.constraint.kind = SizeConstraint::Kind::power_of_two;
  const JobId job = stage.submit(malleable({1, 8}, 6), powers);
  const auto started = stage.close([&](Pass& pass) {
    EXPECT_TRUE(pass.start(job, {5, 7}, kReason));
  });
  ASSERT_EQ(starts(started).size(), 1u);
  EXPECT_EQ(starts(started)[0].after.count, 6u);
  stage.now += kTick;
  stage.close([&](Pass& pass) {
    EXPECT_FALSE(pass.resize(job, 7, kReason));
    EXPECT_TRUE(pass.resize(job, 4, kReason));
  });
}

TEST(Jobs, AreHeldAndReleased) {
  Stage stage;
  const JobId id = stage.submit(rigid(2, 10));
  const JobId other = stage.submit(rigid(2, 10));
  ASSERT_TRUE(stage.tell(event::Eligible{id, false}));
  EXPECT_FALSE(stage.tell(event::Eligible{id, false}));
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.first_pending(), other);
    EXPECT_FALSE(p.start(id, exactly(2), kReason));
  });
  ASSERT_TRUE(stage.tell(event::Eligible{id, true}));
  stage.close([&](Pass& p) { EXPECT_EQ(p.first_pending(), id); });
}

// H35: cancelling is the world's doing.
TEST(Jobs, AreCancelledInAnyState) {
  Stage stage(slow_starts());
  const JobId pending = stage.submit(rigid(2, 10));
  const JobId held = stage.submit(rigid(2, 10));
  const JobId starting = stage.submit(rigid(2, 10));
  stage.tell(event::Eligible{held, false});
  stage.close([&](Pass& p) { p.start(starting, exactly(2), kReason); });
  for (const JobId id : {pending, held, starting}) {
    ASSERT_TRUE(stage.tell(event::Ended{id, EndState::cancelled, false}));
    EXPECT_EQ(stage.job(id).status, Status::over);
    EXPECT_FALSE(stage.tell(event::Ended{id, EndState::cancelled, false}));
  }
  EXPECT_TRUE(stage.core.unanswered().empty());
  EXPECT_EQ(stage.idle(), 8u);
  EXPECT_FALSE(stage.tell(event::Ended{JobId{77}, EndState::cancelled, false}));
}

TEST(Jobs, ARequeuedJobKeepsItsPlace) {
  Stage stage;
  const JobId first = stage.submit(malleable({1, 8}, 4));
  const JobId second = stage.submit(rigid(8, 10));
  stage.close([&](Pass& p) { p.start(first, exactly(4), kReason); });
  stage.at(5);
  ASSERT_TRUE(stage.ended(first, true));
  EXPECT_EQ(stage.job(first).restarts, 1);
  EXPECT_EQ(stage.job(first).expands, 0);
  stage.close([&](Pass& p) {
    EXPECT_EQ(p.first_pending(), first);
    EXPECT_EQ(p.next_pending(first), second);
    EXPECT_FALSE(p.fits(first, 4));  // not in this instant
  });
  EXPECT_EQ(stage.core.next_wake(), at_s(5) + kTick);
}

// --- The table of cross-cutting events
// ---------------------------------------------------------------

/// A claim that holds one idle node and waits for three of a victim's five.
class CrossCutting : public ::testing::Test {
 protected:
  CrossCutting() {
    stage_.close([&](Pass& p) {
      const Cut cuts[] = {{victim_, 2}};
      EXPECT_TRUE(p.start(waits_, {3, 4}, {Why::shrunk_for, waits_}, {cuts}));
    });
  }
  const Claim& claim() { return stage_.state().claims[0]; }

  Stage stage_;
  const JobId victim_ = stage_.run(malleable({1, 8}, 5));    // 0-4, keeps 0-1
  const JobId other_ = stage_.run(malleable({1, 8}, 2));     // 5-6
  const JobId waits_ = stage_.submit(malleable({1, 8}, 4));  // 7
};

TEST_F(CrossCutting, ANodeOfAClaimFails) {
  stage_.tell(event::NodesChanged{nodes({{7, 7}}), Health::down});
  EXPECT_EQ(claim().held.count, 0u);
  EXPECT_EQ(stage_.state().out_of_service, 1u);
  stage_.close();
  ASSERT_EQ(stage_.state().claims.size(), 1u);  // 3 are still to come
  stage_.resized(victim_);
  EXPECT_EQ(starts(stage_.close())[0].after.count, 3u);
}

TEST_F(CrossCutting, AClaimBelowItsMinimumDissolves) {
  stage_.tell(event::NodesChanged{nodes({{7, 7}}), Health::down});
  stage_.tell(event::NodesChanged{nodes({{3, 3}}), Health::draining});
  EXPECT_EQ(claim().pledged(), 2u);
  stage_.close();
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.state().incoming(), 2u);
}

TEST_F(CrossCutting, AnIdleNodeFails) {
  stage_.ended(other_);
  stage_.tell(event::NodesChanged{nodes({{5, 5}}), Health::down});
  EXPECT_EQ(stage_.idle(), 1u);
  EXPECT_EQ(stage_.state().out_of_service, 1u);
}

TEST_F(CrossCutting, ANodeThatIsBeingReleasedFails) {
  stage_.tell(event::NodesChanged{nodes({{4, 4}}), Health::down});
  EXPECT_EQ(claim().pledged(), 2u);  // it feeds no claim
  stage_.resized(victim_);
  EXPECT_EQ(stage_.state().out_of_service, 1u);
  EXPECT_EQ(claim().held, holding({{2, 3}, {7, 7}}));
  EXPECT_EQ(starts(stage_.close())[0].after.count, 3u);
}

TEST_F(CrossCutting, ANodeThatFailsWhileItIsReleasedReturnsHealthy) {
  stage_.tell(event::NodesChanged{nodes({{4, 4}}), Health::draining});
  stage_.tell(event::NodesChanged{nodes({{4, 4}}), Health::up});
  EXPECT_EQ(claim().pledged(), 2u);  // what was given up is not promised again
  EXPECT_EQ(stage_.state().incoming(), 1u);
  stage_.resized(victim_);
  EXPECT_EQ(stage_.idle(), 1u);
}

TEST_F(CrossCutting, ANodeOfAJobFails) {
  stage_.tell(event::NodesChanged{nodes({{5, 5}}), Health::down});
  EXPECT_EQ(stage_.job(other_).holding.count, 2u);  // only marked
  // It survives with fewer nodes, below what our decisions would leave it.
  ASSERT_TRUE(stage_.tell(event::Resized{other_, DecisionId::none, holding({{6, 6}}), {}}));
  EXPECT_EQ(stage_.state().out_of_service, 1u);
  EXPECT_EQ(stage_.job(other_).size(), 1u);
}

TEST_F(CrossCutting, ANodeThatIsBeingAddedFails) {
  stage_.ended(victim_);
  stage_.close();
  stage_.now += kTick;
  const Holding before = stage_.job(other_).holding;
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(other_, 4, {})); });
  const NodeSet added = difference(stage_.job(other_).holding.nodes, before.nodes);
  stage_.tell(event::NodesChanged{added, Health::down});
  ASSERT_TRUE(stage_.resized(other_, before));  // the world aborts the growth
  EXPECT_EQ(stage_.job(other_).holding, before);
  EXPECT_EQ(stage_.state().out_of_service, 2u);
}

TEST_F(CrossCutting, ANodeDrains) {
  stage_.tell(event::NodesChanged{nodes({{5, 5}, {7, 7}}), Health::draining});
  EXPECT_EQ(claim().held.count, 0u);                // claims lose it
  EXPECT_EQ(stage_.job(other_).holding.count, 2u);  // jobs keep it
  const auto decisions = stage_.close([&](Pass& p) { EXPECT_FALSE(p.resize(other_, 1, {})); });
  EXPECT_EQ(resizes(decisions)[0].after, holding({{6, 6}}));  // and leave it if they can
  EXPECT_EQ(resizes(decisions)[0].reason.why, Why::draining);
}

TEST_F(CrossCutting, AVictimIsKilledDuringItsShrink) {
  const DecisionId shrink = stage_.job(victim_).decision;
  ASSERT_TRUE(stage_.tell(event::Ended{victim_, EndState::timeout, false}));
  const auto due = starts(stage_.close());
  ASSERT_EQ(due.size(), 1u);  // fed from all its nodes
  EXPECT_EQ(due[0].after.count, 4u);
  EXPECT_EQ(stage_.idle(), 2u);
  EXPECT_FALSE(stage_.tell(event::Resized{victim_, shrink, holding({{0, 1}}), {}}));
}

TEST_F(CrossCutting, AJobIsKilledDuringItsGrowth) {
  stage_.ended(victim_);
  stage_.close();
  stage_.now += kTick;
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(other_, 4, {})); });
  EXPECT_EQ(stage_.idle(), 0u);
  ASSERT_TRUE(stage_.tell(event::Ended{other_, EndState::timeout, false}));
  EXPECT_EQ(stage_.idle(), 4u);
  EXPECT_TRUE(stage_.core.unanswered().empty());
}

TEST_F(CrossCutting, TheBeneficiaryIsCancelled) {
  ASSERT_TRUE(stage_.tell(event::Ended{waits_, EndState::cancelled, false}));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.idle(), 1u);
  EXPECT_EQ(stage_.state().incoming(), 3u);
  ASSERT_TRUE(stage_.resized(victim_));  // the shrink goes on
  EXPECT_EQ(stage_.idle(), 4u);
}

TEST_F(CrossCutting, TheBeneficiaryIsHeld) {
  ASSERT_TRUE(stage_.tell(event::Eligible{waits_, false}));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.state().queue.size(), 0u);
}

TEST_F(CrossCutting, AGrowingBeneficiaryEnds) {
  stage_.pass([&](Pass& p) {
    const ClaimId id = p.claims()[0].id;
    EXPECT_TRUE(p.withdraw(id, {}));
    EXPECT_TRUE(p.resize(other_, 5, {}, {.incoming = true}));
  });
  EXPECT_EQ(claim().job, other_);
  ASSERT_TRUE(stage_.ended(other_));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.state().incoming(), 3u);
  EXPECT_EQ(stage_.idle(), 3u);
}

TEST_F(CrossCutting, AnOrderForAPlainJob) {
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{other_, 1}));
  EXPECT_EQ(resizes(stage_.close())[0].job, other_);
}

TEST_F(CrossCutting, AnOrderForAJobWithAClaim) {
  stage_.pass([&](Pass& p) {
    EXPECT_TRUE(p.withdraw(p.claims()[0].id, {}));
    EXPECT_TRUE(p.resize(other_, 5, {}, {.incoming = true}));
  });
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{other_, 1}));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(resizes(stage_.close())[0].after.count, 1u);
}

TEST_F(CrossCutting, AnOrderForAVictimComesAfterItsAnswer) {
  ASSERT_TRUE(stage_.tell(event::SizeOrdered{victim_, 1}));
  EXPECT_TRUE(resizes(stage_.close()).empty());
  ASSERT_TRUE(stage_.resized(victim_));
  EXPECT_EQ(starts(stage_.close())[0].job, waits_);
  stage_.now += kTick;
  EXPECT_EQ(resizes(stage_.close())[0].after.count, 1u);
}

TEST_F(CrossCutting, ARestartAsksForWhatIsUnanswered) {
  const auto open = stage_.core.unanswered();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].job, victim_);
  EXPECT_EQ(open[0].after.count, 2u);
}

TEST_F(CrossCutting, ACopyGoesItsOwnWay) {
  Core copy = stage_.core;
  ASSERT_TRUE(copy.apply(stage_.now, event::Ended{victim_, EndState::completed, false}));
  EXPECT_EQ(copy.close(stage_.now, *stage_.script).size(), 1u);
  EXPECT_EQ(stage_.state().claims.size(), 1u);
  EXPECT_EQ(stage_.job(victim_).status, Status::running);
}

// --- Jobs that are altered
// -----------------------------------------------------------------------------------------

TEST(Altered, AWaitingJobHasAnotherPlaceAndSize) {
  Stage stage;
  const JobId first = stage.submit(rigid(4, 100)), second = stage.submit(rigid(2, 100));
  ASSERT_TRUE(stage.tell(event::Altered{first, -1, whole_seconds(50), exactly(3), 3}));
  const auto decisions = stage.close([&](Pass& p) {
    EXPECT_EQ(p.first_pending(), second);
    EXPECT_EQ(p.job(first).spec.walltime, whole_seconds(50));
    EXPECT_TRUE(p.start(first, exactly(3), kReason));
  });
  EXPECT_EQ(starts(decisions).size(), 1u);
  EXPECT_EQ(stage.job(first).limit, at_s(50));
}

TEST(Altered, WhatWasPlannedForItIsNoMore) {
  Stage stage;
  const JobId id = stage.submit(rigid(4, 100));
  stage.close([&](Pass& p) { EXPECT_TRUE(p.reserve(id, at_s(50), kReason)); });
  ASSERT_EQ(stage.job(id).reserved, at_s(50));
  ASSERT_TRUE(stage.tell(event::Altered{id, 0, whole_seconds(100), exactly(2), 2}));
  EXPECT_EQ(stage.job(id).reserved, kNever);
}

TEST(Altered, AHeldJobStaysHeld) {
  Stage stage;
  const JobId id = stage.submit(malleable({1, 8}, 4, 100));
  ASSERT_TRUE(stage.tell(event::Eligible{id, false}));
  ASSERT_TRUE(stage.tell(event::Altered{id, 7, whole_seconds(100), {2, 1000}, 5}));
  EXPECT_EQ(stage.job(id).status, Status::held);
  EXPECT_EQ(stage.job(id).spec.size, (SizeRange{2, 8}));  // as large as the machine
  EXPECT_EQ(stage.job(id).spec.preferred, 5u);
  ASSERT_TRUE(stage.tell(event::Eligible{id, true}));
  EXPECT_EQ(stage.core.state().queue.front(), id);
}

TEST(Altered, AnotherOnePaysAndAnotherThingIsBelievedOfIt) {
  Stage stage;
  JobSpec spec = malleable({1, 8}, 4, 100);
  spec.account = 3;
  const JobId id = stage.submit(spec, AdaptiveSpec{});
  ASSERT_TRUE(stage.tell(event::Believed{id, 0, 0.5, 0.7, parse_speedup("amdahl:0.5")}));
  event::Altered altered{id, 0, whole_seconds(100), {1, 8}, 4};
  ASSERT_TRUE(stage.tell(altered));
  const auto row = [&] { return stage.core.state().adaptive.at(stage.job(id).adaptive); };
  EXPECT_EQ(stage.job(id).spec.account, 3u);
  EXPECT_EQ(row().mtct, 0.5);
  altered.account = 4;
  altered.adaptive.emplace().constraint = parse_constraint("even");
  altered.adaptive->watts_per_node = 250;
  ASSERT_TRUE(stage.tell(altered));
  EXPECT_EQ(stage.job(id).spec.account, 4u);
  EXPECT_EQ(row().spec, *altered.adaptive);
  EXPECT_EQ(row().mtct, 0);
  EXPECT_EQ(row().rate, 1);
  EXPECT_EQ(stage.job(id).power_mw, 250'000u);
  // A rigid job has no model.
  const JobId other = stage.submit(rigid(2, 100));
  EXPECT_FALSE(stage.tell(
      event::Altered{other, 0, whole_seconds(9), exactly(2), 2, std::nullopt, AdaptiveSpec{}}));
}

TEST(Altered, WhatCannotBeChangesNothing) {
  Stage stage;
  const JobId job = stage.submit(rigid(2, 100)), runs = stage.submit(rigid(2, 100));
  stage.close([&](Pass& p) { EXPECT_TRUE(p.start(runs, exactly(2), kReason)); });
  EXPECT_FALSE(stage.tell(event::Altered{runs, 0, whole_seconds(9), exactly(2), 2}));
  EXPECT_FALSE(stage.tell(event::Altered{job, 0, whole_seconds(9), exactly(9), 9}));
  EXPECT_FALSE(stage.tell(event::Altered{job, 0, whole_seconds(9), {1, 4}, 2}));  // it is rigid
  EXPECT_FALSE(stage.tell(event::Altered{JobId{77}, 0, whole_seconds(9), exactly(1), 1}));
  EXPECT_EQ(stage.job(job).spec.preferred, 2u);
  EXPECT_EQ(stage.job(job).spec.walltime, whole_seconds(100));
}

// --- Another machine
// -----------------------------------------------------------------------------------------

TEST(Machine, NewNodesAreIdleAndWakeThePolicy) {
  Stage stage;
  stage.script->traits.wakes = 0;
  const JobId runs = stage.run(malleable({1, 8}, 5));
  const JobId waits = stage.submit(rigid(6, 100));
  stage.close();
  ASSERT_TRUE(stage.tell(event::MachineChanged{{.nodes = 12, .cores_per_node = 2}, {}}));
  EXPECT_EQ(stage.idle(), 7u);
  EXPECT_EQ(stage.job(runs).size(), 5u);
  const auto decisions =
      stage.close([&](Pass& p) { EXPECT_TRUE(p.start(waits, exactly(6), kReason)); });
  ASSERT_EQ(starts(decisions).size(), 1u);
  EXPECT_EQ(decisions[0].after.nodes, nodes({{5, 10}}));
  EXPECT_EQ(stage.submit(rigid(12, 10)), JobId{2});
  EXPECT_EQ(stage.job(JobId{2}).status, Status::pending);
}

TEST(Machine, ANumberIsOneNodesForGood) {
  Stage stage;
  EXPECT_FALSE(stage.tell(event::MachineChanged{{.nodes = 7, .cores_per_node = 4}, {}}));
  EXPECT_FALSE(stage.tell(event::MachineChanged{stage.state().platform, {}}));
  EXPECT_EQ(stage.idle(), 8u);
}

TEST(Machine, WhatIsUnderWayGoesOn) {
  Stage stage(slow_starts());
  const JobId first = stage.run(malleable({1, 8}, 6));
  const JobId second = stage.submit(rigid(6, 100));
  const Cut cuts[] = {{first, 2}};
  stage.close([&](Pass& p) { EXPECT_TRUE(p.start(second, exactly(6), kReason, {cuts})); });
  ASSERT_EQ(stage.state().claims.size(), 1u);
  ASSERT_TRUE(
      stage.tell(event::MachineChanged{{.nodes = 9, .cores_per_node = 4}, slow_starts().can}));
  EXPECT_EQ(stage.state().claims.size(), 1u);
  EXPECT_TRUE(stage.resized(first));
  stage.close();
  ASSERT_TRUE(stage.started(second));
  EXPECT_EQ(stage.job(second).size(), 6u);
}

/// Of those that do not say it themselves, and of which it was not measured.
TEST(Machine, JobsDrawWhatTheNewNodesDraw) {
  Stage::Setup setup;
  setup.platform = {.nodes = 8, .cores_per_node = 4, .idle_w = 100, .busy_w = 200};
  Stage stage(setup);
  ASSERT_TRUE(stage.tell(event::CorridorChanged{0, 1200}));
  const JobId says = stage.run(malleable({1, 8}, 2), 2, AdaptiveSpec{.watts_per_node = 200});
  const JobId not_says = stage.run(rigid(2, 100));
  const JobId waits = stage.submit(rigid(3, 100));
  stage.pass([&](Pass& p) { EXPECT_FALSE(p.start(waits, exactly(3), kReason)); });
  const Platform other{.nodes = 8, .cores_per_node = 4, .idle_w = 50, .busy_w = 150};
  ASSERT_TRUE(stage.tell(event::MachineChanged{other, {}}));
  EXPECT_EQ(stage.job(says).power_mw, 200'000u);
  EXPECT_EQ(stage.job(not_says).power_mw, 150'000u);
  EXPECT_EQ(stage.state().power_mw(), 4 * 50'000 + 2 * 200'000 + 2 * 150'000);
  EXPECT_EQ(stage.close([&](Pass& p) { p.start(waits, exactly(3), kReason); }).size(), 1u);
}

/// Nodes 0 to 3 and 4 to 7, of these speeds.
Platform of_speeds(double first, double second) {
  Platform machine{.nodes = 8, .cores_per_node = 4};
  machine.classes = {{.name = "a", .nodes = nodes({{0, 3}}), .has = {.cores = 4}, .speed = first},
                     {.name = "b", .nodes = nodes({{4, 7}}), .has = {.cores = 4}, .speed = second}};
  return machine;
}

/// What is left of it: of rigid jobs time, of others work. Those on other nodes keep theirs.
TEST(Machine, LimitsFollowTheSpeedOfTheNodes) {
  Stage stage({.platform = of_speeds(1, 1)});
  const JobId here = stage.run(rigid(4, 100));
  const JobId there = stage.run(rigid(2, 100));
  const JobId grows = stage.run(malleable({1, 4}, 2, 100));
  ASSERT_EQ(stage.job(grows).holding.nodes, nodes({{6, 7}}));
  const Time limit_here = stage.job(here).limit;
  stage.at(50);
  ASSERT_TRUE(stage.tell(event::MachineChanged{of_speeds(1, 0.5), {}}));
  EXPECT_EQ(stage.job(here).limit, limit_here);
  for (const JobId id : {there, grows}) {
    const Duration had = stage.now - stage.job(id).started;
    EXPECT_EQ(stage.job(id).limit, stage.now + 2 * (whole_seconds(100) - had));
  }
  int limits = 0;
  for (const Decision& decision : stage.close()) {
    if (decision.kind != Decision::Kind::set_limit) continue;
    EXPECT_EQ(decision.limit, stage.job(decision.job).limit);
    ++limits;
  }
  EXPECT_EQ(limits, 2);
  // And back, to the microsecond.
  ASSERT_TRUE(stage.tell(event::MachineChanged{of_speeds(1, 1), {}}));
  EXPECT_EQ(stage.job(there).limit, stage.job(there).started + whole_seconds(100));
}

TEST(Machine, FixedLimitsStay) {
  Stage::Setup setup{.platform = of_speeds(1, 1)};
  setup.rules.limit = Rules::Limit::fixed;
  Stage stage(setup);
  const JobId job = stage.run(rigid(8, 100));
  const Time limit = stage.job(job).limit;
  ASSERT_TRUE(stage.tell(event::MachineChanged{of_speeds(2, 0.5), {}}));
  EXPECT_EQ(stage.job(job).limit, limit);
}

/// Nodes 0 to 3 draw 100 W idle and 300 busy, 4 to 7 50 and 450.
Platform of_watts() {
  Platform machine{.nodes = 8, .cores_per_node = 4, .idle_w = 100, .busy_w = 300};
  machine.classes = {{.name = "a", .nodes = nodes({{0, 3}}), .has = {.cores = 4}},
                     {.name = "b", .nodes = nodes({{4, 7}}), .has = {.cores = 4}, .speed = 0.5}};
  machine.classes[0].idle_w = 100, machine.classes[0].busy_w = 300;
  machine.classes[1].idle_w = 50, machine.classes[1].busy_w = 450;
  return machine;
}

// Said watts are those of the first class: 200 above idle there are 400 on the second.
TEST(Power, IsThatOfTheClassesOfNodes) {
  Stage stage({.platform = of_watts()});
  ASSERT_TRUE(stage.tell(event::CorridorChanged{0, 5000}));
  const State& state = stage.state();
  EXPECT_EQ(state.power_mw(), 4 * 100'000 + 4 * 50'000);
  const JobId job = stage.submit(rigid(6, 100));
  // What is asked is that of the dearest.
  EXPECT_EQ(state.start_need(stage.job(job)).power, Queue::Need::units(6 * 400'000));
  stage.pass([&](Pass& p) { ASSERT_TRUE(p.start(job, exactly(6), {Why::in_order})); });
  ASSERT_EQ(stage.job(job).holding.nodes, nodes({{0, 5}}));
  EXPECT_EQ(state.jobs_mw, 4 * 200'000 + 2 * 400'000);
  EXPECT_EQ(state.free_power_mw(), 5'000'000 - 600'000 - 1'600'000);
  // Measured on the slowest that it has: 450 - 50 are 400, which are 200 on the first class.
  ASSERT_TRUE(stage.tell(event::Believed{.job = job, .watts_per_node = 250}));
  EXPECT_EQ(stage.job(job).power_class, 1);
  EXPECT_EQ(state.jobs_mw, 2 * 200'000 + 4 * 100'000);
  EXPECT_EQ(load(save(state)).jobs_mw, state.jobs_mw);
  // A node that is down draws nothing.
  ASSERT_TRUE(stage.tell(event::NodesChanged{nodes({{7, 7}}), Health::down}));
  EXPECT_EQ(state.power_mw(), 4 * 100'000 + 3 * 50'000 + state.jobs_mw);
  // The classes have other places.
  Platform other = of_watts();
  std::swap(other.classes[0], other.classes[1]);
  other.idle_w = 50, other.busy_w = 450;
  const std::int64_t before = state.power_mw();
  ASSERT_TRUE(stage.tell(event::MachineChanged{other, {}}));
  EXPECT_EQ(stage.job(job).power_class, 0);
  EXPECT_EQ(state.power_mw(), before);
}

// Where a class differs in nothing what is believed is not scaled.
TEST(Power, OfAClassThatSaysNothingIsNotScaled) {
  Platform machine = of_watts();
  machine.classes[1].idle_w = machine.classes[1].busy_w = 0;
  Stage stage({.platform = machine});
  ASSERT_TRUE(stage.tell(event::CorridorChanged{0, 5000}));
  const JobId job = stage.run(rigid(6, 100));
  EXPECT_EQ(stage.state().jobs_mw, 6 * 200'000) << index(job);
}

TEST(Machine, WithoutWhatItNeedsThePolicyIsNotAsked) {
  Stage stage;
  stage.script->traits.needs.resizes_per_job = 1;
  const JobId runs = stage.run(malleable({1, 8}, 4));
  Capabilities none;
  none.resizes_per_job = 0;
  ASSERT_TRUE(stage.tell(event::MachineChanged{stage.state().platform, none}));
  EXPECT_EQ(stage.core.lacks(), "resizes: 0 of a job, not 1");
  const JobId waits = stage.submit(rigid(1, 100));
  const int asked = stage.script->asked;
  const auto start = [&](Pass& p) { EXPECT_TRUE(p.start(waits, exactly(1), kReason)); };
  EXPECT_TRUE(stage.close(start).empty());
  EXPECT_EQ(stage.script->asked, asked);
  EXPECT_FALSE(stage.tell(event::ConfigChanged{stage.script->traits}));
  // It can again, or another policy does without: asked at once.
  Core other = stage.core;
  ASSERT_TRUE(other.apply(stage.now, event::ConfigChanged{{}}));
  stage.script->write = start;
  EXPECT_EQ(other.close(stage.now, *stage.script).size(), 1u);
  ASSERT_TRUE(stage.tell(event::MachineChanged{stage.state().platform, {}}));
  EXPECT_EQ(stage.close(start).size(), 1u);
  EXPECT_EQ(stage.job(runs).size(), 4u);
}

TEST(Machine, AClaimToGrowIsDissolvedWhereNothingCanBeResizedAnyMore) {
  Stage stage;
  const JobId first = stage.run(malleable({1, 8}, 4)), second = stage.run(malleable({1, 8}, 4));
  const Cut cuts[] = {{second, 2}};
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(first, 6, kReason, {cuts})); });
  ASSERT_EQ(stage.state().claims.size(), 1u);
  Capabilities none;
  none.resizes_per_job = 0;
  ASSERT_TRUE(stage.tell(event::MachineChanged{stage.state().platform, none}));
  ASSERT_TRUE(stage.resized(second));
  EXPECT_TRUE(resizes(stage.close()).empty());
  EXPECT_TRUE(stage.state().claims.empty());
  EXPECT_EQ(stage.job(first).size(), 4u);
  EXPECT_EQ(stage.idle(), 2u);
}

// --- Stops
// -----------------------------------------------------------------------------------------

class Stops : public ::testing::Test {
 protected:
  static Stage::Setup setup(Suspends suspends = Suspends::all) {
    Stage::Setup setup;
    setup.can.suspends = suspends;
    return setup;
  }
  bool suspended(JobId id, Duration paused = {}) {
    return stage_.tell(event::Suspended{id, stage_.job(id).decision, paused});
  }
  std::vector<Decision> stop(JobId id, Stop how) {
    return stage_.pass([&](Pass& p) { EXPECT_TRUE(p.stop(id, how, kReason)); });
  }
  /// Starts it, and says when it is believed to end.
  Time starts_again(JobId id, Nodes n) {
    stage_.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(n), kReason)); });
    return stage_.job(id).limit;
  }

  Stage stage_{setup()};
};

TEST_F(Stops, ASuspendedJobGoesOnWithWhatIsLeftAtAnySize) {
  const JobId id = stage_.run(malleable({1, 8}, 4, 100));
  stage_.now = at_s(40);
  const auto decisions = stop(id, Stop::suspend);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].kind, Decision::Kind::suspend);
  EXPECT_EQ(decisions[0].after, Holding{});
  EXPECT_EQ(stage_.core.unanswered(), decisions);
  EXPECT_EQ(stage_.job(id).holding.count, 4u);  // until it has answered
  EXPECT_EQ(stage_.idle(), 4u);
  ASSERT_TRUE(suspended(id));
  EXPECT_FALSE(suspended(id));  // once
  EXPECT_EQ(stage_.job(id).status, Status::pending);
  EXPECT_EQ(stage_.idle(), 8u);
  EXPECT_EQ(stage_.job(id).restarts, 0u);
  EXPECT_EQ(stage_.job(id).work_left, 4 * Work{60'000'000});
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(60));
  EXPECT_EQ(stage_.state().estimate(stage_.job(id), 8), whole_seconds(30));
  stage_.at(50);
  EXPECT_EQ(starts_again(id, 2), at_s(170));
  stage_.at(60);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.job(id).work_left, 4 * Work{55'000'000});
  stage_.at(70);
  EXPECT_EQ(starts_again(id, 1), at_s(70 + 220));
}

TEST_F(Stops, ARequeuedJobBeginsAnew) {
  const JobId id = stage_.run(malleable({1, 8}, 4, 100));
  stage_.at(10);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  stage_.at(20);
  starts_again(id, 4);
  stage_.at(30);
  EXPECT_EQ(stop(id, Stop::requeue).at(0).kind, Decision::Kind::requeue);
  EXPECT_FALSE(suspended(id));  // that was not asked
  ASSERT_TRUE(stage_.ended(id, true));
  EXPECT_EQ(stage_.job(id).restarts, 1u);
  EXPECT_FALSE(stage_.job(id).goes_on);
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(100));
  stage_.at(40);
  EXPECT_EQ(starts_again(id, 4), at_s(140));
}

TEST_F(Stops, ACancelledJobIsOver) {
  const JobId id = stage_.run(rigid(4, 100));
  EXPECT_EQ(stop(id, Stop::cancel).at(0).kind, Decision::Kind::cancel);
  ASSERT_TRUE(stage_.ended(id));
  EXPECT_EQ(stage_.idle(), 8u);
  EXPECT_TRUE(stage_.core.unanswered().empty());
}

TEST_F(Stops, ARigidJobNeedsTheTimeThatIsLeft) {
  const JobId id = stage_.run(rigid(4, 100));
  stage_.now = at_s(30);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(70));
  stage_.now = at_s(50);
  EXPECT_EQ(starts_again(id, 4), at_s(120));
  stage_.now = at_s(60);
  ASSERT_TRUE(stage_.tell(event::Believed{id, 0, 0, 0, std::nullopt, whole_seconds(150)}));
  EXPECT_EQ(stage_.job(id).limit, at_s(170));
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(110));
  // One that has outlived what was believed needs something all the same.
  const JobId late = stage_.run(rigid(2, 10));
  stage_.at(500);
  stop(late, Stop::suspend);
  ASSERT_TRUE(suspended(late));
  EXPECT_EQ(stage_.state().start_need(stage_.job(late)).walltime, whole_seconds(1));
}

TEST_F(Stops, ALimitOfAnySizeIsTimeThatIsLeft) {
  const AdaptiveSpec any_size{.walltime_for = WalltimeFor::any_size};
  const JobId id = stage_.run(malleable({1, 8}, 4, 100), 8, any_size);
  stage_.now = at_s(30);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.state().estimate(stage_.job(id), 8), whole_seconds(70));
  stage_.at(40);
  EXPECT_EQ(starts_again(id, 2), at_s(110));
}

TEST_F(Stops, APauseBeforeItIsNoProgress) {
  const JobId id = stage_.run(malleable({1, 8}, 4, 100));
  stage_.now = at_s(40);
  stop(id, Stop::suspend);
  stage_.now = at_s(45);
  ASSERT_TRUE(suspended(id, whole_seconds(7)));  // not longer than since it was told
  EXPECT_EQ(stage_.job(id).work_left, 4 * Work{60'000'000});
}

TEST_F(Stops, WhatIsBelievedOfOneThatWaitsChangesWhatIsLeft) {
  const JobId id = stage_.run(malleable({1, 8}, 4, 100), 4, AdaptiveSpec{});
  stage_.now = at_s(40);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  const auto left = [&] { return stage_.state().start_need(stage_.job(id)).walltime; };
  ASSERT_TRUE(stage_.tell(event::Believed{id, 0, 0, 0, std::nullopt, whole_seconds(150)}));
  EXPECT_EQ(left(), whole_seconds(110));
  ASSERT_TRUE(stage_.tell(event::Altered{id, 0, whole_seconds(120), {1, 8}, 4}));
  EXPECT_EQ(left(), whole_seconds(80));
  ASSERT_TRUE(stage_.tell(event::Altered{id, 0, whole_seconds(110), {1, 8}, 2}));
  EXPECT_EQ(left(), whole_seconds(70));
  ASSERT_TRUE(stage_.tell(event::Altered{id, 0, whole_seconds(1), {1, 8}, 2}));
  EXPECT_EQ(left(), kTick);
}

TEST_F(Stops, AModelThatIsLearnedLaterTellsWhatWasDone) {
  const JobId id = stage_.run(malleable({1, 8}, 4, 100), 8, AdaptiveSpec{});
  stage_.now = at_s(10);
  stop(id, Stop::suspend);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(80));
  const Speedup none = parse_speedup("amdahl:1");  // as fast at any size
  ASSERT_TRUE(stage_.tell(event::Believed{id, 0, 0, 0, none}));
  EXPECT_EQ(stage_.state().start_need(stage_.job(id)).walltime, whole_seconds(90));
  stage_.now = at_s(20);
  starts_again(id, 2);
  stage_.now = at_s(40);
  ASSERT_TRUE(stage_.tell(event::Believed{id, 0, 0, 0, parse_speedup("linear")}));
  EXPECT_EQ(stage_.state().work_left(stage_.job(id)),
            4 * Work{100'000'000} - 8 * Work{10'000'000} - 2 * Work{20'000'000});
}

TEST_F(Stops, AStartThatFailsLosesNothing) {
  Stage::Setup slow = setup();
  slow.can.instant_start = false;
  Stage stage(slow);
  const JobId id = stage.run(malleable({1, 8}, 4, 100));
  stage.now = at_s(40);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.stop(id, Stop::suspend, kReason)); });
  ASSERT_TRUE(stage.tell(event::Suspended{id, stage.job(id).decision}));
  const Work left = stage.job(id).work_left;
  stage.at(50);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(2), kReason)); });
  stage.at(55);
  ASSERT_TRUE(stage.tell(event::StartFailed{id, stage.job(id).decision, at_s(60)}));
  EXPECT_EQ(stage.job(id).work_left, left);
  stage.at(60);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(4), kReason)); });
  stage.at(70);
  ASSERT_TRUE(stage.started(id));
  EXPECT_EQ(stage.job(id).limit, at_s(70) + time_for({}, 4, 4, left));
}

TEST_F(Stops, OneThatWasNearlyDoneGoesOnAfterAStartThatFails) {
  Stage::Setup slow = setup();
  slow.can.instant_start = false;
  Stage stage(slow);
  const JobId id = stage.run(malleable({1, 8}, 4, 100));
  stage.now = at_s(40);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.stop(id, Stop::suspend, kReason)); });
  ASSERT_TRUE(stage.tell(event::Suspended{id, stage.job(id).decision}));
  stage.at(50);
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.start(id, exactly(2), kReason)); });
  stage.now = at_s(55);
  event::Believed shorter{.job = id};
  shorter.walltime = whole_seconds(30);  // of which 40 are done
  ASSERT_TRUE(stage.tell(shorter));
  ASSERT_TRUE(stage.tell(event::StartFailed{id, stage.job(id).decision, at_s(60)}));
  EXPECT_EQ(stage.job(id).work_left, least_work(stage.job(id).spec));
}

TEST_F(Stops, OneThatRefusesGoesOnAndIsLeftAlone) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  stop(id, Stop::suspend);
  ASSERT_TRUE(stage_.refused(id, at_s(30)));
  EXPECT_EQ(stage_.job(id).size(), 4u);
  EXPECT_EQ(stage_.job(id).doing, Doing::nothing);
  stage_.close([&](Pass& p) {
    EXPECT_FALSE(p.stop(id, Stop::suspend, kReason));
    EXPECT_FALSE(p.stop(id, Stop::cancel, kReason));
  });
  stage_.at(30);
  stop(id, Stop::suspend);
  // It may lose nodes instead.
  ASSERT_TRUE(stage_.resized(id, holding({{0, 1}})));
  EXPECT_EQ(stage_.job(id).size(), 2u);
  EXPECT_EQ(stage_.idle(), 6u);
}

TEST_F(Stops, WhoWaitsForItsNodesGetsThem) {
  const JobId id = stage_.run(malleable({1, 8}, 6));
  const JobId next = stage_.submit(rigid(7, 50));
  stage_.pass([&](Pass& p) {
    EXPECT_TRUE(p.stop(id, Stop::suspend, {Why::shrunk_for, next}));
    EXPECT_EQ(p.incoming(), 6u);
    EXPECT_TRUE(p.start(next, exactly(7), kReason, {.incoming = true}));
  });
  ASSERT_EQ(stage_.state().claims.size(), 1u);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(starts(stage_.close()).size(), 1u);
  EXPECT_EQ(stage_.job(next).size(), 7u);
  EXPECT_EQ(stage_.job(id).status, Status::pending);
}

TEST_F(Stops, WhoIsRefusedThemWaitsAgain) {
  const JobId id = stage_.run(malleable({1, 8}, 6));
  const JobId next = stage_.submit(rigid(7, 50));
  stage_.pass([&](Pass& p) {
    EXPECT_TRUE(p.stop(id, Stop::suspend, {Why::shrunk_for, next}));
    EXPECT_TRUE(p.start(next, exactly(7), kReason, {.incoming = true}));
  });
  ASSERT_TRUE(stage_.refused(id, at_s(50)));
  EXPECT_TRUE(stage_.close().empty());
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(stage_.job(next).status, Status::pending);
}

TEST_F(Stops, AJobThatEndsFirstAnswers) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  stop(id, Stop::suspend);
  ASSERT_TRUE(stage_.ended(id));
  EXPECT_TRUE(stage_.core.unanswered().empty());
  EXPECT_EQ(stage_.idle(), 8u);
}

TEST_F(Stops, OnlyWhatRunsAndDoesNothingIsStopped) {
  const JobId id = stage_.run(malleable({1, 8}, 4)), waits = stage_.submit(rigid(2, 10));
  stage_.pass([&](Pass& p) {
    EXPECT_FALSE(p.stop(waits, Stop::cancel, kReason));
    EXPECT_FALSE(p.stop(JobId{77}, Stop::cancel, kReason));
    EXPECT_TRUE(p.resize(id, 2, kReason));
    EXPECT_FALSE(p.stop(id, Stop::suspend, kReason));
    EXPECT_TRUE(p.start(waits, exactly(2), kReason));
    EXPECT_FALSE(p.stop(waits, Stop::cancel, kReason));
  });
  ASSERT_TRUE(stage_.resized(id));
  stage_.at(2);
  stage_.pass([&](Pass& p) {
    EXPECT_TRUE(p.stop(id, Stop::requeue, kReason));
    EXPECT_FALSE(p.stop(id, Stop::requeue, kReason));
    EXPECT_FALSE(p.resize(id, 4, kReason));
    EXPECT_FALSE(p.resizable(id));
  });
}

TEST_F(Stops, NotWhereTheWorldCannotSuspend) {
  for (const Suspends can : {Suspends::no, Suspends::malleable, Suspends::all}) {
    Stage stage(setup(can));
    const JobId fixed = stage.run(rigid(2, 100)), id = stage.run(malleable({1, 8}, 4));
    EXPECT_EQ(stage.tell(event::StopOrdered{fixed, Stop::suspend}), can == Suspends::all);
    stage.tell(event::StopOrdered{fixed, std::nullopt});
    stage.pass([&](Pass& p) {
      EXPECT_EQ(p.stop(fixed, Stop::suspend, kReason), can == Suspends::all);
      EXPECT_EQ(p.stop(id, Stop::suspend, kReason), can != Suspends::no);
    });
  }
}

TEST_F(Stops, OneSuspendedByAnOrderIsHeldUntilItIsReleased) {
  const JobId id = stage_.run(malleable({1, 8}, 4)), waits = stage_.submit(rigid(2, 10));
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  EXPECT_FALSE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  EXPECT_FALSE(stage_.tell(event::StopOrdered{waits, Stop::suspend}));
  EXPECT_FALSE(stage_.tell(event::StopOrdered{JobId{77}, Stop::suspend}));
  const auto decisions = stage_.close();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].kind, Decision::Kind::suspend);
  EXPECT_EQ(decisions[0].reason.why, Why::ordered);
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.job(id).status, Status::held);
  EXPECT_TRUE(stage_.state().stops.empty());
  EXPECT_FALSE(stage_.tell(event::StopOrdered{id, std::nullopt}));
  ASSERT_TRUE(stage_.tell(event::Eligible{id, true}));
  EXPECT_EQ(stage_.job(id).status, Status::pending);
  EXPECT_TRUE(stage_.job(id).goes_on);
  stage_.close();
}

TEST_F(Stops, AnOrderWaitsForWhatIsUnderWayAndStaysUntilItIsDone) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 6, kReason)); });
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::requeue}));
  EXPECT_TRUE(stage_.close().empty());
  ASSERT_TRUE(stage_.resized(id));
  EXPECT_TRUE(of(Decision::Kind::requeue, stage_.close()).empty());  // it has just answered
  stage_.now = stage_.core.next_wake();
  EXPECT_EQ(of(Decision::Kind::requeue, stage_.close()).size(), 1u);
  ASSERT_TRUE(stage_.refused(id, at_s(30)));
  stage_.close();
  EXPECT_EQ(stage_.core.next_wake(), at_s(30));
  // Another one takes its place, and does not wait for the refusal.
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::cancel}));
  stage_.at(30);
  EXPECT_EQ(of(Decision::Kind::cancel, stage_.close()).size(), 1u);
  ASSERT_TRUE(stage_.ended(id));
  EXPECT_TRUE(stage_.state().stops.empty());
}

TEST_F(Stops, AnOrderThatIsLiftedDoesNothing) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, std::nullopt}));
  EXPECT_TRUE(stage_.close().empty());
  // Lifted too late: it is suspended, and waits in the queue.
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  EXPECT_EQ(stage_.close().size(), 1u);
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, std::nullopt}));
  ASSERT_TRUE(suspended(id));
  EXPECT_EQ(stage_.job(id).status, Status::pending);
}

TEST_F(Stops, OneThatIsToBeSuspendedAndLosesItsNodesIsHeldAllTheSame) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  stage_.close();
  ASSERT_TRUE(stage_.tell(event::Ended{id, EndState::node_fail, true}));
  EXPECT_EQ(stage_.job(id).status, Status::held);
  EXPECT_FALSE(stage_.job(id).goes_on);
}

TEST_F(Stops, AnOrderTakesTheNodesOnTheirWayToIt) {
  const JobId id = stage_.run(malleable({1, 8}, 4)), gives = stage_.run(malleable({1, 8}, 4));
  const Cut cuts[] = {{gives, 2}};
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.resize(id, 6, kReason, {cuts})); });
  ASSERT_EQ(stage_.state().claims.size(), 1u);
  ASSERT_TRUE(stage_.tell(event::StopOrdered{id, Stop::suspend}));
  EXPECT_TRUE(stage_.state().claims.empty());
  EXPECT_EQ(of(Decision::Kind::suspend, stage_.close()).size(), 1u);
}

TEST_F(Stops, SomebodyElseMaySuspend) {
  const JobId id = stage_.run(malleable({1, 8}, 4));
  const JobId evolves = stage_.run(sized(JobType::evolving, {1, 8}, 2, 100));
  ASSERT_TRUE(stage_.tell(event::EvolvingRequested{RequestId{1}, evolves, 1, 0}));
  ASSERT_TRUE(stage_.tell(event::Suspended{evolves, DecisionId::none}));
  EXPECT_TRUE(stage_.state().requests.empty());
  ASSERT_TRUE(stage_.tell(event::Suspended{id, DecisionId::none}));
  EXPECT_EQ(stage_.job(id).status, Status::pending);
  EXPECT_FALSE(stage_.tell(event::Suspended{id, DecisionId::none}));
  EXPECT_EQ(stage_.idle(), 8u);
}

TEST_F(Stops, PowerComesWithTheNodes) {
  Stage::Setup with_power = setup();
  with_power.platform.idle_w = 100;
  with_power.platform.busy_w = 200;
  Stage stage(with_power);
  ASSERT_TRUE(stage.tell(event::CorridorChanged{0, 8 * 100 + 6 * 100}));
  const JobId id = stage.run(malleable({1, 8}, 5)), next = stage.submit(rigid(6, 50));
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(p.stop(id, Stop::suspend, kReason));
    EXPECT_TRUE(p.start(next, exactly(6), kReason, {.incoming = true}));
  });
  EXPECT_EQ(stage.state().unanswered.at(0).releases_mw, 500'000);
  ASSERT_TRUE(stage.tell(event::Believed{id, 250, 0, 0}));
  EXPECT_EQ(stage.state().unanswered.at(0).releases_mw, 750'000);
  ASSERT_TRUE(stage.tell(event::Suspended{id, stage.job(id).decision}));
  EXPECT_EQ(starts(stage.close()).size(), 1u);
}

}  // namespace
}  // namespace ductile
