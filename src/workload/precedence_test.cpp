#include "workload/precedence.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

constexpr Time at(std::int64_t time_s) { return Time{whole_seconds(time_s)}; }

WorkloadJob job(std::uint64_t name, std::int64_t submit_s, std::uint32_t user = 1) {
  WorkloadJob its;
  its.name = name;
  its.submit = at(submit_s);
  its.user = user;
  return its;
}

Precedence follows(std::uint32_t job, std::uint32_t on, std::int64_t think_s) {
  return {.job = job,
          .on = on,
          .from = Precedence::From::session,
          .sets_submit = true,
          .think = whole_seconds(think_s)};
}

constexpr Duration kTwentyMinutes = whole_seconds(1200);

/// 0 and 1 overlap: the first batch. 2 and 3 come after both, within 20 minutes: the second one,
/// 100 s and 150 s after the end of 1. 4 comes later than that.
TEST(Precedences, BatchesOfASessionFollowEachOther) {
  const std::vector<WorkloadJob> jobs = {job(1, 0), job(2, 50), job(3, 400), job(4, 450),
                                         job(5, 1900)};
  const std::vector<Time> ends = {at(100), at(300), at(700), at(500), at(2000)};
  EXPECT_EQ(session_precedences(jobs, ends, kTwentyMinutes),
            (std::vector{follows(2, 1, 100), follows(3, 1, 150)}));
  // A moment earlier it is of the session.
  std::vector<WorkloadJob> closer = jobs;
  closer[4].submit -= kTick;
  const auto rows = session_precedences(closer, ends, kTwentyMinutes);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].on, 2u);
  EXPECT_EQ(rows[2].think, kTwentyMinutes - kTick);
  EXPECT_TRUE(session_precedences(jobs, ends, whole_seconds(100)).empty());
}

TEST(Precedences, SessionsAreOfOneUser) {
  const std::vector<WorkloadJob> jobs = {job(1, 0, 1), job(2, 10, 2), job(3, 20, 1), job(4, 20, 0),
                                         job(5, 30, 0)};
  const std::vector<Time> ends = {at(10), at(12), at(25), at(22), at(31)};
  EXPECT_EQ(session_precedences(jobs, ends, kTwentyMinutes), (std::vector{follows(2, 0, 10)}));
}

/// A job submitted at the very end of another one waited for it.
TEST(Precedences, TheEndItselfIsNoOverlap) {
  const std::vector<WorkloadJob> jobs = {job(1, 0), job(2, 10)};
  EXPECT_EQ(session_precedences(jobs, {at(10), at(20)}, kTwentyMinutes),
            (std::vector{follows(1, 0, 0)}));
}

TEST(Precedences, CirclesAreErrors) {
  Workload workload;
  for (std::uint64_t i = 1; i <= 4; ++i) workload.jobs.push_back(job(i, 0));
  const auto row = [](std::uint32_t its, std::uint32_t on, std::uint64_t line) {
    return Precedence{.job = its, .on = on, .from = Precedence::From::beside, .line = line};
  };
  const auto complaint = [&](std::vector<Precedence> rows) {
    workload.precedences = std::move(rows);
    return testing::complaint([&] { check_precedences(workload, "x.swf", "x.adaptive"); });
  };
  EXPECT_EQ(complaint({row(1, 0, 2), row(2, 0, 3), row(2, 1, 3), row(3, 2, 4)}), "");
  EXPECT_EQ(complaint({row(0, 2, 1), row(1, 0, 2), row(2, 1, 3), row(3, 2, 4)}),
            "x.adaptive:1: dependency: jobs wait for each other in a circle: 1, 3, 2, 1; leave one "
            "of these dependencies away");
  EXPECT_EQ(complaint({row(3, 3, 7)}),
            "x.adaptive:7: dependency: jobs wait for each other in a circle: 4, 4; leave one of "
            "these dependencies away");
  Precedence of_log = row(1, 1, 9);
  of_log.from = Precedence::From::log;
  EXPECT_EQ(complaint({of_log}),
            "x.swf:9: preceding job (field 17): jobs wait for each other in a circle: 2, 2; leave "
            "one of these dependencies away");
}

/// 10 s each: job 1 is over at 10, job 2 comes 1000 s later, job 3 as soon as this is over.
TEST(Precedences, SayWhenTheLastJobComes) {
  Workload workload;
  EXPECT_EQ(last_arrival(workload), Time{});
  workload.jobs = {job(1, 0), job(2, 5), job(3, 50), job(4, 600)};
  for (WorkloadJob& its : workload.jobs) its.runtime = whole_seconds(10);
  EXPECT_EQ(last_arrival(workload), at(600));
  workload.precedences = {follows(1, 0, 1000), follows(2, 1, 0)};
  EXPECT_EQ(last_arrival(workload), at(1020));
  workload.precedences[1].sets_submit = false;
  EXPECT_EQ(last_arrival(workload), at(1020));
  workload.precedences = {follows(0, 3, 7), follows(3, 2, 500)};
  EXPECT_EQ(last_arrival(workload), at(577));
  workload.precedences = {follows(1, 0, 9'000'000'000'000), follows(2, 1, 9'000'000'000'000)};
  EXPECT_EQ(last_arrival(workload), kNever);
}

}  // namespace
}  // namespace ductile
