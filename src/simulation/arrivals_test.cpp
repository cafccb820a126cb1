#include "simulation/arrivals.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

using Kind = Dependency::Kind;

constexpr Time at(std::int64_t time_s) { return Time{whole_seconds(time_s)}; }

/// Jobs 1, 2, ... submitted at these times.
Workload workload_of(const std::vector<std::int64_t>& submits_s) {
  Workload workload;
  for (const std::int64_t submit_s : submits_s) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = workload.jobs.size();
    job.submit = at(submit_s);
  }
  return workload;
}

TEST(Arrivals, WhoWaitsForNobodyComesAtItsTime) {
  Workload workload = workload_of({0, 5, 5});
  Arrivals arrivals(workload);
  for (const std::int64_t time_s : {0, 5, 5}) {
    ASSERT_EQ(arrivals.next(), at(time_s));
    arrivals.come();
  }
  EXPECT_EQ(arrivals.next(), kNever);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(workload.jobs[i].name, i + 1);
  EXPECT_EQ(workload.user_submits, (std::vector{at(0), at(5), at(5)}));
}

TEST(Arrivals, AnEndAndTheThinkTimeTakeThePlaceOfTheSubmitTime) {
  Workload workload = workload_of({0, 1, 50});
  workload.precedences = {{.job = 1, .on = 0, .sets_submit = true, .think = whole_seconds(20)}};
  Arrivals arrivals(workload);
  arrivals.come();
  EXPECT_EQ(arrivals.number(JobId{0}), JobId{0});
  arrivals.begun(JobId{0}, at(3));
  EXPECT_EQ(arrivals.next(), at(50));
  arrivals.over(JobId{0}, false, at(40));
  EXPECT_EQ(arrivals.next(), at(50));
  arrivals.come();
  EXPECT_EQ(arrivals.next(), at(60));
  EXPECT_EQ(arrivals.number(JobId{1}), JobId::none);
  arrivals.come();
  EXPECT_EQ(arrivals.number(JobId{1}), JobId{2});
  EXPECT_EQ(arrivals.number(JobId{2}), JobId{1});
  EXPECT_EQ(workload.jobs[1].name, 3u);
  EXPECT_EQ(workload.jobs[2].name, 2u);
  EXPECT_EQ(workload.jobs[2].submit, at(60));
  EXPECT_EQ(workload.user_submits[2], at(60));
}

/// It may come before its submit time; one that does not know its think time does not.
TEST(Arrivals, WithoutAThinkTimeItComesNotBeforeItsSubmitTime) {
  for (const bool sets_submit : {true, false}) {
    Workload workload = workload_of({0, 100});
    workload.precedences = {{.job = 1, .on = 0, .sets_submit = sets_submit}};
    Arrivals arrivals(workload);
    arrivals.come();
    arrivals.over(JobId{0}, true, at(10));
    EXPECT_EQ(arrivals.next(), at(sets_submit ? 10 : 100));
  }
}

TEST(Arrivals, AllThatAJobWaitsForHasToCome) {
  Workload workload = workload_of({0, 0, 5});
  workload.precedences = {{.job = 2, .on = 0, .kind = Kind::after},
                          {.job = 2, .on = 1, .kind = Kind::afterok}};
  Arrivals arrivals(workload);
  arrivals.come();
  arrivals.come();
  arrivals.over(JobId{1}, true, at(9));
  EXPECT_EQ(arrivals.next(), kNever);
  arrivals.begun(JobId{0}, at(30));
  EXPECT_EQ(arrivals.next(), at(30));
  arrivals.begun(JobId{0}, at(40));  // again: it was requeued
  arrivals.come();
  EXPECT_EQ(workload.user_submits[2], at(5));
  EXPECT_EQ(workload.jobs[2].submit, at(30));
  EXPECT_EQ(arrivals.next(), kNever);
}

TEST(Arrivals, WhatCanNeverBeFulfilledIsCountedOnce) {
  Workload workload = workload_of({0, 0, 5, 5});
  workload.precedences = {{.job = 2, .on = 0, .kind = Kind::afterok},
                          {.job = 2, .on = 1, .kind = Kind::afternotok},
                          {.job = 3, .on = 0, .kind = Kind::afternotok}};
  Arrivals arrivals(workload);
  arrivals.come();
  arrivals.come();
  arrivals.over(JobId{0}, false, at(7));
  EXPECT_EQ(arrivals.never(), 1u);
  EXPECT_EQ(arrivals.next(), at(7));  // the fourth
  arrivals.over(JobId{1}, true, at(8));
  EXPECT_EQ(arrivals.never(), 1u);
  arrivals.come();
  EXPECT_EQ(arrivals.next(), kNever);
}

}  // namespace
}  // namespace ductile
