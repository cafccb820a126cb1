// No start and no expansion takes what is planned to be drawn above the upper bound: that of a
// corridor under policies that keep one, that of a power cap under all. And a corridor that cannot
// be kept ends no run in a loop.

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

/// Looks at each decision.
class Watch final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    const bool starts =
        decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::frequency;
    const bool grows = decision.kind == Decision::Kind::resize &&
                       decision.after.count > core.state().find(decision.id)->before.count;
    if (!starts && !grows) return;
    ++decisions;
    const State& state = core.state();
    if (state.budget_mw == State::kNoBudget || state.free_power_mw() >= 0) return;
    // Free power may be less than nothing, but then by nobody who draws more than an idle node.
    EXPECT_EQ(state.extra_power_mw(core.job(decision.job), 1), 0)
        << "at " << to_seconds(now.time_since_epoch()) << " job "
        << core.job(decision.job).spec.name << " exceeds the bound by " << -state.free_power_mw()
        << " mW";
  }

  int decisions = 0;
};

Workload random_jobs(Draws& draws, Nodes nodes) {
  Workload workload;
  const std::uint64_t count = 5 + draws.below(30);
  Time submit{};
  for (std::uint64_t i = 1; i <= count; ++i) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    submit += whole_seconds(static_cast<std::int64_t>(draws.below(40)));
    job.submit = submit;
    job.nodes = static_cast<Nodes>(1 + draws.below(nodes / 2));
    job.runtime = whole_seconds(5 + static_cast<std::int64_t>(draws.below(300)));
    job.walltime = job.runtime * static_cast<std::int64_t>(1 + draws.below(2));
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& its = workload.adaptive.emplace_back();
    its.type = static_cast<JobType>(draws.below(3));  // rigid, moldable, malleable
    its.size = its.type == JobType::rigid ? exactly(job.nodes) : SizeRange{1, nodes};
    if (its.type == JobType::malleable) {
      its.believed.constraint.kind = static_cast<SizeConstraint::Kind>(draws.below(5));
      its.size.max = std::max<Nodes>(its.size.max, job.nodes);
    }
    if (draws.chance(0.3)) its.speedup = its.believed.speedup = {Speedup::Kind::amdahl, 0.1};
    its.believed.watts_per_node = 60 + static_cast<double>(draws.below(300));
    if (draws.chance(0.5)) {
      its.believed.least_watts_per_node = its.believed.watts_per_node / 2;
      its.watts = its.believed.watts_per_node * draws.uniform(0.5, 1);
    }
  }
  return workload;
}

SimulationSettings random_settings(Draws& draws, Nodes nodes, const std::string& policy) {
  SimulationSettings settings;
  settings.platform.nodes = nodes;
  settings.platform.idle_w = settings.platform.busy_w = 71;
  settings.policy = make_policy(policy);
  settings.rules.check = true;
  settings.rules.identities = draws.chance(0.5);
  settings.rules.seed = draws.bits();
  if (draws.chance(0.6)) {
    settings.resize.delay = {RandomDuration::Kind::uniform, {}, whole_seconds(60)};
    settings.resize.refuse = draws.chance(0.5) ? 0.2 : 0;
    settings.resize.partly = draws.chance(0.3) ? 0.3 : 0;
  }
  const double idle = 71.0 * nodes;
  Time at{};
  const std::uint64_t lines = 1 + draws.below(5);
  for (std::uint64_t i = 0; i < lines; ++i) {
    const double low = draws.uniform(0, idle * 3), high = low + draws.uniform(0, idle);
    settings.corridor.push_back({at, low, high});
    if (draws.chance(0.5)) settings.power_caps.push_back({at, draws.uniform(idle, idle * 4)});
    at += whole_seconds(20 + static_cast<std::int64_t>(draws.below(400)));
  }
  if (draws.chance(0.3)) {
    settings.rules.identities = true;
    settings.rules.node_off_after = whole_seconds(30);
    settings.platform.off_w = 5;
    settings.platform.boot_time = whole_seconds(20);
  }
  if (draws.chance(0.5)) {
    settings.rules.slow_for_power = true;
    settings.platform.steps = {{0.9, 0.7}, {0.6, 0.4}, {0.3, 0.2}};
  }
  return settings;
}

class PowerBounds : public ::testing::TestWithParam<const char*> {};

