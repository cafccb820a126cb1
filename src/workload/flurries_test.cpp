#include "workload/flurries.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Users of jobs that come a second after each other.
Workload workload_of(const std::vector<std::uint32_t>& users) {
  Workload workload;
  for (const std::uint32_t user : users) {
    const auto second = static_cast<std::int64_t>(workload.jobs.size());
    workload.jobs.push_back({.name = workload.jobs.size() + 1,
                             .submit = Time{whole_seconds(second)},
                             .runtime = whole_seconds(1),
                             .nodes = 1,
                             .user = user});
  }
  return workload;
}

constexpr FlurrySettings kThreeOfFour{.jobs = 3, .share = 0.75, .window = whole_seconds(4)};

TEST(Flurries, AreOfOneUserWhoDominates) {
  const auto found = find_flurries(workload_of({1, 2, 7, 7, 1, 7, 3, 4, 7, 7}), kThreeOfFour);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].user, 7u);
  EXPECT_THAT(found[0].rows, ElementsAre(2, 3, 5));
  EXPECT_EQ(found[0].first, Time{whole_seconds(2)});
  EXPECT_EQ(found[0].last, Time{whole_seconds(5)});
}

TEST(Flurries, GoOnWhileTheyDominate) {
  const auto found =
      find_flurries(workload_of({7, 7, 7, 7, 7, 7, 1, 2, 3, 7, 7, 7, 1}), kThreeOfFour);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].rows, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(found[1].rows, ElementsAre(9, 10, 11));
}

TEST(Flurries, ManyJobsAmongMoreAreNone) {
  EXPECT_THAT(find_flurries(workload_of({7, 1, 7, 2, 7, 3, 7, 4}), kThreeOfFour), IsEmpty());
  EXPECT_THAT(find_flurries(workload_of({0, 0, 0, 0, 0}), kThreeOfFour), IsEmpty());
  EXPECT_THAT(find_flurries({}, kThreeOfFour), IsEmpty());
}

TEST(Flurries, AreTakenOut) {
  Workload workload = workload_of({1, 7, 7, 7, 7, 2});
  EXPECT_EQ(remove_flurries(workload, kThreeOfFour), 4u);
  EXPECT_EQ(workload.jobs.at(0).name, 1u);
  EXPECT_EQ(workload.jobs.at(1).name, 6u);
  EXPECT_EQ(remove_flurries(workload, kThreeOfFour), 0u);
  Workload all = workload_of({7, 7, 7});
  EXPECT_THROW(remove_flurries(all, kThreeOfFour), InputError);
}

// Work that grows with users times jobs would take minutes here.
TEST(Flurries, OfManyUsersAreFoundSoon) {
  constexpr std::uint32_t kUsers = 300'000;
  std::vector<std::uint32_t> users;
  for (std::uint32_t i = 0; i < 2 * kUsers; ++i) users.push_back(1 + i / 2);
  const auto found =
      find_flurries(workload_of(users), {.jobs = 2, .share = 1, .window = whole_seconds(2)});
  EXPECT_THAT(found, SizeIs(kUsers));
}

// By the definition: a job is in a flurry if it is in some window that begins with a job of its
// user and is a surge.
RC_GTEST_PROP(Flurries, AreThoseOfTheDefinition, ()) {
  Workload workload = workload_of(
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 4)));
  for (WorkloadJob& job : workload.jobs) {
    job.submit = Time{whole_seconds(*rc::gen::inRange<std::int64_t>(0, 60))};
  }
  std::ranges::stable_sort(workload.jobs, {}, &WorkloadJob::submit);
  const FlurrySettings settings{.jobs = *rc::gen::inRange<std::uint64_t>(1, 6),
                                .share = *rc::gen::element(0.3, 0.5, 1.0),
                                .window = whole_seconds(*rc::gen::inRange<std::int64_t>(1, 20))};
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const auto is_surge = [&](const WorkloadJob& begin) {
      std::uint64_t his = 0, all = 0;
      for (std::size_t k = 0; k < jobs.size(); ++k) {
        if (jobs[k].submit < begin.submit || jobs[k].submit >= begin.submit + settings.window) {
          continue;
        }
        ++all;
        // Of jobs of one instant those before the first one of the window are not in it.
        if (jobs[k].user == begin.user && &jobs[k] >= &begin) ++his;
      }
      return his >= settings.jobs &&
             static_cast<double>(his) >= settings.share * static_cast<double>(all);
    };
    const bool is_in =
        jobs[i].has_user() && std::ranges::any_of(jobs, [&](const WorkloadJob& begin) {
          return begin.user == jobs[i].user && &begin <= &jobs[i] &&
                 jobs[i].submit < begin.submit + settings.window && is_surge(begin);
        });
    if (is_in) expected.push_back(i);
  }
  std::vector<std::uint32_t> rows;
  for (const Flurry& flurry : find_flurries(workload, settings)) {
    RC_ASSERT(jobs[flurry.rows.front()].submit == flurry.first);
    RC_ASSERT(jobs[flurry.rows.back()].submit == flurry.last);
    rows.insert(rows.end(), flurry.rows.begin(), flurry.rows.end());
  }
  std::ranges::sort(rows);
  RC_ASSERT(rows == expected);
}

}  // namespace
}  // namespace ductile
