// The world's jobs against a second, naive implementation of their progress: small fixed steps of
// time, phase after phase. Random workloads of all types and models, with phases, scheduling
// points, costs, delays, refusals, partial resizes, suspensions and nodes that fail, under a policy
// without sense.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulation/simulation.hpp"
#include "support/naive_progress.hpp"
#include "support/random_jobs.hpp"
#include "support/random_policy.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

using testing::Life;
using testing::NaiveRun;

constexpr double kStep_s = 0.05;
// The naive job notices within a step that a phase ends or a cost is paid, so that its end is much
// nearer than a step.
constexpr double kTolerance_s = 1e-3;
constexpr double kSoon_s = 2e-6;

/// A life of a job in the world: what was done to it, and what came of it.
struct Seen {
  Life life;
  JobId job = JobId::none;
  EndState state = EndState::completed;
  bool over = false;
  Time end{}, first_limit{}, limit{};  // limits: when it starts, and when it ends
  std::vector<double> asked_s, resized_s;
  std::map<DecisionId, std::size_t> orders;  // acts without an answer
  Nodes size = 0;
  double answered_s = -1;
  bool ordered_again = false;  // as soon as can be after an answer
  bool rests = false;          // it is suspended
};

class Watcher final : public Observer {
 public:
  explicit Watcher(std::size_t jobs) : now_of_(jobs, kNone) {}

  std::vector<Seen> lives;
  std::uint64_t suspensions = 0;

  bool wants_events() const override { return true; }
  void on_decision(Time now, const Decision& decision, const Core&) override {
    const double now_s = to_seconds(now);
    const std::size_t life = now_of_[index(decision.job)];
    const bool goes_on = life != kNone && lives[life].rests;
    if (decision.kind == Decision::Kind::start && goes_on) {
      Seen& seen = lives[life];
      seen.rests = false;
      seen.size = decision.after.count;
      seen.first_limit = decision.limit;
      seen.answered_s = now_s;
      seen.life.acts.push_back({.at_s = now_s, .size = seen.size, .goes_on = true});
    } else if (decision.kind == Decision::Kind::start) {
      now_of_[index(decision.job)] = lives.size();
      Seen& seen = lives.emplace_back();
      seen.job = decision.job;
      seen.life.start_s = now_s;
      seen.life.size = seen.size = decision.after.count;
      seen.first_limit = decision.limit;
    } else if (decision.kind == Decision::Kind::resize ||
               decision.kind == Decision::Kind::suspend) {
      Seen& seen = of(decision.job);
      seen.orders[decision.id] = seen.life.acts.size();
      seen.ordered_again = seen.ordered_again || now_s - seen.answered_s < kSoon_s;
      const bool grants = decision.request != RequestId::none;
      seen.life.acts.push_back({.at_s = now_s,
                                .size = decision.after.count,
                                .grants = grants,
                                .suspends = decision.kind == Decision::Kind::suspend});
    }
  }
  void on_event(Time now, const Event& event, bool taken, const Core&) override {
    if (const auto* nodes = std::get_if<event::NodesChanged>(&event)) {
      failing_ = nodes->health == Health::down || nodes->health == Health::off;
    } else if (const auto* asked = std::get_if<event::EvolvingRequested>(&event)) {
      of(asked->job).asked_s.push_back(to_seconds(now));
    } else if (const auto* resized = std::get_if<event::Resized>(&event); resized && taken) {
      Seen& seen = of(resized->job);
      if (failing_) {
        seen.life.acts.push_back(
            {.at_s = to_seconds(now), .size = resized->now.count, .lost = true});
      } else {
        Life::Act& act = seen.life.acts[seen.orders.at(resized->answers)];
        act.size = resized->now.count;
        act.refused = resized->now.count == seen.size;
        if (!act.refused) seen.resized_s.push_back(to_seconds(now));
      }
      seen.orders.erase(resized->answers);
      seen.size = resized->now.count;
      seen.answered_s = to_seconds(now);
    } else if (const auto* suspended = std::get_if<event::Suspended>(&event); suspended && taken) {
      Seen& seen = of(suspended->job);
      seen.orders.erase(suspended->answers);
      seen.resized_s.push_back(to_seconds(now));
      seen.rests = true;
      ++suspensions;
    }
  }
  void on_close(Time, const Core&) override { failing_ = false; }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool,
              const Core& core) override {
    if (now_of_[index(id)] == kNone) return;  // rejected before it started, also after a requeue
    Seen& seen = of(id);
    now_of_[index(id)] = kNone;
    seen.over = true;
    seen.rests = false;
    seen.end = now;
    seen.life.end_s = to_seconds(now);
    seen.state = state;
    seen.limit = core.job(id).limit;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  Seen& of(JobId id) { return lives[now_of_[index(id)]]; }

  std::vector<std::size_t> now_of_;  // each job's present life
  bool failing_ = false;             // what comes now comes of nodes that fail
};