TEST_P(PowerBounds, AreKeptByStartsAndExpansions) {
  int decisions = 0, outside = 0;
  const std::uint64_t runs =
      testing::for_seeds({.usual = 40, .share = 20}, [&](std::uint64_t seed) {
        Draws draws(seed, Stream::test, 1);
        const Nodes nodes = static_cast<Nodes>(4 + draws.below(16));
        const Workload workload = random_jobs(draws, nodes);
        const SimulationSettings settings = random_settings(draws, nodes, GetParam());
        Watch watch;
        SummaryObserver figures(workload, {settings.corridor, settings.violation_grace});
        std::vector<Observer*> observers{&watch, &figures};
        const SimulationCounts counts = simulate(workload, settings, observers);
        const Summary summary = figures.summary(workload, settings, counts);
        decisions += watch.decisions;
        outside += summary.corridor_outside_s.value_or(0) > 0 ? 1 : 0;
        EXPECT_EQ(counts.jobs_over + counts.jobs_left, workload.jobs.size()) << "seed " << seed;
        EXPECT_LT(counts.passes, 100'000u) << "seed " << seed;
      });
  if (runs == 0) return;
  EXPECT_GT(decisions, 100);
  EXPECT_GT(outside, 1);
}

/// What each job truly does and draws is found out again from what was decided.
class Progress final : public Observer {
 public:
  Progress(const Workload& workload, const SimulationSettings& settings)
      : workload_(workload), settings_(settings) {}

  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind == Decision::Kind::start) {
      jobs_[decision.job] = {now, 0, decision.after.count, decision.step};
      slowed += decision.step > 0 ? 1 : 0;
    } else if (decision.kind == Decision::Kind::frequency) {
      Job& its = go_on(now, decision.job);
      EXPECT_LT(decision.step, its.step);
      its.step = decision.step;
      raised += its.size == core.job(decision.job).first_size ? 1 : 0;
      resized_raised += its.size == core.job(decision.job).first_size ? 0 : 1;
    }
  }
  void on_resized(Time now, JobId id, Nodes, const Core& core) override {
    Job& its = go_on(now, id);
    const Nodes before = std::exchange(its.size, core.job(id).size());
    resized += its.step > 0 && its.size != before ? 1 : 0;  // else it refused
  }
  void on_close(Time now, const Core& core) override {
    double drawn_w = settings_.platform.idle_w * settings_.platform.nodes;
    for (const JobId id : core.state().running) {
      const Job& its = jobs_.at(id);
      drawn_w += its.size * above_idle_w(id) * step(its).power;
    }
    double cap_w = 0;
    for (const PowerCap& line : settings_.power_caps) cap_w = line.at <= now ? line.watts : cap_w;
    // Of each node as whole milliwatts.
    EXPECT_LE(drawn_w, cap_w + 0.001 * settings_.platform.nodes);
  }
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool,
              const Core& core) override {
    if (!jobs_.contains(id)) return;  // rejected
    EXPECT_EQ(state, EndState::completed)
        << "job " << job.name << ": its limit came before its end";
    // Rounded by itself each time that the frequency or the size changes.
    EXPECT_LE(now, core.job(id).limit + 8 * kTick) << job.name;
    EXPECT_NEAR(go_on(now, id).done_s, to_seconds(job.runtime), 1e-3) << job.name;
    jobs_.erase(id);
  }

  int slowed = 0, raised = 0, resized = 0, resized_raised = 0;

 private:
  struct Job {
    Time at{};
    double done_s = 0;  // of its run time at its preferred size
    Nodes size = 0;
    std::uint8_t step = 0;
  };
  FrequencyStep step(const Job& its) const {
    return its.step == 0 ? FrequencyStep{} : settings_.platform.steps.at(its.step - 1U);
  }
  const AdaptiveJob* adaptive(JobId id) const {
    const WorkloadJob& job = workload_.jobs[index(id)];
    return job.adaptive == WorkloadJob::kRigid ? nullptr : &workload_.adaptive[job.adaptive];
  }
  double above_idle_w(JobId id) const {
    const AdaptiveJob* const its = adaptive(id);
    const double busy_w = its ? its->believed.watts_per_node : settings_.platform.busy_w;
    return std::max(busy_w - settings_.platform.idle_w, 0.0);
  }
  Job& go_on(Time now, JobId id) {
    Job& its = jobs_.at(id);
    const AdaptiveJob* const more = adaptive(id);
    const double time =
        more ? more->speedup.relative_time(its.size, workload_.jobs[index(id)].nodes) : 1;
    its.done_s += to_seconds(now - its.at) * step(its).speed / time;
    its.at = now;
    return its;
  }

  const Workload& workload_;
  const SimulationSettings& settings_;
  std::map<JobId, Job> jobs_;
};

