#include "scheduling/invariants.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::Stage;

/// Two running jobs, one of them shrinking for a claim, and a waiting one.
class Invariants : public ::testing::Test {
 protected:
  Invariants() {
    victim_ = stage_.run(malleable({1, 8}, 5));
    runs_ = stage_.run(rigid(2, 100));
    waits_ = stage_.submit(rigid(8, 100));
    claims_ = stage_.submit(rigid(3, 100));
    stage_.pass([&](Pass& p) {
      const Cut cuts[] = {{victim_, 2}};
      p.start(claims_, exactly(3), {}, {cuts});
    });
    state_ = stage_.state();
  }

  /// The message that the broken state gets.
  std::string broken(const std::function<void(State&)>& hit) {
    State state = state_;
    hit(state);
    try {
      check_invariants(state);
    } catch (const InvariantViolation& violation) {
      return violation.what();
    }
    return "";
  }

  Stage stage_;
  JobId victim_, runs_, waits_, claims_;
  State state_{stage_.state()};
};

TEST_F(Invariants, HoldInASoundState) {
  EXPECT_NO_THROW(check_invariants(state_));
  EXPECT_EQ(state_.claims.size(), 1u);
  EXPECT_EQ(state_.unanswered.size(), 1u);
}

TEST_F(Invariants, FindWhatIsBroken) {
  using ::testing::HasSubstr;
  EXPECT_THAT(broken([](State& s) { ++s.held; }), HasSubstr("sum of held"));
  EXPECT_THAT(broken([](State& s) { --s.claimed; }), HasSubstr("sum of claimed"));
  EXPECT_THAT(broken([](State& s) { ++s.out_of_service; }), HasSubstr("= total"));
  EXPECT_THAT(broken([](State& s) { ++s.jobs_mw; }), HasSubstr("sum of power"));
  EXPECT_THAT(
      broken([&](State& s) { s.jobs[runs_].holding.nodes = s.jobs[victim_].holding.nodes; }),
      HasSubstr("nodes and count differ"));
  EXPECT_THAT(broken([&](State& s) {
                s.jobs[runs_].holding.nodes = nodes({{0, 1}});
              }),
              HasSubstr("two owners"));
  EXPECT_THAT(broken([](State& s) { s.not_up.insert(7, 7); }), HasSubstr("not up"));
  EXPECT_THAT(broken([](State& s) { ++s.unanswered[0].pledged; }), HasSubstr("sum of pledges"));
  EXPECT_THAT(broken([](State& s) { s.unanswered[0].releases = 1; }), HasSubstr("more promised"));
  EXPECT_THAT(broken([](State& s) { s.claims[0].pledges[0].shrink = DecisionId{99}; }),
              HasSubstr("without a shrink"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[claims_].claim = ClaimId::none; }),
              HasSubstr("does not know it"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[claims_].doing = Doing::starting; }),
              HasSubstr("busy"));
  EXPECT_THAT(broken([](State& s) { ++s.asked; }), HasSubstr("answers + unanswered"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[victim_].decision = DecisionId{1}; }),
              HasSubstr("waits for no answer"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[waits_].status = Status::held; }),
              HasSubstr("does not wait"));
  EXPECT_THAT(broken([&](State& s) { s.traits.order = QueueOrder::sjf; }),
              HasSubstr("another order"));
  EXPECT_THAT(broken([&](State& s) { s.reserving.push_back(runs_); }),
              HasSubstr("list of reservations"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[runs_].running_at = 7; }),
              HasSubstr("list of running"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[victim_].work_left = -1; }), HasSubstr("work left"));
  EXPECT_THAT(
      broken([&](State& s) { s.releases.erase(s.jobs[runs_].release, ReleaseTag::of(runs_)); }),
      HasSubstr("missing"));
  EXPECT_THAT(broken([&](State& s) { s.jobs[runs_].limit += kTick; }), HasSubstr("not true"));
}

// With few jobs all is looked at after each change.
TEST_F(Invariants, AreLookedAtAtOnceWithFewJobs) {
  EXPECT_NO_THROW(check_invariants_in_turn(state_));
  ++state_.held;
  EXPECT_THROW(check_invariants_in_turn(state_), InvariantViolation);
}

// With many, after so many changes that the time for each stays the same.
TEST(InvariantsInTurn, AreLookedAtSoonWithManyJobs) {
  Stage stage;
  constexpr int kJobs = 600;
  for (int i = 0; i < kJobs; ++i) stage.submit(rigid(8, 100));
  stage.close();
  State state = stage.state();
  while (state.until_check == 0) check_invariants_in_turn(state);
  EXPECT_EQ(state.until_check, 2u);
  ++state.held;
  EXPECT_NO_THROW(check_invariants_in_turn(state));
  EXPECT_NO_THROW(check_invariants_in_turn(state));
  EXPECT_THROW(check_invariants_in_turn(state), InvariantViolation);
}

}  // namespace
}  // namespace ductile