// --- Random cases --------------------------------------------------------------------------------

struct Case {
  Workload workload;
  SimulationSettings settings;
};

Case random_case(std::uint64_t seed) {
  Case c;
  Draws draws(seed, Stream::test, 7);
  const auto nodes = static_cast<Nodes>(4 + draws.below(28));
  c.workload.jobs = testing::random_jobs(seed, 3 + draws.below(12), nodes, 1);
  for (WorkloadJob& job : c.workload.jobs) {
    job.runtime = std::max(job.runtime, Duration{1000});
    constexpr std::array kTypes = {JobType::moldable, JobType::malleable, JobType::malleable,
                                   JobType::evolving, JobType::adaptive};
    job.adaptive = static_cast<std::uint32_t>(c.workload.adaptive.size());
    AdaptiveJob& more = c.workload.adaptive.emplace_back();
    more.type = kTypes[draws.below(kTypes.size())];
    more.size = {static_cast<Nodes>(1 + draws.below(job.nodes)),
                 static_cast<Nodes>(job.nodes + draws.below(nodes))};
    more.speedup = testing::random_speedup(draws, nodes);
    if (draws.chance(0.5)) more.believed.speedup = more.speedup;
    double until = 0;
    for (std::uint64_t n = draws.chance(0.7) ? 1 + draws.below(5) : 0; n > 0; --n) {
      const bool empty = until > 0 && draws.chance(0.1);
      until = empty ? until : until + (1 - until) * draws.uniform();
      more.phases.push_back({n == 1 ? 1 : until, testing::random_speedup(draws, nodes),
                             static_cast<std::uint32_t>(1 + draws.below(8)), draws.chance(0.8)});
    }
    if (draws.chance(0.6)) {
      more.cost = {draws.uniform(0, 0.2), draws.uniform(0, 5), draws.uniform(0, 0.2),
                   draws.uniform(0, 1), draws.chance(0.5) ? 1 : 0.5};
      if (draws.chance(0.3)) more.cost.transfer_s = draws.uniform(0, 3);
    }
    if (more.type == JobType::evolving || more.type == JobType::adaptive) {
      const double saving = draws.chance(0.5) ? draws.uniform(-1, 1) : 0;
      for (double at = draws.uniform(0, 0.5); at < 1; at += 0.02 + draws.uniform()) {
        // At the start of a phase, or anywhere.
        const bool phase = more.phases.size() > 1 && draws.chance(0.6);
        const double there = phase ? more.phases[draws.below(more.phases.size() - 1)].until : at;
        const auto delta = static_cast<std::int32_t>(draws.below(9)) - 4;
        if (delta != 0) more.steps.push_back({there, delta, 0, {}, draws.chance(0.3), saving});
      }
      std::ranges::stable_sort(more.steps, {}, &EvolvingStep::progress);
    }
  }
  SimulationSettings& settings = c.settings;
  settings.platform.nodes = nodes;
  settings.rules.seed = seed;
  settings.rules.limit = draws.chance(0.5) ? Rules::Limit::fixed : Rules::Limit::scaled;
  settings.kill_overrun = draws.chance(0.3);
  ResizeBehaviour& how = settings.resize;
  if (draws.chance(0.5)) how.apply_at = ResizeBehaviour::ApplyAt::phase_end;
  how.phases = static_cast<std::uint32_t>(1 + draws.below(20));
  if (draws.chance(0.4)) how.delay.a = seconds(draws.uniform(0, 5));
  if (draws.chance(0.3)) how.refuse = draws.uniform();
  if (draws.chance(0.4)) how.partly = draws.uniform();
  how.retry = draws.chance(0.5) ? Duration{} : seconds(draws.uniform(0, 5));
  if (draws.chance(0.4)) {
    settings.rules.identities = true;
    Time at{};
    for (std::uint64_t n = draws.below(10); n > 0; --n) {
      at += seconds(draws.uniform(0, 30));
      const auto node = static_cast<std::uint32_t>(draws.below(nodes));
      auto health = static_cast<Health>(draws.below(4));
      // A job leaves a node that drains a microsecond after the answer to another order: whether it
      // is still at the same scheduling point then is a matter of rounding.
      if (how.apply_at == ResizeBehaviour::ApplyAt::phase_end && health == Health::draining) {
        health = Health::down;
      }
      settings.node_events.push_back({at, {{{node, node}}}, health});
    }
    settings.node_events.push_back({at + whole_seconds(9), {{{0, nodes - 1}}}, Health::up});
  }
  settings.moves = false;  // the naive implementation knows changes of size
  using OnFailure = SimulationSettings::OnFailure;
  settings.on_failure =
      std::array{OnFailure::requeue, OnFailure::kill, OnFailure::shrink}[draws.below(3)];
  settings.suspends = draws.chance(0.5);
  settings.policy = std::make_shared<testing::RandomPolicy>(testing::RandomPolicy::Settings{
      .calls = static_cast<std::uint32_t>(4 + draws.below(20)), .stops = settings.suspends});
  return c;
}

