#include "workload/transform.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

Workload jobs_at(std::initializer_list<int> submits_s) {
  Workload workload;
  for (const int submit_s : submits_s) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.submit = Time{whole_seconds(submit_s)};
    job.runtime = whole_seconds(5);
    job.walltime = whole_seconds(60);
  }
  return workload;
}

TEST(Transform, ArrivalsAreScaledAroundTheFirst) {
  Workload workload = jobs_at({100, 110, 110, 140});
  scale_arrivals(workload, 0.5);
  EXPECT_EQ(workload.jobs[0].submit, Time{whole_seconds(100)});
  EXPECT_EQ(workload.jobs[1].submit, Time{whole_seconds(105)});
  EXPECT_EQ(workload.jobs[2].submit, Time{whole_seconds(105)});
  EXPECT_EQ(workload.jobs[3].submit, Time{whole_seconds(120)});
}

TEST(Transform, TooLargeAScaleIsAnError) {
  Workload workload = jobs_at({0, 2'000'000'000});
  EXPECT_THROW(scale_arrivals(workload, 1e9), InputError);
  Workload none;
  scale_arrivals(none, 1e9);
}

TEST(Transform, PerfectEstimates) {
  Workload workload = jobs_at({0});
  perfect_estimates(workload);
  EXPECT_EQ(workload.jobs[0].walltime, whole_seconds(5));
}

}  // namespace
}  // namespace ductile
