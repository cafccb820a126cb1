// The figures of whole runs against books kept by hand: who held how many nodes from when to when,
// and paid for which resizes. Random workloads in a world where everything goes wrong, some of
// which come to no good end: nodes never come back, and jobs wait for ever; or the run is stopped.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/wide.hpp"
#include "report/allocations_csv.hpp"
#include "report/resizes_csv.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/random_policy.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile {
namespace {

/// What jobs hold, from what the core is told and decides alone.
class Books final : public Observer {
 public:
  double held_node_s = 0, paid_node_s = 0;
  // Of linear jobs: those that asked for enough, and these with those that lacked next to nothing,
  // which many nodes round away.
  std::uint64_t killed_by_resizes = 0, at_most = 0;
  Time last_held = Time::min(), now{};

  bool wants_events() const override { return true; }
  void on_event(Time at, const Event& event, bool taken, const Core&) override {
    if (!taken) return;
    if (const auto* resized = std::get_if<event::Resized>(&event)) {
      enter(at, resized->job, resized->now.count, false);
    } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
      enter(at, ended->job, 0, false);
    } else if (const auto* failed = std::get_if<event::StartFailed>(&event)) {
      enter(at, failed->job, 0, false);
    } else if (const auto* suspended = std::get_if<event::Suspended>(&event)) {
      enter(at, suspended->job, 0, false);
    }
  }
  void on_decision(Time at, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) {
      enter(at, decision.job, decision.after.count, false);
    } else if (decision.kind == Decision::Kind::resize) {
      const Nodes has = rows_[decision.job].nodes;
      enter(at, decision.job, std::max(has, decision.after.count), true);
    }
  }
  // What a linear job needs, and what it asked for, at another size are the same multiples.
  void on_end(Time, JobId, const WorkloadJob& job, EndState state, bool, const Core&) override {
    if (state != EndState::timeout) return;
    killed_by_resizes += job.runtime <= job.walltime ? 1 : 0;
    at_most += job.runtime <= job.walltime + 100 * kTick ? 1 : 0;
  }
  void on_finish(Time at, const Core&) override {
    now = at;
    for (const auto& [id, row] : std::map(rows_)) enter(at, id, row.nodes, row.pays);
  }

 private:
  struct Row {
    Nodes nodes = 0;
    bool pays = false;
    Time since{};
  };

  void enter(Time at, JobId id, Nodes nodes, bool pays) {
    Row& row = rows_[id];
    const double node_s = to_seconds(at - row.since) * row.nodes;
    held_node_s += node_s;
    if (row.pays) paid_node_s += node_s;
    if (row.nodes > 0) last_held = std::max(last_held, at);
    row = {nodes, pays, at};
  }

  std::map<JobId, Row> rows_;
};

struct FailedStarts final : Observer {
  std::uint64_t count = 0;
  void on_start_failed(Time, JobId, const Core&) override { ++count; }
};

struct Case : testing::Trouble {
  bool costs_are_known = false;  // from the order to the answer
};

Case random_case(std::uint64_t seed) {
  Case c{testing::random_trouble(seed)};
  Draws draws(seed, Stream::test, 9);
  for (AdaptiveJob& more : c.workload.adaptive) more.cost.fixed_s = draws.uniform(0, 60);
  SimulationSettings& settings = c.settings;
  settings.moves = false;  // these books know one size of a job at a time
  settings.policy = std::make_shared<testing::RandomPolicy>(
      testing::RandomPolicy::Settings{.calls = static_cast<std::uint32_t>(4 + draws.below(20))});
  c.costs_are_known = draws.chance(0.6);
  if (c.costs_are_known) settings.resize = {};
  if (!settings.node_events.empty() && draws.chance(0.5)) {
    for (NodeEvent& event : settings.node_events) event.health = Health::down;  // for ever
  }
  return c;
}

TEST(Figures, AreThoseOfTheBooks) {
  std::uint64_t left = 0, paid = 0, killed_by_resizes = 0;
  const testing::Runs runs{.usual = 4'000, .enough = 1'000};
  const std::uint64_t count = testing::for_seeds(runs, [&](std::uint64_t seed) {
    Case c = random_case(seed);
    const std::atomic<bool> stop = seed % 8 == 0;
    c.settings.stop = &stop;
    Books books;
    SummaryObserver figures(c.workload);
    Observer* const observers[] = {&books, &figures};
    const SimulationCounts counts = simulate(c.workload, c.settings, observers);
    const Summary s = figures.summary(c.workload, c.settings, counts);

    const Time first = c.workload.jobs.front().submit;
    const Time until = s.stopped ? books.now : std::max(first, books.last_held);
    ASSERT_EQ(s.makespan_s, to_seconds(until - first));
    ASSERT_NEAR(counts.held_node_s, books.held_node_s, 1e-6 * (1 + books.held_node_s));
    if (c.costs_are_known) {
      ASSERT_NEAR(s.reconfiguration_node_s, books.paid_node_s, 1e-6 * (1 + books.paid_node_s));
    } else {
      ASSERT_LE(s.reconfiguration_node_s, books.paid_node_s * (1 + 1e-9) + 1e-6);
    }
    ASSERT_GE(s.killed_by_resizes, books.killed_by_resizes);
    // A start that its pass made larger keeps the deadline of its first size where limits are
    // fixed.
    if (c.settings.rules.limit == Rules::Limit::scaled) {
      ASSERT_LE(s.killed_by_resizes, books.at_most);
    }
    ASSERT_LE(s.killed_by_resizes, s.killed);
    killed_by_resizes += s.killed_by_resizes;
    paid += s.reconfiguration_node_s > 0 ? 1 : 0;
    left += s.jobs_left > 0 && !s.stopped ? 1 : 0;
    if (s.makespan_s == 0) return;
    const double machine_node_s = s.makespan_s * static_cast<double>(s.nodes);
    ASSERT_NEAR(s.utilization, books.held_node_s / machine_node_s, 1e-9);
    ASSERT_LE(s.utilization, 1 + 1e-12);
    ASSERT_GE(s.utilization_net, -1e-12);
    ASSERT_LE(s.utilization_net, s.utilization);
    ASSERT_NEAR(s.throughput_jobs_h, static_cast<double>(s.jobs) * 3600 / s.makespan_s, 1e-9);
    if (s.premium_until) {
      ASSERT_LE(*s.premium_until, 1);
    }
  });
  std::printf(
      "%llu runs: in %llu jobs were left, in %llu resizes were paid for; %llu jobs were killed by "
      "resizes\n",
      static_cast<unsigned long long>(count_of(runs)), static_cast<unsigned long long>(left),
      static_cast<unsigned long long>(paid), static_cast<unsigned long long>(killed_by_resizes));
  if (count == 0) return;
  EXPECT_GT(left, count / 40);
  EXPECT_GT(paid, count / 4);
  EXPECT_GT(killed_by_resizes, count / 40);
}