// -------------------------------------------------------------------------------------------------

struct Tally {
  std::uint64_t lives = 0, completed = 0, killed = 0, failed = 0, resized = 0, asked = 0, lost = 0,
                without_answer = 0, suspensions = 0, unsure = 0;
};

/// Times of the world and of the naive job; the latter may have more, after the end.
void expect_near(const std::vector<double>& world_s, std::vector<double> naive_s, double end_s,
                 const char* what) {
  std::erase_if(naive_s, [&](double at) { return at > end_s - kStep_s; });
  ASSERT_LE(naive_s.size(), world_s.size()) << what;
  for (std::size_t i = 0; i < world_s.size(); ++i) {
    if (i < naive_s.size()) {
      ASSERT_NEAR(world_s[i], naive_s[i], kStep_s) << what << ' ' << i;
    } else {
      ASSERT_GT(world_s[i], end_s - 2 * kStep_s) << what << ' ' << i;
    }
  }
}

/// The same where the world leaves some out: a job at the end of its range does not ask to leave
/// it.
void expect_among(const std::vector<double>& world_s, const std::vector<double>& naive_s,
                  double end_s, const char* what) {
  std::size_t i = 0;
  for (const double at : world_s) {
    if (at > end_s - 2 * kStep_s) return;
    while (i < naive_s.size() && naive_s[i] < at - kStep_s) ++i;
    ASSERT_LT(i, naive_s.size()) << what << " at " << at;
    ASSERT_NEAR(at, naive_s[i++], kStep_s) << what;
  }
}

