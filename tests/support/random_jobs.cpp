#include "support/random_jobs.hpp"

#include "base/random.hpp"

namespace ductile::testing {

std::vector<WorkloadJob> random_jobs(std::uint64_t seed, std::size_t count, Nodes nodes,
                                     std::uint64_t grain_us) {
  Draws draws(seed, Stream::test, 0);
  const auto span = [&](std::uint64_t longest_us) {
    return Duration{static_cast<std::int64_t>((draws.below(longest_us / grain_us) + 1) * grain_us)};
  };
  const std::uint64_t gap_us = 1'000'000 * (1 + draws.below(20));
  std::vector<WorkloadJob> jobs;
  Time submit{};
  for (std::size_t i = 0; i < count; ++i) {
    WorkloadJob job;
    job.name = i + 1;
    job.submit = submit;
    job.nodes = static_cast<Nodes>(1 + draws.below(draws.chance(0.7) ? (nodes + 3) / 4 : nodes));
    job.walltime = span(60'000'000);
    job.runtime = draws.chance(0.3) ? job.walltime : span(60'000'000);
    jobs.push_back(job);
    if (draws.chance(0.7)) submit += span(gap_us);
  }
  return jobs;
}

}  // namespace ductile::testing
