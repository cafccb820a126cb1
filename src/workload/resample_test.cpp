#include "workload/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Workload real_log() {
  return read_swf(DUCTILE_SOURCE_DIR "/examples/kth-sp2-first-5000.swf.xz", {.nodes = 100});
}

using ByUser = std::map<std::uint32_t, std::vector<WorkloadJob>>;
ByUser by_user(const Workload& workload) {
  ByUser users;
  for (const WorkloadJob& job : workload.jobs) users[job.user].push_back(job);
  return users;
}

bool is_the_same_but_later(const WorkloadJob& original, const WorkloadJob& job, Duration later) {
  return original.submit + later == job.submit && original.nodes == job.nodes &&
         original.runtime == job.runtime && original.walltime == job.walltime &&
         original.group == job.group;
}

// Whether jobs are some in a row of a user's, moved by whole weeks.
bool is_moved_by_weeks(const std::vector<WorkloadJob>& user, const std::vector<WorkloadJob>& jobs,
                       Duration origin) {
  for (std::size_t first = 0; first + jobs.size() <= user.size(); ++first) {
    const Duration later = jobs.front().submit - user[first].submit;
    if ((later + origin) % kWeek != Duration{}) continue;
    std::size_t same = 0;
    while (same < jobs.size() && is_the_same_but_later(user[first + same], jobs[same], later)) {
      ++same;
    }
    if (same == jobs.size()) return true;
  }
  return false;
}

TEST(Resample, UsersDoWhatTheyDidInOtherWeeks) {
  const Workload log = real_log();
  const ByUser users = by_user(log);
  const Resampled made = resample(log, {.nodes = 100, .long_term_weeks = 3}, 1);
  EXPECT_EQ(made.weeks, made.log_weeks);
  EXPECT_EQ(made.log_long_term + made.log_temporary, users.size());
  EXPECT_GT(made.log_long_term, 10u);
  EXPECT_GT(made.log_temporary, 10u);
  const ByUser anew = by_user(made.workload);
  EXPECT_EQ(anew.size(), made.long_term + made.temporary);
  for (const auto& [user, jobs] : anew) {
    bool is_there = false;
    for (const auto& [original, its] : users) {
      is_there |= is_moved_by_weeks(its, jobs, made.origin.time_since_epoch());
    }
    EXPECT_TRUE(is_there) << user;
  }
  EXPECT_TRUE(std::ranges::is_sorted(made.workload.jobs, {}, &WorkloadJob::submit));
  for (std::size_t i = 0; i < made.workload.jobs.size(); ++i) {
    EXPECT_EQ(made.workload.jobs[i].name, i + 1);
  }
  EXPECT_GE(made.workload.jobs.front().submit, Time{});
  EXPECT_LT(made.workload.jobs.back().submit, Time{static_cast<std::int64_t>(made.weeks) * kWeek});
}

// Twenty seeds: on average as much is done as in the log, to four standard errors.
TEST(Resample, LogsAreAlikeOnAverage) {
  const Workload log = real_log();
  double sum = 0, squares = 0, jobs = 0, log_load = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Resampled made = resample(log, {.weeks = 20, .nodes = 100, .long_term_weeks = 3}, seed);
    sum += made.load;
    squares += made.load * made.load;
    jobs += static_cast<double>(made.workload.jobs.size());
    log_load = made.log_load;
  }
  const double mean = sum / 20, error = std::sqrt((squares / 20 - mean * mean) / 19);
  EXPECT_NEAR(mean, log_load, 4 * error);
  EXPECT_LT(4 * error, 0.5 * log_load);
  EXPECT_GT(jobs / 20, 20 * 300);
}

TEST(Resample, LoadsAreHitByMoreAndFewerUsers) {
  const Workload log = real_log();
  std::size_t users = 0;
  for (const double load : {0.3, 0.6, 1.2, 3.0}) {
    const Resampled made =
        resample(log, {.weeks = 30, .load = load, .nodes = 100, .long_term_weeks = 3}, 5);
    EXPECT_NEAR(made.load, load, kLoadTolerance * load);
    double work = 0;
    for (const WorkloadJob& job : made.workload.jobs) work += job.nodes * to_seconds(job.runtime);
    EXPECT_NEAR(work / (100 * 30 * to_seconds(kWeek)), made.load, 1e-9);
    EXPECT_GT(made.long_term + made.temporary, users);
    users = made.long_term + made.temporary;
  }
}

