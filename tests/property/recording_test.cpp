// Whatever a run does, its log replays to the same decisions, and a log that was touched is
// refused.
//
// DUCTILE_CASES: how many random runs.
#include "simulation/recording.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "simulation/failures.hpp"
#include "simulation/replay.hpp"
#include "simulation/simulation.hpp"
#include "support/hostile_world.hpp"
#include "support/log.hpp"
#include "support/random_policy.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

// --- Random runs ---------------------------------------------------------------------------------

Duration some_seconds(Draws& draws, std::uint64_t most) {
  return whole_seconds(static_cast<std::int64_t>(draws.below(most + 1)));
}

RandomDuration random_duration(Draws& draws) {
  using Kind = RandomDuration::Kind;
  const auto kind = static_cast<Kind>(draws.below(3));
  const Duration a = some_seconds(draws, 20);
  return {kind, a, a + some_seconds(draws, 20)};
}

AdaptiveJob random_adaptive(Draws& draws, Nodes preferred, Nodes total) {
  AdaptiveJob job;
  job.type = static_cast<JobType>(1 + draws.below(4));
  job.size.min = static_cast<Nodes>(1 + draws.below(preferred));
  job.size.max = static_cast<Nodes>(preferred + draws.below(total));
  const char* const models[] = {"linear",       "powerlaw:0.3",  "amdahl:0.2",
                                "overhead:0.4", "downey:12:0.7", "table:1=20:4=6:16=2"};
  job.speedup = parse_speedup(models[draws.below(std::size(models))]);
  if (draws.chance(0.7)) job.cost = {0.1, 1, 0.05, 0.5, draws.chance(0.5) ? 1 : 0.5};
  job.believed.speedup = draws.chance(0.7) ? job.speedup : Speedup{};
  job.believed.cost = job.cost;
  job.believed.resize_delay = some_seconds(draws, 5);
  if (draws.chance(0.2)) {
    job.believed.constraint = parse_constraint(draws.chance(0.5) ? "even" : "list:1:2:3:6:7:20");
  }
  if (job.type == JobType::evolving || job.type == JobType::adaptive) {
    double progress = 0;
    for (auto n = draws.below(4); n > 0; --n) {
      progress += draws.uniform(0, 0.4);
      const auto delta = static_cast<std::int32_t>(1 + draws.below(5));
      job.steps.push_back(
          {progress, draws.chance(0.3) ? -delta : delta, static_cast<Nodes>(draws.below(3))});
    }
  }
  return job;
}

Workload random_workload(Draws& draws, Nodes total) {
  Workload workload;
  workload.name = "random";
  Time at{};
  for (auto n = 5 + draws.below(25); n > 0; --n) {
    if (draws.chance(0.7)) at += some_seconds(draws, 30);
    WorkloadJob job;
    job.name = workload.jobs.size() + 1;
    job.submit = at;
    job.runtime = Duration{1} + some_seconds(draws, 200);
    job.walltime = draws.chance(0.3) ? job.runtime / 2 : job.runtime + some_seconds(draws, 100);
    job.nodes = static_cast<Nodes>(1 + draws.below(draws.chance(0.9) ? total / 2 : total + 2));
    job.user = static_cast<std::uint32_t>(draws.below(3));
    if (draws.chance(0.7)) {
      job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
      workload.adaptive.push_back(random_adaptive(draws, job.nodes, total));
    }
    workload.jobs.push_back(job);
  }
  return workload;
}

struct RandomRun {
  Workload workload;
  SimulationSettings settings;

