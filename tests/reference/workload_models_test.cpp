// A model makes what its authors' program made.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "support/goodness_of_fit.hpp"
#include "support/reference.hpp"
#include "workload/lublin.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

struct Samples {
  std::vector<double> sizes, runtimes, gaps;
};

Samples samples_of(const Workload& workload) {
  Samples samples;
  for (const WorkloadJob& job : workload.jobs) {
    samples.sizes.push_back(job.nodes);
    samples.runtimes.push_back(to_seconds(job.runtime));
    if (&job == &workload.jobs.front()) continue;
    samples.gaps.push_back(to_seconds(job.submit - (&job - 1)->submit));
  }
  return samples;
}

// 10,000 jobs of one type on 256 nodes, by the program of the Parallel Workloads Archive; the limit
// of Kolmogorov and Smirnov for two samples of as many at 5 %.
TEST(WorkloadModelsReference, LublinIsThatOfItsAuthors) {
  const std::filesystem::path shared = shared_dir(DUCTILE_SHARED_DIR);
  const std::filesystem::path log = shared / "traces" / "lublin_256.swf.xz";
  if (shared.empty() || !std::filesystem::exists(log)) {
    GTEST_SKIP() << "the reference results are not at hand";
  }
  const Samples theirs = samples_of(read_swf(log, {.nodes = 256}));
  ASSERT_EQ(theirs.sizes.size(), 10'000u);
  const Samples ours = samples_of(
      generate_lublin({.jobs = 10'000, .nodes = 256, .types = LublinModel::Types::one}, 3));
  constexpr double kLimit = 0.0192;
  EXPECT_LT(ks_distance(ours.sizes, theirs.sizes), kLimit);
  EXPECT_LT(ks_distance(ours.runtimes, theirs.runtimes), kLimit);
  EXPECT_LT(ks_distance(ours.gaps, theirs.gaps), kLimit);
}

}  // namespace
}  // namespace ductile
