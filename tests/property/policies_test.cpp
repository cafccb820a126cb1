// Every policy of the registry, with any parameters, on random workloads of all kinds of jobs: what
// a run promises whatever happens. And what some of them promise besides.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/hostile_world.hpp"
#include "support/random_jobs.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"
#include "support/work_books.hpp"

namespace ductile::testing {
namespace {

// ---- All of them
// ----------------------------------------------------------------------------------

class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  static const PolicyInfo& info() {
    return *std::ranges::find(policies(), GetParam(), &PolicyInfo::name);
  }
  static std::string drawn(std::uint64_t seed) {
    Draws draws(seed, Stream::test, 7);
    return random_parameters(info(), draws);
  }
  /// Of so many for all policies together.
  static std::uint64_t share_of(std::uint64_t cases) { return cases / policies().size() + 1; }
};

/// Now and then operators order sizes and other nodes, and at last any size again.
void order_sizes(Trouble& t, std::uint64_t seed) {
  Draws draws(seed, Stream::test, 8);
  if (!draws.chance(0.3)) return;
  std::vector<OperatorOrder>& orders = t.settings.orders;
  const auto jobs = static_cast<std::uint32_t>(t.workload.jobs.size());
  Time at{};
  for (std::uint64_t n = draws.below(20); n > 0; --n) {
    at += whole_seconds(static_cast<std::int64_t>(draws.below(40)));
    OperatorOrder order{at, JobId{static_cast<std::uint32_t>(draws.below(jobs))}};
    order.what = OperatorOrder::Leave{};
    if (draws.chance(0.7)) {
      const Nodes to = static_cast<Nodes>(draws.below(t.settings.platform.nodes + 1));
      order.what = OperatorOrder::Resize{to};
    }
    orders.push_back(order);
  }
  for (std::uint32_t i = 0; i < jobs; ++i) {
    orders.push_back({at + whole_seconds(50), JobId{i}, OperatorOrder::Resize{}});
  }
  std::ranges::stable_sort(orders, {}, &OperatorOrder::at);
}

/// In the simulated world: the invariants hold after every event, every job ends when the trouble
/// is over and has had the nodes for its work, and the same run gives the same decisions.
TEST_P(EveryPolicy, EndsEveryJob) {
  std::uint64_t suspended = 0;
  const std::uint64_t runs = for_seeds(share_of(10'000), [&](std::uint64_t seed) {
    const std::string policy = drawn(seed);
    SCOPED_TRACE(policy);
    Trouble t = random_trouble(seed);
    order_sizes(t, seed);
    t.settings.policy = make_policy(policy);
    WorkBooks books(t.workload);
    Observer* const observers[] = {&books};
    const SimulationCounts counts = simulate(t.workload, t.settings, observers);
    ASSERT_EQ(counts.jobs_left, 0u);
    ASSERT_TRUE(books.refused.empty() || t.settings.resize.repeat > 0);
    suspended += books.suspended;
    if (seed % 20 == 0) {
      WorkBooks again(t.workload);
      Observer* const second[] = {&again};
      simulate(t.workload, t.settings, second);
      ASSERT_EQ(again.digest, books.digest);
    }
  });
  if (runs > 0) EXPECT_GT(suspended, 0u);
}

/// In a world that also meddles: starts and resizes jobs itself, holds and cancels them, changes
/// orders, power and policy.
TEST_P(EveryPolicy, KeepsItsPromisesInAHostileWorld) {
  for_seeds(share_of(2'000), [](std::uint64_t seed) {
    const bool shares = make_policy(info().name)->traits.needs.parts;
    HostileSettings settings = shares ? sharing_settings(seed + 1) : random_settings(seed + 1);
    settings.make_policy = [](Draws& draws) {
      return make_policy(random_parameters(info(), draws));
    };
    HostileWorld world(settings);
    world.live();
  });
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : policies()) all.push_back(info.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, ::testing::ValuesIn(names()),
                         [](const auto& its) { return its.param; });

// ---- Policies that resize
// ------------------------------------------------------------------------

/// Starts and ends of all jobs, by id.
class Times final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) starts[decision.job] = now;
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    ends[id] = now;
  }
  std::map<JobId, Time> starts, ends;
};

/// Whatever their parameters, where nobody can be resized they are EASY.
class BaselineEasy : public ::testing::TestWithParam<std::string> {};