void check(const Case& c, const Seen& seen, Tally& tally) {
  const WorkloadJob& job = c.workload.jobs[index(seen.job)];
  const AdaptiveJob& more = c.workload.adaptive[job.adaptive];
  tally.without_answer += seen.orders.size();
  // In a microsecond a slow job may do less work than can be told: then it is still at the
  // scheduling point where it answered the order before.
  const bool is_there_still =
      seen.ordered_again && c.settings.resize.apply_at == ResizeBehaviour::ApplyAt::phase_end;
  if (is_there_still) return;
  // What part of an order would have been done is not known of a job that was stopped before.
  const bool known = seen.orders.empty() || c.settings.resize.partly == 0;
  if (seen.state != EndState::completed && !known) return;
  const NaiveRun naive = naive_run(job, more, c.settings.resize, seen.life, kStep_s);
  if (naive.is_unsure) {
    ++tally.unsure;
    return;
  }
  SCOPED_TRACE("job " + std::to_string(job.name) + ", started at " +
               std::to_string(seen.life.start_s));
  if (seen.state == EndState::completed) {
    ASSERT_NEAR(naive.end_s, seen.life.end_s, kTolerance_s);
    ++tally.completed;
  } else {
    ASSERT_GT(naive.end_s, seen.life.end_s - kTolerance_s) << "it had completed";
    (seen.state == EndState::timeout ? tally.killed : tally.failed) += 1;
  }
  if (seen.state == EndState::timeout) {
    ASSERT_LE(seen.limit, seen.end);
    if (c.settings.rules.limit == Rules::Limit::fixed) {
      ASSERT_EQ(seen.end, seen.first_limit);
    }
  }
  expect_near(seen.resized_s, naive.resized_s, seen.life.end_s, "resize");
  expect_among(seen.asked_s, naive.asked_s, seen.life.end_s, "evolving request");
  tally.resized += seen.resized_s.size();
  tally.asked += seen.asked_s.size();
  for (const Life::Act& act : seen.life.acts) tally.lost += act.lost ? 1 : 0;
}

TEST(Progress, IsThatOfTheNaiveImplementation) {
  Tally tally;
  const testing::Runs runs{.usual = 4'000, .enough = 1'000};
  const std::uint64_t count = testing::for_seeds(runs, [&](std::uint64_t seed) {
    const Case c = random_case(seed);
    Watcher watcher(c.workload.jobs.size());
    Observer* const observers[] = {&watcher};
    ASSERT_NO_THROW(simulate(c.workload, c.settings, observers));
    tally.suspensions += watcher.suspensions;
    for (const Seen& seen : watcher.lives) {
      if (!seen.over) continue;
      check(c, seen, tally);
      if (HasFatalFailure()) return;
      ++tally.lives;
    }
  });
  std::printf(
      "%llu lives: %llu completed, %llu killed, %llu failed; %llu resizes, %llu requests, %llu "
      "losses of nodes, %llu orders answered by the end, %llu suspensions, %llu unsure\n",
      static_cast<unsigned long long>(tally.lives),
      static_cast<unsigned long long>(tally.completed),
      static_cast<unsigned long long>(tally.killed), static_cast<unsigned long long>(tally.failed),
      static_cast<unsigned long long>(tally.resized), static_cast<unsigned long long>(tally.asked),
      static_cast<unsigned long long>(tally.lost),
      static_cast<unsigned long long>(tally.without_answer),
      static_cast<unsigned long long>(tally.suspensions),
      static_cast<unsigned long long>(tally.unsure));
  if (count == 0) return;
  EXPECT_GT(tally.completed, count);
  EXPECT_GT(tally.killed, count / 20);
  EXPECT_GT(tally.failed, count / 20);
  EXPECT_GT(tally.resized, count);
  EXPECT_GT(tally.asked, count / 2);
  EXPECT_GT(tally.lost, count / 40);
  EXPECT_GT(tally.without_answer, count / 10);
  EXPECT_GT(tally.suspensions, count / 2);
  EXPECT_LT(tally.unsure, tally.lives / 50);
}

}  // namespace
}  // namespace ductile
