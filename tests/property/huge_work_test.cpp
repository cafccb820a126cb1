// Jobs of any size and length that a log can describe: up to 2^24 nodes and 10^11 s, which is a
// million times the work that 64 bits hold. Under policies that resize them each of them has the
// nodes for its work, to the microsecond.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/malleable.hpp"
#include "support/seeds.hpp"
#include "support/work_books.hpp"

namespace ductile::testing {
namespace {

/// Small ones as often as large ones.
std::int64_t any_length(Draws& draws, std::uint64_t bits) {
  return static_cast<std::int64_t>(1 + draws.below(std::uint64_t{1} << draws.below(bits + 1)));
}

TEST(HugeWork, HasTheNodesThatItNeeds) {
  constexpr std::array kPolicies{"mebf:tick=0,expand=intensive,gap=shrink+,theta=0",
                                 "elastic",
                                 "elastic:algorithm=application,x=50,t=0",
                                 "dbes",
                                 "equipartition",
                                 "fpsma:tick=0"};
  constexpr Nodes kMachine = Nodes{1} << 24;
  std::uint64_t checked = 0, resized = 0;
  Work largest = 0;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 0);
    Workload workload;
    Duration submitted{};
    for (std::uint64_t name = 1; name <= 12; ++name) {
      WorkloadJob& job = workload.jobs.emplace_back();
      job.name = name;
      job.submit = Time{submitted};
      job.nodes = static_cast<Nodes>(std::min<std::int64_t>(any_length(draws, 24), kMachine));
      job.runtime = job.walltime = Duration{any_length(draws, 57)};
      largest = std::max(largest, total_work(job.nodes, job.runtime));
      submitted += job.runtime / static_cast<std::int64_t>(1 + draws.below(20));
    }
    make_malleable(workload, kMachine, 0.5, 4);
    SimulationSettings settings;
    settings.platform.nodes = kMachine;
    settings.policy = make_policy(kPolicies[seed % kPolicies.size()]);
    WorkBooks books(workload);
    Observer* const observers[] = {&books};
    const SimulationCounts counts = simulate(workload, settings, observers);
    ASSERT_EQ(counts.jobs_left, 0u);
    ASSERT_EQ(books.checked, workload.jobs.size());
    checked += books.checked;
    resized += books.decisions - workload.jobs.size();
  });
  if (runs == 0) return;
  EXPECT_GT(checked, 0u);
  EXPECT_GT(resized, 0u);
  EXPECT_GT(largest, Work{1} << 78);
}

}  // namespace
}  // namespace ductile::testing