TEST(Resample, TheSeedDecides) {
  const Workload log = real_log();
  const Resampling how{.weeks = 6, .nodes = 100, .long_term_weeks = 3};
  EXPECT_EQ(resample(log, how, 1).workload.jobs, resample(log, how, 1).workload.jobs);
  EXPECT_NE(resample(log, how, 1).workload.jobs, resample(log, how, 2).workload.jobs);
}

// User 1 has a job each Tuesday at nine for ten weeks, user 2 two jobs in one week.
Workload small_log() {
  Workload log;
  log.name = "small";
  constexpr Duration kNine = whole_seconds(86'400 + 9 * 3600);
  const auto add = [&](std::uint32_t user, Duration submit, Nodes nodes) {
    WorkloadJob& job = log.jobs.emplace_back();
    job.user = user;
    job.submit = Time{} + 7 * kWeek + submit;
    job.nodes = nodes;
    job.runtime = job.walltime = whole_seconds(3600);
  };
  for (int week = 0; week < 10; ++week) {
    add(1, week * kWeek + kNine, 1);
    if (week != 4) continue;
    add(2, week * kWeek + 2 * kNine, 2);
    add(2, week * kWeek + 2 * kNine + whole_seconds(60), 3);
  }
  return log;
}

TEST(Resample, LongTermUsersKeepTheirPlaces) {
  const Resampled made = resample(small_log(), {.weeks = 40, .long_term_weeks = 8}, 3);
  EXPECT_EQ(made.log_long_term, 1u);
  EXPECT_EQ(made.log_temporary, 1u);
  EXPECT_EQ(made.log_weeks, 10u);
  EXPECT_EQ(made.origin, Time{7 * kWeek});
  EXPECT_EQ(made.load, 0);  // of no machine
  std::size_t places = 0;
  for (const WorkloadJob& job : made.workload.jobs) {
    if (job.nodes > 1) continue;
    EXPECT_EQ(job.submit,
              Time{static_cast<std::int64_t>(places) * kWeek + whole_seconds(86'400 + 9 * 3600)});
    ++places;
  }
  EXPECT_EQ(places, 40u);  // each Tuesday
  EXPECT_GE(made.long_term, 4u);
  EXPECT_LE(made.long_term, 5u);
  EXPECT_EQ(made.temporary, 4u);  // as many in forty weeks as one in ten
  EXPECT_EQ(made.workload.jobs.size(), 48u);
}

TEST(Resample, WhoAdaptsDoesSoAgain) {
  Workload log = small_log();
  for (WorkloadJob& job : log.jobs) {
    if (job.nodes != 3) continue;
    job.adaptive = 0;
    log.adaptive.push_back({.size = {1, 6}});
  }
  const Resampled made = resample(log, {.weeks = 40, .long_term_weeks = 8}, 3);
  EXPECT_EQ(made.workload.adaptive.size(), 4u);
  for (const WorkloadJob& job : made.workload.jobs) {
    ASSERT_EQ(job.adaptive != WorkloadJob::kRigid, job.nodes == 3);
    if (job.nodes == 3) EXPECT_EQ(made.workload.adaptive.at(job.adaptive).size.max, 6u);
  }
}

TEST(Resample, SaysWhatIsWrong) {
  Workload log = small_log();
  const auto message = [&](const Resampling& how, const char* expected) {
    EXPECT_THAT([&] { resample(log, how, 1); }, ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message({.load = 0.5}, "--load: needs a number above 0, and a machine");
  message({.load = -1, .nodes = 10}, "--load: needs a number above 0");
  message({.load = 1e-6, .nodes = 10}, "--load: 1e-06 is out of reach");
  message({.load = 100, .nodes = 10}, "--load: 100 is more than 1000 times that of the log, 0.0");
  message({.weeks = 1'000'000}, "--weeks: 1000000 is more than 100000");
  log.jobs.front().user = 0;
  EXPECT_EQ(resample(log, {}, 1).without_user, 1u);
  for (WorkloadJob& job : log.jobs) job.user = 0;
  message({}, "small: no job has a user (field 12)");
}

}  // namespace
}  // namespace ductile
