#include "simulation/forecast.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

/// What becomes of jobs, and the core at one moment.
struct Watch final : Observer {
  explicit Watch(Time moment) : moment_(moment) {}
  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) starts[decision.job] = now;
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    ends[id] = now;
  }
  void on_close(Time now, const Core& its) override {
    if (now <= moment_) core.emplace(its);
  }

  std::map<JobId, Time> starts, ends;
  std::optional<Core> core;

 private:
  Time moment_;
};

/// Rigid, moldable and malleable jobs that need what they request, submitted within a minute.
Workload known_workload(std::uint64_t seed, Nodes machine) {
  Draws draws(seed, Stream::test, 31);
  Workload workload;
  Time at{};
  for (std::uint64_t name = 1; name <= 30; ++name) {
    at += seconds(draws.uniform(0, 4));
    WorkloadJob job;
    job.name = name;
    job.submit = at;
    job.nodes = static_cast<Nodes>(1 + draws.below(machine));
    job.runtime = job.walltime = whole_seconds(static_cast<std::int64_t>(5 + draws.below(200)));
    job.user = static_cast<std::uint32_t>(draws.below(3));
    if (draws.chance(0.6)) {
      job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
      AdaptiveJob more;
      more.type = draws.chance(0.7) ? JobType::malleable : JobType::moldable;
      more.size = {std::max<Nodes>(job.nodes / 2, 1), std::min(job.nodes * 2, machine)};
      workload.adaptive.push_back(more);
    }
    workload.jobs.push_back(job);
  }
  return workload;
}

TEST(Forecast, IsWhatHappensIfAllGoesAsBelieved) {
  std::size_t waited = 0;
  const Registry registry;
  for (std::uint64_t seed = 0; seed < 5 * registry.policies.size(); ++seed) {
    const std::string policy = registry.policies[seed % registry.policies.size()].name;
    if (policy == "portfolio") continue;  // who of it rules changes meanwhile
    SCOPED_TRACE(policy + ", seed " + std::to_string(seed));
    const Workload workload = known_workload(seed, 16);
    SimulationSettings settings;
    settings.platform.nodes = 16;
    settings.policy = registry.make(policy);
    settings.mtct.delay = whole_seconds(100'000'000);  // what will be measured nobody believes
    Watch watch(workload.jobs.back().submit + seconds(static_cast<double>(seed)));
    Observer* const observers[] = {&watch};
    simulate(workload, settings, observers);
    const auto rows = forecast(*watch.core, *settings.policy, Time{}, {});
    std::size_t left = 0;
    for (const auto& [id, end] : watch.ends) left += end > watch.core->state().now ? 1 : 0;
    EXPECT_EQ(rows.size(), left);
    for (const Forecast& its : rows) {
      EXPECT_EQ(its.start, watch.starts.at(its.job)) << "job " << index(its.job) + 1;
      EXPECT_EQ(its.end, watch.ends.at(its.job)) << "job " << index(its.job) + 1;
      waited += its.runs ? 0 : 1;
    }
  }
  EXPECT_GT(waited, 100u);
}

struct SmallForecast : ::testing::Test {
  /// Job 1 runs on 3 of 4 nodes until 10, job 2 waits for all of them, job 3 runs until 10.
  static Core core() {
    Watch watch(Time{whole_seconds(2)});
    Observer* const observers[] = {&watch};
    simulate(small_workload(), small_settings(), observers);
    return *watch.core;
  }
  static Time at(int s) { return Time{whole_seconds(s)}; }
};

TEST_F(SmallForecast, OfAnotherJob) {
  WhatIf change;
  change.another = JobSpec{.name = 9,
                           .submitted = at(2),
                           .walltime = whole_seconds(7),
                           .size = exactly(1),
                           .preferred = 1};
  const auto rows = forecast(core(), *small_settings().policy, Time{}, change);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[2].end, at(15));
  EXPECT_EQ(rows[3].job, JobId{3});
  EXPECT_EQ(rows[3].start, at(15));
  EXPECT_EQ(rows[3].end, at(22));
  EXPECT_EQ(rows[3].nodes, 1u);
}

TEST_F(SmallForecast, WithFewerNodesAJobMayNeverStart) {
  WhatIf change;
  change.fewer_nodes = 1;
  const auto rows = forecast(core(), *small_settings().policy, Time{}, change);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].runs && rows[1].runs);
  EXPECT_EQ(rows[1].end, at(10));
  EXPECT_FALSE(rows[2].runs);
  EXPECT_EQ(rows[2].start, kNever);
}

TEST_F(SmallForecast, OfJobsThatAreLate) {
  // Long after all have run out of time: a second more each.
  const auto rows = forecast(core(), *small_settings().policy, at(100), {});
  EXPECT_EQ(rows[0].end, at(101));
  EXPECT_EQ(rows[2].start, at(101));
  EXPECT_EQ(rows[2].end, at(106));
}

TEST_F(SmallForecast, UnderAnotherPolicyAndStopped) {
  WhatIf change;
  change.policy = make_policy("fcfs");
  EXPECT_EQ(forecast(core(), *small_settings().policy, Time{}, change)[2].start, at(10));
  std::size_t asked = 0;
  forecast(core(), *small_settings().policy, Time{}, {}, [&] { return ++asked > 0; });
  EXPECT_EQ(asked, 0u);  // so few instants need no look at the clock
}

/// Jobs of one node on one node, each for a second.
TEST(Forecast, IsPlannedFromWhereItIsStopped) {
  Workload workload;
  for (std::uint64_t name = 1; name <= 40; ++name) {
    workload.jobs.push_back(
        {.name = name, .runtime = whole_seconds(1), .walltime = whole_seconds(1), .nodes = 1});
  }
  SimulationSettings settings = small_settings();
  settings.platform.nodes = 1;
  Watch watch(Time{});
  Observer* const observers[] = {&watch};
  simulate(workload, settings, observers);
  const auto rows = forecast(*watch.core, *settings.policy, Time{}, {}, [] { return true; });
  ASSERT_EQ(rows.size(), 40u);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const Forecast& its = rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(its.start, Time{whole_seconds(i)});
    EXPECT_EQ(its.end, Time{whole_seconds(i + 1)});
    EXPECT_EQ(its.nodes, 1u);
    EXPECT_EQ(its.runs, i == 0);
    EXPECT_EQ(its.planned, i >= 15);
  }
}

// A malleable job whose limit is fixed is asked for its end by its work: not while it does none.
TEST(Forecast, OfAJobThatIsBeingSuspended) {
  const auto policy = make_policy("easy");
  Rules rules;
  rules.limit = Rules::Limit::fixed;
  Core core({.nodes = 4}, {.suspends = Suspends::all}, rules, policy->traits);
  JobSpec spec{.name = 1, .walltime = whole_seconds(100), .size = {1, 4}, .preferred = 2};
  spec.type = JobType::malleable;
  core.apply(Time{}, event::Submitted{spec, AdaptiveSpec{}});
  spec.name = 2;
  core.apply(Time{}, event::Submitted{spec, AdaptiveSpec{}});
  core.close(Time{}, *policy);
  const Time now{whole_seconds(10)};
  ASSERT_TRUE(core.apply(now, event::StopOrdered{JobId{0}, Stop::suspend}));
  core.close(now, *policy);
  const auto rows = forecast(core, *policy, now, {});
  ASSERT_EQ(rows.size(), 2u);
  for (const Forecast& its : rows) {
    EXPECT_EQ(its.end, its.job == JobId{0} ? kNever : Time{whole_seconds(100)});
  }
}

}  // namespace
}  // namespace ductile