  explicit RandomRun(std::uint64_t seed) {
    Draws draws(seed, Stream::test, 5);
    const auto total = static_cast<Nodes>(4 + draws.below(29));
    workload = random_workload(draws, total);
    settings.platform.nodes = total;
    RandomPolicy::Settings policy;
    policy.calls = static_cast<std::uint32_t>(2 + draws.below(11));
    policy.draw_traits(draws);
    settings.policy = std::make_shared<RandomPolicy>(policy);
    settings.rules.seed = seed;
    settings.rules.record = settings.rules.check = true;
    settings.rules.identities = draws.chance(0.6);
    settings.rules.limit = draws.chance(0.5) ? Rules::Limit::scaled : Rules::Limit::fixed;
    settings.kill_overrun = draws.chance(0.5);
    ResizeBehaviour& resize = settings.resize;
    if (draws.chance(0.7)) resize.delay = random_duration(draws);
    const auto probability = [&] { return draws.chance(0.5) ? 0 : draws.uniform(0, 0.5); };
    resize.refuse = probability();
    resize.lose = probability();
    resize.partly = probability();
    resize.repeat = probability();
    if (draws.chance(0.5)) {
      settings.start_delay = random_duration(draws);
      settings.start_failure = probability();
    }
    if (settings.rules.identities && draws.chance(0.7)) {
      settings.on_failure = static_cast<SimulationSettings::OnFailure>(draws.below(3));
      settings.node_events = generate_failures({whole_seconds(500), whole_seconds(60)}, total,
                                               Time{}, Time{whole_seconds(2000)}, seed);
      for (NodeEvent& event : settings.node_events) {
        if (event.health == Health::down && draws.chance(0.2)) event.health = Health::draining;
      }
    }
    settings.predict_walltimes = draws.chance(0.3);
  }
};

// That the runs meet what they are meant to meet.
struct Seen final : Observer {
  std::uint64_t resized = 0, unchanged = 0, partly = 0, requeued = 0, start_failed = 0,
                node_changes = 0, requests = 0, twice = 0;
  std::vector<Decision> open;

  bool wants_events() const override { return true; }
  void on_event(Time, const Event& event, bool taken, const Core&) override {
    start_failed += std::holds_alternative<event::StartFailed>(event) ? 1 : 0;
    node_changes += std::holds_alternative<event::NodesChanged>(event) ? 1 : 0;
    requests += std::holds_alternative<event::EvolvingRequested>(event) ? 1 : 0;
    if (const auto* e = std::get_if<event::Resized>(&event)) {
      twice += taken ? 0 : 1;
      if (taken && index(e->answers) < asked.size()) {
        partly += e->now.count != asked[index(e->answers)] ? 1 : 0;
      }
    }
  }
  void on_decision(Time, const Decision& decision, const Core&) override {
    asked.resize(index(decision.id) + 1);
    asked[index(decision.id)] = decision.after.count;
  }
  void on_resized(Time, JobId id, Nodes before, const Core& core) override {
    ++(core.job(id).size() == before ? unchanged : resized);
  }
  void on_end(Time, JobId, const WorkloadJob&, EndState, bool again, const Core&) override {
    requeued += again ? 1 : 0;
  }

 private:
  std::vector<Nodes> asked;  // by decision
};

std::string log_path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string record(const RandomRun& run, const std::string& path, Observer* more = nullptr) {
  Recorder recorder(path);
  std::vector<Observer*> observers{&recorder};
  if (more) observers.push_back(more);
  simulate(run.workload, run.settings, observers);
  return text_of(path);
}

Replayed replay_text(const std::string& text) {
  std::istringstream in(text);
  return replay(in, "log", test_policy);
}

// --- Tests ---------------------------------------------------------------------------------------

