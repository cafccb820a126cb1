// What the scenarios fairness_*.txt do not show.
#include "scheduling/fair_grants.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::rigid;
using testing::sized;

/// Four nodes: job 0 of user 0 evolves on one until 100 s, job 1 holds one until 50 s; what
/// `waiting` says waits. Job 0 asks for two nodes more at 10 s.
class Asked {
 public:
  Asked(const std::string& fairness, const std::vector<JobSpec>& waiting)
      : policy_(std::make_shared<testing::Scripted>()),
        core_({.nodes = 4}, {}, rules(fairness), policy_->traits) {
    policy_->write = [](Pass& pass) { start_in_order(pass); };
    core_.apply(at_s(0), event::Submitted{sized(JobType::evolving, {1, 4}, 1, 100), {}});
    core_.apply(at_s(0), event::Submitted{rigid(1, 50), {}});
    core_.close(at_s(0), *policy_);
    for (const JobSpec& job : waiting) core_.apply(at_s(5), event::Submitted{job, {}});
    core_.close(at_s(5), *policy_);
    core_.apply(at_s(10), event::EvolvingRequested{RequestId{1}, JobId{0}, 2, 0});
  }

  std::optional<std::vector<Delay>> delays(Backfill plan = {}) {
    std::optional<std::vector<Delay>> found;
    policy_->write = [&](Pass& pass) {
      found = fair_delays(pass, pass.requests().front(), 2, plan);
    };
    core_.close(at_s(10), *policy_);
    return found;
  }

 private:
  static Rules rules(const std::string& fairness) {
    Rules rules;
    rules.check = true;
    rules.fairness = parse_fairness(fairness);
    return rules;
  }
  std::shared_ptr<testing::Scripted> policy_;
  Core core_;
};

JobSpec of_user(JobSpec job, std::uint32_t user) {
  job.user = user;
  return job;
}

TEST(FairGrants, TellTheDelaysOfAPlan) {
  Asked asked("target", {of_user(rigid(3, 20), 2), of_user(rigid(3, 10), 3)});
  const auto delays = asked.delays({.reservation_depth = 2});
  ASSERT_TRUE(delays.has_value());
  // 50 and 70 s become 100 and 120 s.
  EXPECT_EQ(*delays, (std::vector<Delay>{{JobId{2}, whole_seconds(50), at_s(50)},
                                         {JobId{3}, whole_seconds(50), at_s(70)}}));
}

TEST(FairGrants, LookAtAsManyJobsAsThePlanReserves) {
  Asked asked("target", {of_user(rigid(3, 20), 2), of_user(rigid(3, 10), 3)});
  EXPECT_EQ(asked.delays()->size(), 1u);
}

TEST(FairGrants, AddUpWhatOneGrantDoesToAUser) {
  const std::vector<JobSpec> waiting{of_user(rigid(3, 20), 2), of_user(rigid(3, 10), 2)};
  EXPECT_TRUE(Asked("target,target=100", waiting).delays({.reservation_depth = 2}).has_value());
  EXPECT_FALSE(Asked("target,target=99", waiting).delays({.reservation_depth = 2}).has_value());
  // Each job by itself is within what `single` allows.
  EXPECT_TRUE(Asked("single,single=50", waiting).delays({.reservation_depth = 2}).has_value());
  EXPECT_FALSE(
      Asked("both,single=50,target=99", waiting).delays({.reservation_depth = 2}).has_value());
}

TEST(FairGrants, UnknownUsersAreNotOne) {
  const std::vector<JobSpec> waiting{of_user(rigid(3, 20), 0), of_user(rigid(3, 10), 0)};
  EXPECT_TRUE(Asked("target,target=50", waiting).delays({.reservation_depth = 2}).has_value());
  EXPECT_FALSE(Asked("target,target=49", waiting).delays({.reservation_depth = 2}).has_value());
}

TEST(FairGrants, AUsersOwnLimitGoesBeforeEverybodys) {
  const std::vector<JobSpec> waiting{of_user(rigid(3, 20), 2)};
  EXPECT_TRUE(Asked("single,single=0,user2.single=50", waiting).delays().has_value());
  EXPECT_FALSE(Asked("single,single=50,user2.single=0", waiting).delays().has_value());
  // What it does not set is everybody's.
  EXPECT_FALSE(Asked("both,target=49,user2.single=50", waiting).delays().has_value());
  EXPECT_FALSE(Asked("single,permitted=no", waiting).delays().has_value());
}

TEST(FairGrants, NobodyAsksWithoutAPolicy) {
  Asked asked("none", {of_user(rigid(3, 20), 2)});
  EXPECT_TRUE(asked.delays()->empty());
}

// Nothing else may happen that would wake the policy.
TEST(AnswerRequests, OfAJobThatIsLeftAloneWakeWhenItIsNot) {
  testing::Stage stage;
  const JobId asks = stage.run(sized(JobType::evolving, {1, 8}, 2, 100));
  stage.at(0);  // at its very start
  stage.tell(event::EvolvingRequested{RequestId{0}, asks, 2, 0});
  const auto answer = [](Pass& p) {
    answer_requests(p, [&](const Request& request, Nodes) { return grant_fairly(p, request, {}); });
  };
  EXPECT_TRUE(stage.close(answer).empty());
  EXPECT_EQ(stage.core.next_wake(), stage.job(asks).not_before);
  stage.now = stage.job(asks).not_before;
  EXPECT_EQ(stage.close(answer).size(), 1u);
  EXPECT_EQ(stage.job(asks).size(), 4u);
}

TEST(GrantFromIdle, GrantsInOrderAndDeniesTheRest) {
  testing::Stage stage;
  const JobSpec evolving = testing::sized(JobType::evolving, {1, 8}, 2, 100);
  const JobId a = stage.run(evolving);
  const JobId b = stage.run(evolving);
  const JobId c = stage.run(evolving);
  stage.at(10);
  stage.tell(event::EvolvingRequested{RequestId{0}, a, 3, 0});  // two are idle
  stage.tell(event::EvolvingRequested{RequestId{1}, b, 2, 0});
  stage.tell(event::EvolvingRequested{RequestId{2}, c, -1, 0});  // always
  const auto decisions = stage.close([](Pass& p) { grant_from_idle(p); });
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[0].kind, Decision::Kind::deny);
  EXPECT_EQ(decisions[0].job, a);
  EXPECT_EQ(stage.job(b).size(), 4u);
  EXPECT_EQ(stage.job(c).size(), 1u);
}

}  // namespace
}  // namespace ductile
