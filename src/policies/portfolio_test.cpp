#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> members(const std::string& text) {
  std::vector<std::string> all;
  const auto policy = make_policy(text);
  for (const auto& member : policy->portfolio()->members) {
    all.push_back(member->traits.settings);
  }
  return all;
}

std::string error_of(const std::string& text) {
  return testing::complaint([&] { make_policy(text); });
}

TEST(Portfolio, NamesItsMembersAndTheirParameters) {
  EXPECT_THAT(members("portfolio"), ElementsAre("easy", "elastic"));
  EXPECT_THAT(members("portfolio:of=elastic+victim=gain+order=sjf|easy,every=600"),
              ElementsAre("elastic:victim=gain,order=sjf", "easy"));
  EXPECT_THAT(members("portfolio:of=easy+sjf|easy+wfp3+priority_period=60"),
              ElementsAre("easy:order=sjf", "easy:order=wfp3,priority_period=60"));
  EXPECT_THAT(members("portfolio:of=mebf+gap=shrink+|mebf+gap=expand++theta=0.4|easy"),
              ElementsAre("mebf:gap=shrink+", "mebf:gap=expand+,theta=0.4", "easy"));
  EXPECT_THAT(members("portfolio:of=easy+fairshare+shares=7:2+9:0.5+half_life=60"),
              ElementsAre("easy:order=fairshare,shares=7:2+9:0.5,half_life=60"));
  EXPECT_EQ(make_policy("easy")->portfolio(), nullptr);
}

// What is common to all policies is said once for all members, and each may say otherwise.
TEST(Portfolio, MembersHaveWhatIsCommon) {
  EXPECT_THAT(
      members("portfolio:of=easy|elastic+sjf,order=fairshare,shares=7:2+9:0.5"),
      ElementsAre("easy:order=fairshare,shares=7:2+9:0.5", "elastic:order=sjf,shares=7:2+9:0.5"));
  EXPECT_THAT(members("portfolio:of=easy|fcfs,half_life=60,priority_period=0.5"),
              ElementsAre("easy:priority_period=0.5,half_life=60",
                          "fcfs:priority_period=0.5,half_life=60"));
  // Also what most policies have anyway: `tide` has another order, and `lend` another slack.
  EXPECT_THAT(
      members("portfolio:of=easy|tide|lend+slack=2,order=fcfs,slack=6"),
      ElementsAre("easy:order=fcfs,slack=6", "tide:order=fcfs,slack=6", "lend:slack=2,order=fcfs"));
}

// Until somebody has chosen it is its first member, but needs what any of them does.
TEST(Portfolio, IsItsFirstMember) {
  const auto all = make_policy("portfolio:of=easy+sjf|elastic");
  const auto first = make_policy("easy:order=sjf");
  Traits expected = first->traits;
  expected.settings = "portfolio:of=easy+sjf|elastic";
  expected.needs = all->traits.needs;
  EXPECT_EQ(all->traits, expected);

  const auto start = [](const Policy& policy) {
    Core core({.nodes = 4}, {}, {}, policy.traits);
    for (const std::int64_t time : {30, 20, 10}) {
      core.apply(
          Time{},
          event::Submitted{
              {.name = 1, .walltime = whole_seconds(time), .size = exactly(3), .preferred = 3},
              {}});
    }
    const auto decisions = core.close(Time{}, policy);
    return std::vector<Decision>(decisions.begin(), decisions.end());
  };
  EXPECT_EQ(start(*all), start(*first));
  EXPECT_EQ(start(*all).size(), 1u);
  EXPECT_EQ(start(*all).front().job, JobId{2});
}

// A registry that has a policy which needs much: so does a portfolio with it.
TEST(Portfolio, NeedsWhatAnyMemberNeeds) {
  class Greedy final : public Policy {
   public:
    Greedy() : Policy({.needs = {.resizes_per_job = 3, .suspends = true}}) {}
    void schedule(Pass&) const override {}
  };
  Registry registry;
  registry.policies.push_back({.name = "greedy",
                               .summary = "x",
                               .source = "",
                               .parameters = {},
                               .make = [](const Parameters&) -> std::shared_ptr<Policy> {
                                 return std::make_shared<Greedy>();
                               }});
  const auto all = registry.make("portfolio:of=easy|greedy");
  EXPECT_EQ(all->traits.needs, (Needs{.resizes_per_job = 3, .suspends = true}));
}

TEST(Portfolio, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(error_of("portfolio:of=easy|mine"), HasSubstr("there is no policy 'mine'"));
  EXPECT_THAT(error_of("portfolio:of=easy+depth=2"),
              HasSubstr("policy easy: there is no parameter 'depth'"));
  EXPECT_THAT(error_of("portfolio:of=mebf+theta=x|easy"),
              HasSubstr("policy mebf: theta: 'x' is not possible"));
  EXPECT_THAT(error_of("portfolio:of=easy+short"),
              HasSubstr("policy portfolio: of: 'short' of the member 'easy+short' is neither a "
                        "parameter nor an order"));
  EXPECT_THAT(error_of("portfolio:of=easy|portfolio"),
              HasSubstr("a portfolio has no portfolio in it"));
  EXPECT_THAT(error_of("portfolio:of=easy|easy"), HasSubstr("'easy' is there twice"));
  EXPECT_THAT(error_of("portfolio:of=easy|easy+fcfs,order=fcfs"),
              HasSubstr("'easy:order=fcfs' is there twice"));
  EXPECT_THAT(error_of("portfolio:of=easy|"), HasSubstr("a member has no name"));
  EXPECT_THAT(error_of("portfolio:of=|easy"), HasSubstr("a member has no name"));
  EXPECT_THAT(error_of("portfolio:goal=speed"), HasSubstr("there is no 'speed'"));
  EXPECT_THAT(error_of("portfolio:goal=weighted,w_turnaround=0,w_slowdown=0,w_longest=0"),
              HasSubstr("all weights are 0"));
  std::string many = "portfolio:of=easy";
  for (int i = 1; i < 17; ++i) many += "|backfill+depth=" + std::to_string(i);
  EXPECT_THAT(error_of(many), HasSubstr("there are 17 members; name at most 16"));
}

}  // namespace
}  // namespace ductile
