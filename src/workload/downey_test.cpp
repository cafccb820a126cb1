#include "workload/downey.hpp"

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

// 20,000 jobs. The work of a job is its run time times the speedup; whole seconds blur it, so jobs
// have much of it here.
TEST(Downey, HasTheDistributionsItSays) {
  const DowneyModel model{
      .jobs = 20'000, .nodes = 100, .work_node_s = {Marginal::Kind::loguniform, 1e5, 1e7}};
  const Workload workload = generate_downey(model, 5);
  std::vector<double> work, parallelism, sigma;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob& its = workload.adaptive.at(job.adaptive);
    EXPECT_EQ(its.type, JobType::moldable);
    EXPECT_EQ(its.speedup, its.believed.speedup);
    EXPECT_EQ(its.speedup.kind, Speedup::Kind::downey);
    const double a = its.speedup.parameter, s = its.speedup.sigma;
    parallelism.push_back(a);
    sigma.push_back(s);
    work.push_back(to_seconds(job.runtime) * downey_speedup(job.nodes, a, s));
    EXPECT_EQ(job.nodes, static_cast<Nodes>(std::llround(std::min(a, most_useful_nodes(a, s)))));
    EXPECT_EQ(its.size.min, 1u);
    EXPECT_EQ(its.size.max, static_cast<Nodes>(std::min(most_useful_nodes(a, s), 100.0)));
  }
  const double limit = ks_limit(20'000);
  EXPECT_LT(ks_distance(work, [&](double w) { return model.work_node_s.share_up_to(w); }),
            limit + 0.001);
  EXPECT_LT(ks_distance(parallelism, [](double a) { return std::log(a) / std::log(100); }), limit);
  EXPECT_LT(ks_distance(sigma, [](double s) { return s / 2; }), limit);
  EXPECT_NEAR(describe(workload, 100).offered_load.value(), 0.75, 1e-6);
}

TEST(Downey, NoMoreNodesAreUsefulThanItSays) {
  for (const double a : {1.0, 3.5, 40.0}) {
    for (const double sigma : {0.0, 0.5, 1.0, 1.7, 4.0}) {
      const double most = most_useful_nodes(a, sigma);
      EXPECT_NEAR(downey_speedup(most, a, sigma), a, 1e-9) << a << ' ' << sigma;
      // Of the ideal bound and of serial jobs fewer would do; the formula is the paper's.
      if (a > 1 && sigma > 0) EXPECT_LT(downey_speedup(most - 1, a, sigma), a) << a << ' ' << sigma;
    }
  }
}

// exp(5.69), exp(9.91), exp(0.69) and exp(8.51); means 4,700 s and 634.5 processors.
TEST(Downey, ThatOfPaper002HasItsDistributions) {
  const DowneyModel model{.table = DowneyModel::Table::paper002};
  EXPECT_NEAR(std::log(model.runtime_s.first), 5.69, 1e-4);
  EXPECT_NEAR(std::log(model.runtime_s.second), 9.91, 1e-4);
  EXPECT_NEAR(std::log(model.size.first), 0.69, 1e-3);
  EXPECT_NEAR(std::log(model.size.second), 8.51, 1e-4);
  EXPECT_NEAR(model.runtime_s.mean(), 4700, 1);
  EXPECT_NEAR(model.size.mean(), 634.5, 0.5);
  const Workload workload = generate_downey(model, 17);
  EXPECT_TRUE(workload.adaptive.empty());
  std::vector<double> sizes, runtimes;
  for (const WorkloadJob& job : workload.jobs) {
    sizes.push_back(job.nodes);
    runtimes.push_back(to_seconds(job.runtime));
  }
  const double limit = ks_limit(sizes.size());
  EXPECT_LT(ks_distance(sizes, [&](double n) { return model.size.share_up_to(n + 0.5); }), limit);
  EXPECT_LT(ks_distance(runtimes, [&](double s) { return model.runtime_s.share_up_to(s + 0.5); }),
            limit);
  const WorkloadInfo info = describe(workload, 10'000);
  EXPECT_EQ(info.size_nodes.min, 2);
  EXPECT_EQ(info.jobs, 10'000u);
  EXPECT_NEAR(info.offered_load.value(), 0.75, 1e-6);
  EXPECT_NEAR(info.interarrival_s.mean, 398, 12);  // 3 standard errors
  EXPECT_NEAR(info.span_s / 86'400, 46, 1.5);
}

// 20,000 jobs, of which 70 % come by day.
TEST(Downey, DaysHaveTwoHalves) {
  const Workload workload =
      generate_downey({.jobs = 20'000, .nodes = 500, .day_share = 0.7, .day_from_h = 6.5}, 2);
  double by_day = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const double hour = std::fmod(to_seconds(job.submit.time_since_epoch()), 86'400) / 3600;
    if (6.5 <= hour && hour < 18.5) ++by_day;
  }
  EXPECT_NEAR(by_day / 20'000, 0.7, 0.013);
}

TEST(Downey, AsksAndTypesAreAChoice) {
  const auto made = [](const char* text) { return parse_model(text).generate(3); };
  const Workload average = made("downey:jobs=300,nodes=64");
  const Workload useful = made("downey:jobs=300,nodes=64,ask=useful,type=malleable");
  const Workload any = made("downey:jobs=300,nodes=64,ask=any,type=rigid");
  EXPECT_TRUE(any.adaptive.empty());
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(useful.adaptive[i].type, JobType::malleable);
    EXPECT_EQ(useful.adaptive[i].size, average.adaptive[i].size);
    EXPECT_EQ(useful.jobs[i].nodes, useful.adaptive[i].size.max);
    EXPECT_LE(useful.jobs[i].runtime, average.jobs[i].runtime);
    EXPECT_LE(any.jobs[i].nodes, useful.jobs[i].nodes);
  }
}

TEST(Downey, SaysWhatIsWrong) {
  const auto message = [](const char* text, const char* expected) {
    EXPECT_THAT([&] { parse_model(text).remark(); },
                ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message("downey:nodes=50,max_parallelism=51", "max_parallelism: is more than the machine");
  message("downey:table=002,type=moldable", "type: the jobs of table=002 have no speedup");
  message("downey:table=1999", "use 1997, 002");
  message("downey:work=0", "work: '0' has '0' where");
  message("downey:sigma=uniform:2..1", "sigma: 'uniform:2..1' has an empty range");
}

}  // namespace
}  // namespace ductile
