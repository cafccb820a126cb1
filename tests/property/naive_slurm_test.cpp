// The policy `slurm`, and `sd` on top of it, against a naive one that plans at every multiple of
// its intervals, job by job, on random rigid workloads.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/job_times.hpp"
#include "support/naive_backfill.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

using naive::JobTimes;

TEST(NaiveSlurm, StartsAndEndsEveryJobAtTheSameTime) {
  std::uint64_t differs = 0, runs = 0;
  for_seeds(2'000, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 12);
    const auto nodes = static_cast<Nodes>(1 + draws.below(40));
    Workload workload;
    workload.jobs =
        random_jobs(seed, 5 + draws.below(80), nodes, draws.chance(0.7) ? 1'000'000 : 10'000'000);
    for (WorkloadJob& job : workload.jobs) job.walltime = std::max(job.walltime, job.runtime);
    naive::SlurmOptions how;
    std::string settings_of_it;
    const auto set = [&](const char* name, std::uint64_t value) {
      settings_of_it += settings_of_it.empty() ? "" : ",";
      settings_of_it += std::string(name) + "=" + std::to_string(value);
      return value;
    };
    const auto set_s = [&](const char* name, std::uint64_t value) {
      return whole_seconds(static_cast<std::int64_t>(set(name, value)));
    };
    const bool few = draws.chance(0.5);
    how.default_queue_depth = set("default_queue_depth", 1 + draws.below(few ? 3 : 200));
    how.bf_max_job_test = set("bf_max_job_test", 1 + draws.below(few ? 6 : 600));
    how.sched_interval = set_s("sched_interval", draws.chance(0.8) ? 1 + draws.below(100) : 0);
    how.bf_interval = set_s("bf_interval", draws.chance(0.9) ? 1 + draws.below(60) : 0);
    how.bf_window = set_s("bf_window", draws.chance(0.7) ? 1 + draws.below(200) : 0);
    how.bf_resolution = set_s("bf_resolution", draws.chance(0.7) ? 1 + draws.below(70) : 0);

    const std::vector<JobTimes> naive = naive::slurm(workload.jobs, nodes, how);
    // No job is malleable, so none is a guest.
    for (const std::string& its : {"slurm:" + settings_of_it, "sd:base=slurm," + settings_of_it}) {
      SimulationSettings settings;
      settings.platform.nodes = nodes;
      settings.policy = make_policy(its);
      settings.shares = settings.policy->traits.needs.parts;
      Times ours(workload.jobs.size());
      Observer* const observers[] = {&ours};
      simulate(workload, settings, observers);
      for (std::size_t i = 0; i < naive.size(); ++i) {
        ASSERT_TRUE(ours.runs[i] == naive[i])
            << its << ", job " << i + 1 << " of " << naive.size() << " runs from "
            << to_seconds(ours.runs[i].start) << " to " << to_seconds(ours.runs[i].end)
            << " s instead of " << to_seconds(naive[i].start) << " to " << to_seconds(naive[i].end);
      }
    }
    ++runs;
    differs += naive != naive::backfill(workload.jobs, nodes, naive::kUnlimited);
  });
  if (runs > 100) EXPECT_GT(differs, runs / 2);  // from conservative backfilling
}

}  // namespace
}  // namespace ductile::testing