TEST(Recording, OfRandomRunsReplaysToTheSameDecisions) {
  Seen seen;
  std::uint64_t decisions = 0, pen_calls = 0;
  const std::uint64_t count = for_seeds({.usual = 400, .first = 1}, [&](std::uint64_t seed) {
    const RandomRun run(seed);
    const std::string text = record(run, log_path("random.log"), &seen);
    Replayed done;
    ASSERT_NO_THROW(done = replay_text(text)) << text.substr(0, 2000);
    EXPECT_EQ(done.policy, run.settings.policy->traits.settings);
    decisions += done.decisions;
    pen_calls += done.pen_calls;
    if (seed % 10 == 0) {
      EXPECT_EQ(record(run, log_path("again.log")), text);
    }
  });
  if (count == 0) return;
  EXPECT_GT(decisions, 10 * count);
  EXPECT_GT(pen_calls, 10 * count);
  EXPECT_GT(seen.resized, count);
  EXPECT_GT(seen.unchanged, count / 4);
  EXPECT_GT(seen.partly, count / 4);
  EXPECT_GT(seen.requeued, count / 4);
  EXPECT_GT(seen.start_failed, count / 4);
  EXPECT_GT(seen.node_changes, count);
  EXPECT_GT(seen.requests, count);
  EXPECT_GT(seen.twice, count / 10);
}

TEST(Recording, OfTheHostileWorldReplaysToTheSameDecisions) {
  for_seeds({.usual = 100, .first = 1}, [](std::uint64_t seed) {
    HostileSettings settings = random_settings(seed);
    settings.journal = settings.rules.record = true;
    HostileWorld world(settings);
    while (world.step()) {
    }
    Replayed done;
    ASSERT_NO_THROW(done = replay_text(sealed_log(log_lines(world))));
    EXPECT_EQ(done.events, world.figures().events);
    EXPECT_EQ(done.decisions, world.figures().decisions);
  });
}

// The log of a short run in which much happens.
std::string short_log() {
  for (std::uint64_t seed = 1;; ++seed) {
    std::string text = record(RandomRun(seed), log_path("short.log"));
    const bool much = text.find("resized") != std::string::npos &&
                      text.find(" down\n") != std::string::npos &&
                      text.find("shrunk-for") != std::string::npos;
    if (much && text.size() < 10'000) return text;
  }
}

TEST(Recording, ThatWasCutAnywhereIsRefused) {
  const std::string text = short_log();
  ASSERT_NO_THROW(replay_text(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    ASSERT_THROW(replay_text(text.substr(0, size)), InputError) << size;
  }
  // A line that is missing or there twice.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    ASSERT_THROW(replay_text(text.substr(0, begin) + text.substr(end)), InputError) << line;
    ASSERT_THROW(replay_text(text.substr(0, end) + line + text.substr(end)), InputError) << line;
    begin = end;
  }
}

TEST(Recording, WithOneAlteredByteIsRefused) {
  const std::string text = short_log();
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char altered : {static_cast<char>(text[i] ^ 1), '\n', ' ', '0'}) {
      if (altered == text[i]) continue;
      std::string other = text;
      other[i] = altered;
      ASSERT_THROW(replay_text(other), InputError) << i;
    }
  }
}

// A log whose checksum is right is never worse than refused.
TEST(Recording, AlteredAndSealedAgainIsReplayedOrRefused) {
  std::string text = short_log();
  text.resize(text.rfind("end "));
  std::uint64_t refused = 0, other = 0, same = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9' || i % 3 != 0) continue;
    std::string altered = text;
    altered[i] = text[i] == '9' ? '0' : static_cast<char>(text[i] + 1);
    try {
      replay_text(sealed_log(altered));
      ++same;
    } catch (const InputError&) {
      ++refused;
    } catch (const RunError&) {
      ++other;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(other, 50u);
  EXPECT_GT(2 * other, same);  // it hangs on the log, of which numbers there are many
}

TEST(Recording, OfAnotherPolicyIsNoticed) {
  for_seeds({.usual = 20, .first = 1}, [](std::uint64_t seed) {
    std::string text = record(RandomRun(seed), log_path("policy.log"));
    text.resize(text.rfind("end "));
    const std::size_t begin = text.find("\npolicy ") + 1;
    text.replace(begin, text.find('\n', begin) - begin,
                 "policy " + to_record(test_policy("fcfs")->traits));
    EXPECT_THROW(replay_text(sealed_log(text)), RunError);
  });
}

}  // namespace
}  // namespace ductile::testing