TEST_P(BaselineEasy, WithoutMalleableJobs) {
  for_seeds(1'000, [](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 8);
    const PolicyInfo& info = *std::ranges::find(policies(), GetParam(), &PolicyInfo::name);
    std::string policy = random_parameters(info, draws);
    const bool tries = policy.find("try_depth=") != std::string::npos;
    const std::size_t depth = policy.find(tries ? "try_depth=" : "order=");
    const QueueOrder order{static_cast<std::uint8_t>(draws.below(kQueueOrderWords.size()))};
    std::string common = "order=" + std::string(kQueueOrderWords[static_cast<std::size_t>(order)]);
    if (order == QueueOrder::multifactor) {
      common += ",weight_age=1000,max_age=100,weight_fairshare=800,weight_size=600";
    }
    policy.replace(depth, std::string::npos, (tries ? "try_depth=0," : "") + common);
    // A tick sorts such a queue once more.
    const std::size_t tick = policy.find("tick="), end = policy.find(',', tick);
    if (changes_with_time(order)) policy.replace(tick, end - tick, "tick=0");
    SCOPED_TRACE(policy);
    const auto nodes = static_cast<Nodes>(1 + draws.below(40));
    Workload workload;
    workload.jobs = random_jobs(seed, 10 + draws.below(90), nodes, 1'000'000);
    SimulationSettings settings;
    settings.platform.nodes = nodes;
    settings.kill_overrun = draws.chance(0.3);
    for (WorkloadJob& job : workload.jobs) {
      if (!settings.kill_overrun) job.walltime = std::max(job.walltime, job.runtime);
    }
    const auto run = [&](const std::string& name) {
      settings.policy = make_policy(name);
      Times times;
      Observer* const observers[] = {&times};
      simulate(workload, settings, observers);
      return std::pair(times.starts, times.ends);
    };
    ASSERT_TRUE(run(policy) == run("easy:" + common));
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, BaselineEasy,
                         ::testing::Values("mebf", "elastic", "wagomu", "keeppref"),
                         [](const auto& its) { return its.param; });

/// Nobody is shrunk for a job that neither starts nor grows in the same instant, and no more than
/// it needs.
class Purposes final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (now != now_) settle();
    now_ = now;
    const Why why = decision.reason.why;
    if (decision.kind == Decision::Kind::start || why == Why::evolving ||
        why == Why::dependency_expand || why == Why::hand_out) {
      served_.push_back(decision.job);
    }
    if (decision.kind == Decision::Kind::resize && decision.reason.why == Why::shrunk_for) {
      wanted_.push_back(decision.reason.job);
      ++shrinks;
      EXPECT_GE(decision.after.count, core.job(decision.job).spec.size.min);
    }
  }
  void on_finish(Time, const Core&) override { settle(); }

  std::uint64_t shrinks = 0;

 private:
  void settle() {
    for (const JobId id : wanted_) {
      EXPECT_NE(std::ranges::find(served_, id), served_.end()) << "job " << index(id);
    }
    wanted_.clear();
    served_.clear();
  }

  Time now_{};
  std::vector<JobId> wanted_, served_;
};

class Purposeful : public ::testing::TestWithParam<std::string> {};

TEST_P(Purposeful, ShrinksNobodyInVain) {
  std::uint64_t shrinks = 0;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 9);
    const PolicyInfo& info = *std::ranges::find(policies(), GetParam(), &PolicyInfo::name);
    const std::string policy = random_parameters(info, draws);
    SCOPED_TRACE(policy);
    Trouble t = random_trouble(seed);
    SimulationSettings settings;  // no trouble
    settings.platform = t.settings.platform;
    settings.policy = make_policy(policy);
    settings.rules = t.settings.rules;
    Purposes purposes;
    Observer* const observers[] = {&purposes};
    simulate(t.workload, settings, observers);
    shrinks += purposes.shrinks;
  });
  if (runs > 0) EXPECT_GT(shrinks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Policies, Purposeful,
                         ::testing::Values("dbes", "elastic", "equipartition", "equigrow", "esf",
                                           "edf", "ldf", "fpsma", "tide", "wagomu"),
                         [](const auto& its) { return its.param; });

}  // namespace
}  // namespace ductile::testing
