#include "workload/poisson.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/goodness_of_fit.hpp"
#include "workload/info.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// 20,000 jobs; sizes of 0.5 around a number and times of half a second around one become this.
TEST(Poisson, HasTheDistributionsItSays) {
  const PoissonModel model;
  const Workload workload = generate_poisson({.jobs = 20'000}, 3);
  std::vector<double> sizes, runtimes, gaps;
  for (const WorkloadJob& job : workload.jobs) {
    sizes.push_back(job.nodes);
    runtimes.push_back(to_seconds(job.runtime));
    if (job.name > 1) gaps.push_back(to_seconds(job.submit - workload.jobs[job.name - 2].submit));
    EXPECT_EQ(job.walltime, job.runtime);
  }
  const double limit = ks_limit(20'000);
  EXPECT_LT(ks_distance(sizes, [&](double n) { return model.size.share_up_to(n + 0.5); }), limit);
  EXPECT_LT(ks_distance(runtimes, [&](double s) { return model.runtime_s.share_up_to(s + 0.5); }),
            limit);
  const WorkloadInfo info = describe(workload, 500);
  EXPECT_NEAR(info.offered_load.value(), 0.7, 1e-6);
  const Marginal gap{Marginal::Kind::exponential, info.interarrival_s.mean, 0};
  EXPECT_LT(ks_distance(gaps, [&](double s) { return gap.share_up_to(s + 0.5); }), limit + 0.002);
}

TEST(Poisson, KeepsToTheMachineAndTheLongestRunTime) {
  const Workload workload = generate_poisson({.jobs = 2000,
                                              .nodes = 20,
                                              .size = {Marginal::Kind::exponential, 10, 0},
                                              .runtime_s = {Marginal::Kind::exponential, 10, 0},
                                              .max_runtime_s = 30},
                                             1);
  const WorkloadInfo info = describe(workload, 20);
  EXPECT_EQ(info.size_nodes.min, 1);
  EXPECT_EQ(info.size_nodes.max, 20);
  EXPECT_EQ(info.runtime_s.min, 1);
  EXPECT_EQ(info.runtime_s.max, 30);
}

TEST(Poisson, JobsDoNotMoveEachOther) {
  const Workload many = generate_poisson({.jobs = 500}, 7);
  const Workload few = generate_poisson({.jobs = 100, .load = 0.2}, 7);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(few.jobs[i].nodes, many.jobs[i].nodes);
    EXPECT_EQ(few.jobs[i].runtime, many.jobs[i].runtime);
  }
  EXPECT_EQ(generate_poisson({.jobs = 500}, 7).jobs, many.jobs);
  EXPECT_NE(generate_poisson({.jobs = 500}, 8).jobs, many.jobs);
}

TEST(Poisson, CanBeChosenByWords) {
  const Workload workload =
      parse_model("poisson:jobs=50,nodes=10,size=uniform:2..4,runtime=300,load=0.5").generate(1);
  ASSERT_EQ(workload.jobs.size(), 50u);
  for (const WorkloadJob& job : workload.jobs) {
    EXPECT_EQ(job.runtime, whole_seconds(300));
    EXPECT_GE(job.nodes, 2u);
    EXPECT_LE(job.nodes, 4u);
  }
  EXPECT_THAT([] { parse_model("poisson:size=0.5").generate(1); },
              ThrowsMessage<InputError>(HasSubstr("size: '0.5' has '0.5' where")));
  EXPECT_THAT([] { parse_model("poisson:runtime=weibull:1").remark(); },
              ThrowsMessage<InputError>(HasSubstr("runtime: 'weibull:1' is no distribution")));
  EXPECT_THROW(generate_poisson({.jobs = 1ull << 32}, 1), InputError);
}

}  // namespace
}  // namespace ductile