Time time_of(const std::string& seconds) {
  return Time{Duration{std::llround(std::stold(seconds) * 1'000'000)}};
}

// The node time of a file of allocations, in node-microseconds. No two rows of a job overlap.
Wide node_time_of(const std::filesystem::path& path) {
  Wide sum = 0;
  std::map<std::string, Time> until;  // by job
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
    const Time from = time_of(fields.at(1)), to = time_of(fields.at(2));
    EXPECT_LT(from, to) << line;
    const auto [at, is_new] = until.try_emplace(fields.at(0), to);
    if (!is_new) {
      EXPECT_LE(at->second, from) << line;
      at->second = to;
    }
    sum += Wide{std::stoll(fields.at(3))} * (to - from).count();
  }
  return sum;
}

// To the last microsecond, whatever goes wrong.
TEST(Figures, AllocationsAddUpToWhatIsHeld) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "allocations.csv";
  std::uint64_t failed_starts = 0;
  const testing::Runs runs{.usual = 1'000, .enough = 200};
  const std::uint64_t count = testing::for_seeds(runs, [&](std::uint64_t seed) {
    Case c = random_case(seed);
    c.settings.moves = seed % 2 == 0;
    const std::atomic<bool> stop = seed % 8 == 0;
    c.settings.stop = &stop;
    AllocationsCsv rows(path, c.workload);
    FailedStarts failed;
    Observer* const observers[] = {&rows, &failed};
    const SimulationCounts counts = simulate(c.workload, c.settings, observers);
    rows.commit();
    failed_starts += failed.count;
    ASSERT_EQ(static_cast<double>(node_time_of(path)) / 1e6, counts.held_node_s);
  });
  if (count == 0) return;
  EXPECT_GT(failed_starts, 50u);
}

// As many grow and shrink as the summary says, and their costs add up to its, to the last
// microsecond.
TEST(Figures, ResizesAreThoseOfTheSummary) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "resizes.csv";
  std::map<ResizeOutcome, std::uint64_t> outcomes;
  std::uint64_t paid = 0, losses = 0;
  const testing::Runs runs{.usual = 1'000, .enough = 200};
  const std::uint64_t count = testing::for_seeds(runs, [&](std::uint64_t seed) {
    Case c = random_case(seed);
    c.settings.moves = seed % 2 == 0;
    const std::atomic<bool> stop = seed % 8 == 0;
    c.settings.stop = &stop;
    ResizesCsv rows(path, c.workload);
    SummaryObserver figures(c.workload);
    Observer* const observers[] = {&rows, &figures};
    const SimulationCounts counts = simulate(c.workload, c.settings, observers);
    rows.commit();
    const Summary s = figures.summary(c.workload, c.settings, counts);
    std::uint64_t expands = 0, shrinks = 0;
    Wide cost = 0;
    for (const ResizeRow& row : read_resizes(path)) {
      expands += row.after > row.before ? 1 : 0;
      shrinks += row.after < row.before ? 1 : 0;
      ASSERT_EQ(row.until.has_value(), row.outcome != ResizeOutcome::lost);
      if (row.outcome == ResizeOutcome::done) {
        ASSERT_EQ(row.after, row.ordered);
      }
      if (row.cost) cost += row.cost->count();
      ++outcomes[row.outcome];
      losses += row.reason == "node-failure" ? 1 : 0;
    }
    ASSERT_EQ(expands, s.expands);
    ASSERT_EQ(shrinks, s.shrinks);
    ASSERT_EQ(static_cast<double>(cost) / 1e6, s.reconfiguration_node_s);
    paid += cost > 0 ? 1 : 0;
  });
  if (count == 0) return;
  for (const ResizeOutcome outcome :
       {ResizeOutcome::done, ResizeOutcome::partly, ResizeOutcome::refused, ResizeOutcome::lost}) {
    EXPECT_GT(outcomes[outcome], count / 10) << word(outcome);
  }
  EXPECT_GT(paid, count / 8);
  EXPECT_GT(losses, 10u);
}

}  // namespace
}  // namespace ductile
