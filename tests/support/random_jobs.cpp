#include "support/random_jobs.hpp"

#include <utility>

#include "base/shared_list.hpp"

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

Speedup random_speedup(Draws& draws, Nodes most) {
  using Kind = Speedup::Kind;
  switch (draws.below(6)) {
    case 0:
      return {Kind::powerlaw, draws.uniform(0, 0.9)};
    case 1:
      return {Kind::amdahl, draws.uniform()};
    case 2:
      return {Kind::overhead, draws.uniform(0, 0.2)};
    case 3:
      return {Kind::downey, draws.uniform(1, 20), draws.uniform(0, 3)};
    case 4: {
      std::vector<TimeAt> times;
      for (Nodes n = 1; n <= most; n += static_cast<Nodes>(1 + draws.below(4))) {
        times.push_back({n, draws.uniform(5, 50)});
      }
      return {.kind = Kind::table, .times = SharedList(std::move(times))};
    }
    default:
      return {};
  }
}

}  // namespace ductile::testing
