#include "simulation/look_ahead.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "scheduling/policy.hpp"

namespace ductile {
namespace {

Time at(std::int64_t s) { return Time{whole_seconds(s)}; }

/// A machine of four nodes, a job on all of them until 100, and those that wait.
class Waiting {
 public:
  explicit Waiting(const std::string& policy)
      : policy_(make_policy(policy)), core({.nodes = 4}, {}, {}, policy_->traits) {
    submit(at(0), 4, 100);
    core.close(at(0), *policy_);
  }
  void submit(Time now, Nodes nodes, std::int64_t walltime_s, JobType type = JobType::rigid,
              Nodes most = 0) {
    JobSpec spec{.name = ++names_,
                 .submitted = now,
                 .walltime = whole_seconds(walltime_s),
                 .size = {type == JobType::rigid ? nodes : 1, std::max(nodes, most)},
                 .preferred = nodes};
    spec.type = type;
    std::optional<AdaptiveSpec> adaptive;
    if (type != JobType::rigid) adaptive.emplace();
    core.apply(now, event::Submitted{spec, adaptive});
  }
  void close(Time now) { core.close(now, *policy_); }
  const Portfolio& portfolio() const { return *policy_->portfolio(); }
  /// Who rules after a choice now.
  event::ConfigChanged chosen(Time now) const {
    return choose(core, portfolio(), now, Occasion::time);
  }
  std::string ruler(Time now) const { return chosen(now).traits.settings; }

 private:
  std::shared_ptr<const Policy> policy_;
  std::uint64_t names_ = 0;

