// The policies of papers 001 and 003 that expand and shrink, on random workloads: without malleable
// jobs they are their rigid baselines; with jobs of all types and a world full of trouble they
// start every job; and water filling is what its words say.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/resizing.hpp"
#include "simulation/simulation.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

/// What was decided when, apart from which nodes.
class Record final : public Observer {
 public:
  struct Entry {
    Time at;
    JobId job;
    Decision::Kind kind;
    Nodes nodes;
    bool operator==(const Entry&) const = default;
  };
  void on_decision(Time now, const Decision& decision, const Core&) override {
    entries.push_back({now, decision.job, decision.kind, decision.after.count});
    if (entries.size() > 100'000) throw std::runtime_error("this never ends");
  }
  std::vector<Entry> entries;
};

struct Result {
  std::vector<Record::Entry> entries;
  SimulationCounts counts;
};

Result run(const Workload& workload, SimulationSettings settings,
           std::shared_ptr<const Policy> policy) {
  settings.policy = std::move(policy);
  Record record;
  Observer* const observers[] = {&record};
  Result result;
  result.counts = simulate(workload, settings, observers);
  result.entries = std::move(record.entries);
  return result;
}

class Policies : public ::testing::TestWithParam<const char*> {};

TEST_P(Policies, WithoutMalleableJobsAreTheirRigidBaselines) {
  for_seeds(400, [](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 2);
    const std::string name = GetParam();
    const std::string depth = std::to_string(1 + draws.below(6));
    const bool first = draws.chance(0.5);
    const bool fpsma = name == "fpsma", dbes = name == "dbes";
    const char* const more = !first ? "" : dbes ? ",profile=n" : ",backfill=first";
    const std::string policy = fpsma ? "fpsma:tick=0" : name + ":depth=" + depth + more;
    SimulationSettings settings;
    settings.platform.nodes = static_cast<Nodes>(1 + draws.below(40));
    settings.rules.check = seed % 4 == 0;
    Workload workload;
    workload.jobs =
        random_jobs(seed, 80, settings.platform.nodes, draws.chance(0.5) ? 1'000'000 : 10'000'000);
    for (WorkloadJob& job : workload.jobs) job.walltime = std::max(job.walltime, job.runtime);
    const Result ours = run(workload, settings, make_policy(policy));
    const Result rigid =
        run(workload, settings, make_policy(fpsma ? "fcfs" : "backfill:depth=" + depth));
    ASSERT_EQ(ours.counts.jobs_left, 0u);
    ASSERT_TRUE(ours.entries == rigid.entries);
  });
}

/// What is noted of a pass saves work and changes nothing, nor does knowing which nodes.
TEST_P(Policies, DecideTheSameWithoutNotesAndWithIdentities) {
  /// Forgets before each pass what the last one noted.
  struct Forgetful final : Policy {
    explicit Forgetful(std::shared_ptr<const Policy> policy)
        : Policy(policy->traits), its(std::move(policy)) {}
    void schedule(Pass& pass) const override {
      pass.forget_memo();
      its->schedule(pass);
    }
    std::shared_ptr<const Policy> its;
  };
  for_seeds(300, [](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    t.settings.node_events.clear();
    std::string text = GetParam() + std::string(seed % 2 == 0 ? ":tick=0" : ":tick=0,order=sjf");
    if (seed % 3 == 0 && !text.starts_with("dbes") && !text.starts_with("fpsma")) {
      text += ",backfill=first";
    }
    const auto policy = make_policy(text);
    const Result noted = run(t.workload, t.settings, policy);
    const Result forgot = run(t.workload, t.settings, std::make_shared<Forgetful>(policy));
    ASSERT_TRUE(noted.entries == forgot.entries);
    t.settings.rules.identities = !t.settings.rules.identities;
    ASSERT_TRUE(noted.entries == run(t.workload, t.settings, policy).entries);
  });
}

INSTANTIATE_TEST_SUITE_P(ExpandShrink, Policies,
                         ::testing::Values("dbes", "equipartition", "equigrow", "esf", "edf", "ldf",
                                           "fpsma"),
                         [](const auto& its) { return std::string(its.param); });

TEST(WaterFill, PoursDropByDrop) {
  for_seeds(3'000, [](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 4);
    std::vector<Vessel> vessels(draws.below(9));
    for (Vessel& vessel : vessels) {
      vessel.level = static_cast<std::int64_t>(draws.below(12)) - 6;
      vessel.room = static_cast<Nodes>(draws.below(10));
    }
    const auto amount = static_cast<Nodes>(draws.below(60));
    std::vector<Nodes> naive(vessels.size(), 0);
    for (Nodes drop = 0; drop < amount; ++drop) {
      std::size_t lowest = vessels.size();
      for (std::size_t i = 0; i < vessels.size(); ++i) {
        if (naive[i] == vessels[i].room) continue;
        if (lowest == vessels.size() ||
            vessels[i].level + naive[i] < vessels[lowest].level + naive[lowest]) {
          lowest = i;
        }
      }
      if (lowest == vessels.size()) break;
      ++naive[lowest];
    }
    ASSERT_EQ(water_fill(vessels, amount), naive);
  });
}

}  // namespace
}  // namespace ductile::testing
