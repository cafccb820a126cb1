// DBES, the strategies that it was compared with, and FPSMA against naive ones, job by job, on
// random workloads of rigid, moldable and malleable jobs that are resized at once and for nothing.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include "support/naive_expand_shrink.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/job_times.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

using naive::JobTimes;
using naive::Strategy;

struct Named {
  Strategy strategy;
  const char* name;
};

Workload random_workload(Draws& draws, std::uint64_t seed, Nodes nodes) {
  Workload workload;
  workload.jobs =
      random_jobs(seed, 5 + draws.below(50), nodes, draws.chance(0.7) ? 1'000'000 : 10'000'000);
  const double share = draws.uniform(0.3, 1), moldable = draws.chance(0.5) ? draws.uniform() : 0;
  for (WorkloadJob& job : workload.jobs) {
    job.walltime = std::max(job.walltime, job.runtime);
    if (!draws.chance(share)) continue;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.type = draws.chance(moldable) ? JobType::moldable : JobType::malleable;
    more.size = {static_cast<Nodes>(draws.chance(0.5) ? job.nodes : 1 + draws.below(job.nodes)),
                 static_cast<Nodes>(job.nodes + draws.below(nodes))};
  }
  return workload;
}

class Naive : public ::testing::TestWithParam<Named> {};

TEST_P(Naive, StartsAndEndsEveryJobAtTheSameTime) {
  for_seeds(1'000, [](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 11);
    const auto nodes = static_cast<Nodes>(2 + draws.below(40));
    const Workload workload = random_workload(draws, seed, nodes);
    naive::ExpandShrinkOptions options;
    options.strategy = GetParam().strategy;
    options.depth = 1 + draws.below(6);
    options.scaled = draws.chance(0.5);
    options.backfill_first = draws.chance(0.5);
    options.repeat = draws.chance(0.3);
    std::string policy = std::string(GetParam().name) + ":depth=" + std::to_string(options.depth);
    if (options.strategy == Strategy::dbes) {
      policy += options.repeat ? ",loop=repeat" : "";
    } else if (options.strategy == Strategy::fpsma) {
      policy = "fpsma:tick=0";
    } else {
      policy += options.backfill_first ? ",backfill=first" : "";
    }
    SimulationSettings settings;
    settings.platform.nodes = nodes;
    settings.policy = make_policy(policy);
    settings.rules.limit = options.scaled ? Rules::Limit::scaled : Rules::Limit::fixed;
    Times ours(workload.jobs.size());
    Observer* const observers[] = {&ours};
    simulate(workload, settings, observers);
    const std::vector<JobTimes> naive = naive::expand_shrink(workload, nodes, options);
    for (std::size_t i = 0; i < naive.size(); ++i) {
      ASSERT_TRUE(ours.runs[i] == naive[i])
          << policy << ", job " << i + 1 << " of " << naive.size() << " runs from "
          << to_seconds(ours.runs[i].start) << " to " << to_seconds(ours.runs[i].end)
          << " s instead of " << to_seconds(naive[i].start) << " to " << to_seconds(naive[i].end);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(ExpandShrink, Naive,
                         ::testing::Values(Named{Strategy::dbes, "dbes"},
                                           Named{Strategy::equipartition, "equipartition"},
                                           Named{Strategy::equigrow, "equigrow"},
                                           Named{Strategy::esf, "esf"}, Named{Strategy::edf, "edf"},
                                           Named{Strategy::ldf, "ldf"},
                                           Named{Strategy::fpsma, "fpsma"}),
                         [](const auto& its) { return std::string(its.param.name); });

}  // namespace
}  // namespace ductile::testing
