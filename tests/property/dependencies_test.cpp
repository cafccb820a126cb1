// Random jobs that wait for others, under every policy: they come exactly when a book kept by hand
// says, and then everything goes as if their users had submitted them at that time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile {
namespace {

using testing::for_seeds;
using testing::random_trouble;
using testing::Trouble;
using Kind = Dependency::Kind;

/// What became of jobs, by their names.
class Seen final : public Observer {
 public:
  explicit Seen(const Workload& workload) : workload_(workload) {}
  bool wants_events() const override { return true; }

  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (const auto* submitted = std::get_if<event::Submitted>(&event)) {
      const auto id = JobId{static_cast<std::uint32_t>(names_.size())};
      names_.push_back(submitted->job.name);
      came[submitted->job.name] = now;
      // Observers find the job where its id says.
      is_right = is_right && workload_.jobs[index(id)].name == submitted->job.name &&
                 workload_.jobs[index(id)].submit == now && submitted->job.submitted == now;
    } else if (const auto* started = std::get_if<event::Started>(&event); started && taken) {
      begun.try_emplace(name(started->job), now);
    }
    static_cast<void>(core);
  }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind != Decision::Kind::start) return;
    starts.emplace_back(name(decision.job), now);
    if (core.state().capabilities.instant_start) begun.try_emplace(name(decision.job), now);
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool requeued,
              const Core&) override {
    if (requeued) return;
    ends[name(id)] = now;
    succeeded[name(id)] = state == EndState::completed;
  }

  std::map<std::uint64_t, Time> came, begun, ends;
  std::map<std::uint64_t, bool> succeeded;
  std::vector<std::pair<std::uint64_t, Time>> starts;
  bool is_right = true;

 private:
  std::uint64_t name(JobId id) const { return names_.at(index(id)); }

  const Workload& workload_;
  std::vector<std::uint64_t> names_;
};

/// Each job waits for up to three before it in the list.
void let_wait(Workload& workload, std::uint64_t seed, bool with_after) {
  Draws draws(seed, Stream::test, 9);
  const double share = draws.uniform(0.1, 0.9);
  for (std::uint32_t job = 1; job < workload.jobs.size(); ++job) {
    if (!draws.chance(share)) continue;
    for (std::uint64_t n = 1 + draws.below(3); n > 0; --n) {
      Precedence row{.job = job, .on = static_cast<std::uint32_t>(draws.below(job))};
      row.kind = static_cast<Kind>(with_after ? draws.below(4) : 1 + draws.below(3));
      if (row.kind == Kind::afterany) row.sets_submit = draws.chance(0.5);
      if (draws.chance(0.5)) {
        row.think = whole_seconds(static_cast<std::int64_t>(draws.below(30)));
      }
      workload.precedences.push_back(row);
    }
  }
}

/// When a job comes, as far as what is written of it says; nothing: never.
std::optional<Time> by_hand(const Workload& workload, std::uint32_t job, const Seen& seen) {
  std::optional<Time> own = workload.jobs[job].submit;
  Time last = Time::min();
  for (const Precedence& row : workload.precedences) {
    if (row.job != job) continue;
    if (row.sets_submit) own.reset();
    const std::uint64_t on = workload.jobs[row.on].name;
    const auto end = seen.ends.find(on);
    std::optional<Time> when;
    if (row.kind == Kind::after) {
      if (const auto begun = seen.begun.find(on); begun != seen.begun.end()) {
        when = begun->second;
      } else if (end != seen.ends.end()) {
        when = end->second;
      }
    } else if (end != seen.ends.end()) {
      const bool fits =
          row.kind == Kind::afterany || (row.kind == Kind::afterok) == seen.succeeded.at(on);
      if (fits) when = end->second;
    }
    if (!when) return std::nullopt;
    last = std::max(last, *when + row.think);
  }
  return own ? std::max(*own, last) : last;
}

void check_by_hand(const Workload& read, const Seen& seen) {
  ASSERT_TRUE(seen.is_right);
  for (std::uint32_t i = 0; i < read.jobs.size(); ++i) {
    const std::uint64_t name = read.jobs[i].name;
    const auto expected = by_hand(read, i, seen);
    const auto came = seen.came.find(name);
    ASSERT_EQ(expected.has_value(), came != seen.came.end()) << "job " << name;
    if (expected) ASSERT_EQ(came->second, *expected) << "job " << name;
  }
  for (const auto& [name, start] : seen.starts) ASSERT_GE(start, seen.came.at(name));
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  static std::uint64_t share_of(std::uint64_t cases) {
    return cases / built_in_policies().size() + 1;
  }
};

/// Whatever goes wrong in the world, they come when the book says.
TEST_P(EveryPolicy, JobsComeWhenTheirDependenciesAreFulfilled) {
  for_seeds(share_of(3'000), [](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    t.settings.policy = make_policy(GetParam());
    let_wait(t.workload, seed, true);
    Workload run = t.workload;
    Seen seen(run);
    Observer* const observers[] = {&seen};
    const SimulationCounts counts = simulate_in_order(run, t.settings, observers);
    check_by_hand(t.workload, seen);
    ASSERT_EQ(counts.jobs_left, t.workload.jobs.size() - seen.ends.size());
  });
}

/// Who came is scheduled as who was submitted then.
TEST_P(EveryPolicy, IsAsIfTheyHadBeenSubmittedThen) {
  std::uint64_t never = 0;
  const std::uint64_t runs = for_seeds(share_of(3'000), [&](std::uint64_t seed) {
    Workload read;
    SimulationSettings settings;
    settings.platform.nodes = static_cast<Nodes>(1 + mixed(seed) % 20);
    settings.policy = make_policy(GetParam());
    settings.kill_overrun = seed % 2 == 0;
    settings.rules.identities = true;
    read.jobs = testing::random_jobs(seed, 40, settings.platform.nodes, 1'000'000);
    if (!settings.kill_overrun) {
      for (WorkloadJob& job : read.jobs) job.walltime = std::max(job.walltime, job.runtime);
    }
    let_wait(read, seed, false);
    Workload run = read;
    Seen seen(run);
    Observer* const observers[] = {&seen};
    never += simulate_in_order(run, settings, observers).dependency_never;
    check_by_hand(read, seen);
    run.jobs.resize(seen.came.size());
    run.precedences.clear();
    Seen again(run);
    Observer* const others[] = {&again};
    simulate(run, settings, others);
    ASSERT_EQ(again.starts, seen.starts);
    ASSERT_EQ(again.ends, seen.ends);
  });
  if (runs > 0) EXPECT_GT(never, 0u);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : built_in_policies()) all.push_back(info.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, ::testing::ValuesIn(names()),
                         [](const auto& its) { return its.param; });

}  // namespace
}  // namespace ductile