/// Those that often give slowed jobs other sizes, where the jobs and caps are these; and of them
/// those under which such a job is often raised afterwards.
const std::set<std::string> kThatResizeSlowed{"elastic", "dbes",       "equipartition",
                                              "esf",     "perf_aware", "portfolio:of=easy|elastic"};
const std::set<std::string> kThatResizeAndRaise{"elastic", "perf_aware"};

class Frequencies : public ::testing::TestWithParam<const char*> {};

TEST_P(Frequencies, AreKeptBelowTheCapAndTakeAsMuchLonger) {
  int slowed = 0, raised = 0, resized = 0, resized_raised = 0;
  const std::uint64_t runs =
      testing::for_seeds({.usual = 100, .share = 20}, [&](std::uint64_t seed) {
        Draws draws(seed, Stream::test, 3);
        const Nodes nodes = static_cast<Nodes>(4 + draws.below(16));
        Workload workload = random_jobs(draws, nodes);
        for (AdaptiveJob& its : workload.adaptive) its.watts = 0;
        for (WorkloadJob& job : workload.jobs) {
          if (draws.chance(0.5)) continue;
          job.adaptive = WorkloadJob::kRigid;  // it draws as much as the machine says
        }
        SimulationSettings settings;
        settings.platform.nodes = nodes;
        settings.platform.idle_w = 71;
        settings.platform.busy_w = 250;
        settings.platform.steps = {{0.9, 0.7}, {0.6, 0.4}, {0.3, 0.2}};
        settings.policy = make_policy(GetParam());
        settings.rules.check = true;
        settings.rules.slow_for_power = true;
        settings.kill_overrun = true;
        if (seed % 2 == 0) {
          settings.resize.delay = {RandomDuration::Kind::uniform, {}, whole_seconds(30)};
          settings.resize.refuse = 0.2;
        }
        settings.power_caps = {{Time{}, 71.0 * nodes + draws.uniform(200, 179.0 * nodes)},
                               {Time{} + whole_seconds(300), 250.0 * nodes}};
        Watch watch;
        Progress progress(workload, settings);
        std::vector<Observer*> observers{&watch, &progress};
        const SimulationCounts counts = simulate(workload, settings, observers);
        EXPECT_EQ(counts.jobs_left, 0u) << "seed " << seed;
        slowed += progress.slowed;
        raised += progress.raised;
        resized += progress.resized;
        resized_raised += progress.resized_raised;
      });
  std::printf("%d slowed, %d raised, %d resized at a lower frequency, %d raised at another size\n",
              slowed, raised, resized, resized_raised);
  if (runs < 10) return;
  EXPECT_GT(slowed, 20);
  EXPECT_GT(raised, 10);
  if (runs < 100 || !kThatResizeSlowed.contains(GetParam())) return;
  EXPECT_GT(resized, 20);
  if (kThatResizeAndRaise.contains(GetParam())) EXPECT_GT(resized_raised, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, Frequencies,
                         ::testing::Values("fcfs", "easy", "conservative", "backfill:depth=3",
                                           "slurm", "elastic", "mebf", "dbes", "equipartition",
                                           "esf", "tide", "perf_aware", "wagomu", "keeppref",
                                           "elastisim", "portfolio:of=easy|elastic"),
                         [](const auto& policy) {
                           std::string name = policy.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(Policies, PowerBounds,
                         ::testing::Values("power_aware", "power_aware:waiting=0,infeasible=wait",
                                           "power_aware:grow=yes,inside=pass,first=running",
                                           "power_aware:solver=lp", "power_aware:solver=greedy",
                                           "power_ahead", "power_ahead:solver=greedy", "perf_aware",
                                           "perf_gain", "easy", "elastic", "mebf", "dbes",
                                           "equipartition", "tide"),
                         [](const auto& policy) {
                           std::string name = policy.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace ductile