 public:
  Core core;
};

/// A long job before three short ones: shortest first is better by turnaround.
Waiting long_one_first(const std::string& policy) {
  Waiting w(policy);
  w.submit(at(1), 4, 1000);
  for (int i = 0; i < 3; ++i) w.submit(at(1), 4, 10);
  w.close(at(1));
  return w;
}

TEST(LookAhead, TheMemberThatServesTheGoalRules) {
  const std::string of = "portfolio:of=fcfs|fcfs+sjf,goal=";
  EXPECT_EQ(long_one_first(of + "turnaround").ruler(at(1)), "fcfs:order=sjf");
  EXPECT_EQ(long_one_first(of + "slowdown").ruler(at(1)), "fcfs:order=sjf");
  // The long one waits for 99 + 30 s instead of 99 s, but the last short one for 1119 s less.
  EXPECT_EQ(long_one_first(of + "longest").ruler(at(1)), "fcfs:order=sjf");
  EXPECT_EQ(long_one_first(of + "weighted").ruler(at(1)), "fcfs:order=sjf");
  EXPECT_EQ(long_one_first("portfolio:of=fcfs|fcfs+ljf").ruler(at(1)), "fcfs");
}

// Figures by hand: the first job ends at 100 under both.
TEST(LookAhead, TellsWhatItSaw) {
  const Waiting w = long_one_first("portfolio:of=fcfs|fcfs+sjf,goal=slowdown");
  const event::ConfigChanged chosen = w.chosen(at(1));
  const Choice& choice = *chosen.choice;
  EXPECT_EQ(choice.jobs, 5u);
  EXPECT_EQ(choice.goal, Goal::slowdown);
  EXPECT_EQ(choice.ruled, 0u);
  EXPECT_EQ(choice.chosen, 1u);
  ASSERT_EQ(choice.members.size(), 2u);
  const Outlook& fcfs = choice.members[0].outlook;
  EXPECT_DOUBLE_EQ(fcfs.turnaround_s, (100 + 1099 + 1109 + 1119 + 1129) / 5.0);
  EXPECT_DOUBLE_EQ(fcfs.slowdown, (1 + 1.099 + 110.9 + 111.9 + 112.9) / 5);
  EXPECT_DOUBLE_EQ(fcfs.longest_wait_s, 1119);
  EXPECT_DOUBLE_EQ(choice.members[0].score, fcfs.slowdown);
  const Outlook& sjf = choice.members[1].outlook;
  EXPECT_DOUBLE_EQ(sjf.turnaround_s, (100 + 109 + 119 + 129 + 1129) / 5.0);
  EXPECT_DOUBLE_EQ(sjf.longest_wait_s, 129);
  EXPECT_EQ(chosen.traits, w.portfolio().members[1]->traits);
  EXPECT_GT(choice.passes, 4u);
}

TEST(LookAhead, WeightsAreOfRatiosToWhoRules) {
  const std::string of = "portfolio:of=fcfs|fcfs+sjf,goal=weighted,w_longest=2,w_slowdown=0";
  const Choice choice = *long_one_first(of).chosen(at(1)).choice;
  const Outlook &a = choice.members[0].outlook, &b = choice.members[1].outlook;
  EXPECT_DOUBLE_EQ(choice.members[0].score, 1);
  EXPECT_DOUBLE_EQ(choice.members[1].score,
                   ((b.turnaround_s + 10) / (a.turnaround_s + 10) +
                    2 * (b.longest_wait_s + 10) / (a.longest_wait_s + 10)) /
                       3);
}

// Where nobody waits under who rules, a wait of a moment is not worse by a million times.
TEST(LookAhead, NoWaitIsNotBetterThanAShortOneByAnyFactor) {
  const Outlook ruling{.turnaround_s = 1000, .slowdown = 1, .longest_wait_s = 0},
      other{.turnaround_s = 500, .slowdown = 1, .longest_wait_s = 1};
  const Portfolio portfolio{.goal = Goal::weighted};
  EXPECT_DOUBLE_EQ(score_of(ruling, ruling, portfolio), 1);
  EXPECT_DOUBLE_EQ(score_of(other, ruling, portfolio), (510 / 1010.0 + 1 + 1.1) / 3);
}

TEST(LookAhead, WhoRulesGoesOnUnlessAnotherIsBetterByTheHysteresis) {
  // By turnaround the ratio is 1586 / 4556 = 0.348.
  const std::string of = "portfolio:of=fcfs|fcfs+sjf,hysteresis=";
  EXPECT_EQ(long_one_first(of + "0.65").ruler(at(1)), "fcfs:order=sjf");
  const event::ConfigChanged stays = long_one_first(of + "0.66").chosen(at(1));
  EXPECT_EQ(stays.traits.settings, "fcfs");
  EXPECT_EQ(stays.choice->chosen, 0u);
  // It is held by who rules, not by who is the first.
  Waiting w = long_one_first("portfolio:of=fcfs|fcfs+sjf|fcfs+smallest,hysteresis=0.66");
  w.core.apply(at(1), event::ConfigChanged{w.portfolio().members[2]->traits});
  w.core.close(at(1), *w.portfolio().members[2]);
  EXPECT_EQ(w.chosen(at(1)).choice->ruled, 2u);
  EXPECT_EQ(w.ruler(at(1)), "fcfs:order=smallest");
}

TEST(LookAhead, TiesAreOfWhoRules) {
  Waiting w("portfolio:of=fcfs|easy|conservative,hysteresis=0");
  w.submit(at(1), 4, 10);
  w.close(at(1));
  w.core.apply(at(1), event::ConfigChanged{w.portfolio().members[1]->traits});
  EXPECT_EQ(w.ruler(at(1)), "easy");
}

// What is not over at the horizon is planned, whoever rules: a member gains nothing by leaving jobs
// until later.
TEST(LookAhead, LooksNoFurtherThanTheHorizon) {
  const auto figures = [](const std::string& bounds) {
    return *long_one_first("portfolio:of=fcfs|fcfs+sjf," + bounds).chosen(at(1)).choice;
  };
  const Choice all = figures("horizon=0"), none = figures("horizon=1"),
               few = figures("most_passes=1");
  EXPECT_LT(none.passes, all.passes);
  EXPECT_LT(few.passes, all.passes);
  // Rigid jobs that are planned in the order of the queue come out as they do.
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(none.members[i].outlook, all.members[i].outlook);
    EXPECT_EQ(few.members[i].outlook, all.members[i].outlook);
  }
}

TEST(LookAhead, FollowsTheFirstJobsOnly) {
  const Choice choice =
      *long_one_first("portfolio:of=fcfs|fcfs+sjf,most_jobs=2").chosen(at(1)).choice;
  EXPECT_EQ(choice.jobs, 3u);
  EXPECT_DOUBLE_EQ(choice.members[0].outlook.longest_wait_s, 1099);
  EXPECT_DOUBLE_EQ(choice.members[1].outlook.longest_wait_s, 109);
}

// The long job has waited for 89 s when there are 120 s to do without those that are not followed,
// and is overdue if these are forgotten: then the short one would wait for it.
TEST(LookAhead, TheBacklogIsThatOfAllJobs) {
  Waiting w("portfolio:of=fcfs+area+slack=0.5+grace=0|fcfs+sjf,most_jobs=2");
  w.submit(at(1), 4, 100);
  w.submit(at(90), 4, 10);
  for (int i = 0; i < 5; ++i) w.submit(at(90), 4, 10'000);
  w.close(at(90));
  const Choice choice = *w.chosen(at(90)).choice;
  EXPECT_EQ(choice.jobs, 3u);
  for (const Choice::Member& its : choice.members) {
    EXPECT_DOUBLE_EQ(its.outlook.longest_wait_s, 109) << its.settings;
  }
}

// A job that can start nowhere has no end under any member, and favours none.
TEST(LookAhead, JobsThatNeverStartFavourNobody) {
  Waiting w("portfolio:of=fcfs|easy");
  w.submit(at(1), 4, 10);
  NodeSet one;
  one.insert(3, 3);
  w.core.apply(at(1), event::NodesChanged{one, Health::draining});
  w.close(at(1));
  const Choice choice = *w.chosen(at(1)).choice;
  EXPECT_EQ(choice.jobs, 2u);
  EXPECT_EQ(choice.members[0].outlook, choice.members[1].outlook);
}

// What a world cannot do is not looked at.
TEST(LookAhead, LeavesOutMembersThatThisWorldCannotHave) {
  class Greedy final : public Policy {
   public:
    Greedy() : Policy({.settings = "greedy", .needs = {.power_control = true}}) {}
    void schedule(Pass&) const override {}
  };
  Waiting w = long_one_first("portfolio:of=fcfs|fcfs+sjf");
  Portfolio more = w.portfolio();
  more.members.insert(more.members.begin() + 1, std::make_shared<Greedy>());
  const event::ConfigChanged chosen = choose(w.core, more, at(1), Occasion::time);
  EXPECT_EQ(chosen.choice->members.size(), 2u);
  EXPECT_EQ(chosen.traits.settings, "fcfs:order=sjf");
}

TEST(LookAhead, DoesNotTouchTheCore) {
  Waiting w = long_one_first("portfolio:of=fcfs|fcfs+sjf");
  const Choice once = *w.chosen(at(1)).choice, again = *w.chosen(at(1)).choice;
  EXPECT_EQ(once, again);
  EXPECT_EQ(w.core.state().queue.size(), 4u);
}

TEST(LookAheads, AreDueWhenSomebodyWaitsAndThenByTime) {
  Waiting w("portfolio:of=fcfs|easy,every=600,shift=0");
  LookAheads looks;
  const Portfolio& its = w.portfolio();
  EXPECT_EQ(looks.due(its, w.core, at(0)), std::nullopt);  // nobody waits, nothing can be resized
  EXPECT_EQ(looks.next(its, w.core), kNever);
  w.submit(at(50), 4, 1000);
  w.close(at(50));
  EXPECT_EQ(looks.due(its, w.core, at(50)), Occasion::first);
  looks.begin(w.core, at(50));
  EXPECT_EQ(looks.next(its, w.core), at(650));
  EXPECT_EQ(looks.due(its, w.core, at(649)), std::nullopt);
  EXPECT_EQ(looks.due(its, w.core, at(650)), Occasion::time);
  const auto alone = make_policy("portfolio:of=easy");
  EXPECT_EQ(looks.due(*alone->portfolio(), w.core, at(10'000)), std::nullopt);
  EXPECT_EQ(looks.next(*alone->portfolio(), w.core), kNever);
}

TEST(LookAheads, AreDueWhenSomebodyRunsWhoCanBeResized) {
  const auto policy = make_policy("portfolio:of=easy|elastic");
  Waiting w("portfolio:of=easy|elastic");
  w.core.apply(at(10), event::Ended{JobId{0}, EndState::completed, false});
  w.submit(at(10), 2, 100, JobType::malleable, 4);
  w.close(at(10));
  ASSERT_TRUE(w.core.state().queue.empty());
  EXPECT_EQ(LookAheads().due(*policy->portfolio(), w.core, at(10)), Occasion::first);
  EXPECT_EQ(w.ruler(at(11)), "elastic");  // which gives it the other two nodes
}

TEST(LookAheads, AreDueWhenTheQueueIsAnother) {
  Waiting w("portfolio:of=fcfs|easy,every=0,shift=2,check=60");
  const Portfolio& its = w.portfolio();
  LookAheads looks;
  w.submit(at(1), 4, 100);
  w.submit(at(1), 4, 100);
  w.close(at(1));
  looks.begin(w.core, at(1));
  EXPECT_EQ(looks.next(its, w.core), kNever);
  for (int i = 0; i < 2; ++i) w.submit(at(2), 4, 100);
  w.close(at(2));
  EXPECT_EQ(looks.due(its, w.core, at(61)), std::nullopt);  // twice as many are not more than twice
  w.submit(at(62), 4, 1);
  w.close(at(62));
  EXPECT_EQ(looks.due(its, w.core, at(120)), std::nullopt);  // looked at 59 s ago
  EXPECT_EQ(looks.due(its, w.core, at(121)), Occasion::queue);
  looks.begin(w.core, at(121));
  EXPECT_EQ(looks.due(its, w.core, at(500)), std::nullopt);
  // As many jobs, but less than half of the work.
  for (const std::uint32_t id : {1u, 2u, 3u, 4u}) {
    w.core.apply(at(500), event::Ended{JobId{id}, EndState::cancelled, false});
  }
  for (int i = 0; i < 4; ++i) w.submit(at(500), 4, 1);
  w.close(at(500));
  EXPECT_EQ(w.core.state().queue.size(), 5u);
  EXPECT_EQ(looks.due(its, w.core, at(600)), Occasion::queue);
}

}  // namespace
}  // namespace ductile
