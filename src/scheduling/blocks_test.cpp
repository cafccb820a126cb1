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

}  // namespace
}  // namespace ductile
