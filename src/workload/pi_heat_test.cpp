#include "workload/pi_heat.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(PiHeat, IsWhatThePaperSays) {
  const Workload workload = generate_pi_heat({}, 7);
  ASSERT_EQ(workload.jobs.size(), 20u);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    const AdaptiveJob& its = workload.adaptive.at(job.adaptive);
    EXPECT_EQ(job.submit, Time{whole_seconds(2 * static_cast<std::int64_t>(i))});
    EXPECT_GE(job.nodes, 1u);
    EXPECT_LE(job.nodes, 4u);
    EXPECT_GE(job.runtime, whole_seconds(120));
    EXPECT_LE(job.runtime, whole_seconds(600));
    EXPECT_EQ(its.type, JobType::malleable);
    EXPECT_EQ(its.size, (SizeRange{1, 14}));
    EXPECT_EQ(its.believed.watts_per_node, i % 2 == 0 ? 170 : 250);
  }
}

// Also where some are rigid the others are the same jobs.
TEST(PiHeat, RigidJobsLeaveTheOthersAsTheyAre) {
  const Workload all = generate_pi_heat({.jobs = 60}, 3);
  const Workload mix = generate_pi_heat({.jobs = 60, .rigid = 0.3}, 3);
  std::size_t rigid = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(all.jobs[i], mix.jobs[i]);
    const AdaptiveJob& its = mix.adaptive[i];
    rigid += its.type == JobType::rigid ? 1 : 0;
    EXPECT_EQ(its.size,
              its.type == JobType::rigid ? exactly(mix.jobs[i].nodes) : (SizeRange{1, 14}));
  }
  EXPECT_GT(rigid, 5u);
  EXPECT_LT(rigid, 35u);
}

TEST(PiHeat, SaysWhatIsWrong) {
  EXPECT_THROW(generate_pi_heat({.max_size = 15}, 1), InputError);
  EXPECT_THROW(generate_pi_heat({.max_size = 0}, 1), InputError);
  EXPECT_THROW(generate_pi_heat({.min_runtime_s = 5, .max_runtime_s = 4}, 1), InputError);
}

}  // namespace
}  // namespace ductile
