#include "simulation/course.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

constexpr Work kSecond = 1'000'000;
const Speedup kLinear{};
const Speedup kSerial{Speedup::Kind::amdahl, 1};  // the same time at every size

Time at_s(double time) { return Time{seconds(time)}; }

/// 100 s on 4 nodes: 400 node-seconds.
struct Job {
  WorkloadJob job;
  AdaptiveJob more;

  explicit Job(std::vector<Phase> phases = {}) {
    job.nodes = 4;
    job.runtime = whole_seconds(100);
    more.phases = std::move(phases);
  }
  Course course(std::uint32_t iterations = 1) const { return {job, more, iterations}; }
};

/// The same place in an iteration, as near as times are known.
void expect_same(const Course& course, Work a, Work b) {
  EXPECT_EQ(course.when(Time{}, std::max(a, b), std::min(a, b), 1), Time{})
      << static_cast<double>(a) << ", " << static_cast<double>(b);
}

TEST(Course, WorkMayBecomeNeedlessOrComeBack) {
  const Job job;
  const Course course = job.course();
  EXPECT_EQ(course.left_without(300 * kSecond, 0), 300 * kSecond);
  EXPECT_EQ(course.left_without(300 * kSecond, 0.25), 200 * kSecond);
  EXPECT_EQ(course.left_without(300 * kSecond, 1), 0);
  EXPECT_EQ(course.left_without(300 * kSecond, -0.25), 400 * kSecond);
  EXPECT_EQ(course.left_without(300 * kSecond, -0.5), 400 * kSecond);  // there is no more than all
  EXPECT_EQ(course.left_without(course.total(), -1), course.total());
}

TEST(Course, OfAJobWithoutPhasesIsItsModel) {
  Job job;
  job.more.speedup = {Speedup::Kind::powerlaw, 0.3};
  const Course course = job.course();
  EXPECT_EQ(course.total(), 400 * kSecond);
  for (const Nodes size : {1u, 3u, 4u, 9u}) {
    const Duration whole = time_for(job.more.speedup, 4, size, 400 * kSecond);
    EXPECT_EQ(course.when(at_s(5), course.total(), 0, size), at_s(5) + whole);
    const Work done = work_done(job.more.speedup, 4, size, whole_seconds(7));
    EXPECT_EQ(course.left_after(course.total(), size, whole_seconds(7)), course.total() - done);
  }
}

TEST(Course, GoesThroughPhasesEachAtItsOwnSpeed) {
  const Job job({{0.25, kLinear}, {0.5, kSerial}, {1, {Speedup::Kind::amdahl, 0.5}}});
  const Course course = job.course();
  // At the preferred size all phases take their share of the time.
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 4), at_s(100));
  // On 8: half of 25 s, all of 25 s, and 0.5 + 0.5/8 over 0.5 + 0.5/4 of 50 s.
  EXPECT_EQ(course.when(Time{}, course.total(), course.left_at(0.25), 8), at_s(12.5));
  EXPECT_EQ(course.when(Time{}, course.total(), course.left_at(0.5), 8), at_s(37.5));
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 8), at_s(37.5 + 45));
  EXPECT_EQ(course.when(at_s(1), course.left_at(0.125), course.left_at(0.25), 8),
            at_s(1 + 50 / 8.0));

  expect_same(course, course.left_after(course.total(), 8, seconds(10)), course.left_at(0.2));
  EXPECT_EQ(course.left_after(course.total(), 8, seconds(12.5)), course.left_at(0.25));
  expect_same(course, course.left_after(course.total(), 8, seconds(22.5)), course.left_at(0.35));
  EXPECT_EQ(course.left_after(course.total(), 8, seconds(82.5)), 0);
  EXPECT_EQ(course.left_after(course.total(), 8, seconds(1000)), 0);
  EXPECT_EQ(course.left_after(0, 8, seconds(1)), 0);
}

TEST(Course, IsWhereItWasWhenNoTimePasses) {
  const Job job({{0.5, kLinear}, {0.5, kSerial}, {1, kSerial}});  // the second has no work
  const Course course = job.course();
  const Work half = course.left_at(0.5);
  for (const Work left : {course.total(), half, half - 1, Work{1}, Work{0}}) {
    EXPECT_EQ(course.left_after(left, 3, Duration{}), left);
    EXPECT_EQ(course.when(at_s(9), left, left, 3), at_s(9));
    EXPECT_EQ(course.when(at_s(9), left, left + 1, 3), at_s(9));
  }
}

TEST(Course, OfAJobWithoutPhasesTakesAMicrosecondAtLeast) {
  const Job job;
  EXPECT_EQ(job.course().when(at_s(9), 1, 0, 3), at_s(9) + kTick);
}

TEST(Course, OfMeasuredPhasesTakesWhatWasMeasured) {
  Job job({{.iterations = 3, .times_s = SharedList<double>({50, 0, 10})},
           {.iterations = 1, .times_s = SharedList<double>({1e-6, 1e6, 0.1})}});
  job.more.size = {2, 4};
  const Course course = job.course();
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 2), at_s(150.000001));
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 3), at_s(1e6));
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 4), at_s(30.1));
  EXPECT_EQ(course.when(Time{}, course.total(), 0, 1), at_s(150.000001));  // as the smallest
  const EvolvingStep second{.iterations = 2}, last{.iterations = 3}, never{.iterations = 4};
  EXPECT_EQ(course.when(at_s(7), course.left_at(second), course.left_at(last), 2), at_s(57));
  EXPECT_EQ(course.left_at(never), 0);
  // What takes no time is still to be done at another size.
  EXPECT_EQ(course.when(at_s(7), course.left_at(second), course.left_at(last), 3), at_s(7));
  EXPECT_EQ(course.left_after(course.left_at(second), 3, Duration{}), course.left_at(second));
  EXPECT_LT(course.left_after(course.left_at(second), 3, kTick), course.left_at(last));
}

TEST(Course, IsAtTheEndOfAnIterationAsNearAsTimesAreKnown) {
  Job job({{.iterations = 3, .times_s = SharedList<double>({1.0 / 3})},
           {.iterations = 7, .times_s = SharedList<double>({2.0 / 3})}});
  job.more.size = {4, 4};
  const Course course = job.course();
  for (std::uint64_t done = 1; done < 10; ++done) {
    const Work there = course.left_at(EvolvingStep{.iterations = done});
    const Time at = course.when(at_s(5), course.total(), there, 4);
    EXPECT_EQ(course.left_after(course.total(), 4, at - at_s(5)), there) << done;
    EXPECT_LT(course.left_after(course.total(), 4, at + kTick - at_s(5)), there) << done;
    EXPECT_GT(course.left_after(course.total(), 4, at - kTick - at_s(5)), there) << done;
  }
}

TEST(Course, InPartsIsTheCourseInOne) {
  Draws draws(1, Stream::test, 0);
  for (int i = 0; i < 500; ++i) {
    Job job;
    job.job.nodes = static_cast<Nodes>(1 + draws.below(16));
    job.job.runtime = Duration{static_cast<std::int64_t>(1 + draws.below(200'000'000))};
    double until = 0;
    for (std::uint64_t n = draws.below(5); n > 0; --n) {
      until += (1 - until) * draws.uniform();
      job.more.phases.push_back({until, {Speedup::Kind::powerlaw, draws.uniform()}});
    }
    const Course course = job.course();
    const auto size = static_cast<Nodes>(1 + draws.below(32));
    const Time end = course.when(Time{}, course.total(), 0, size);
    Work left = course.total();
    Time now{};
    const Duration step = std::max((end - Time{}) / 37, kTick);
    while (now + step < end) {
      const Work before = left;
      left = course.left_after(left, size, step);
      now += step;
      ASSERT_LE(left, before);
    }
    // Each part rounds once, and each phase.
    EXPECT_NEAR(to_seconds(course.when(now, left, 0, size)), to_seconds(end), 50e-6);
  }
}

TEST(Course, NeverOverflows) {
  Job job;
  job.job.nodes = 1u << 31;
  job.job.runtime = Duration::max();
  const Course course = job.course();
  EXPECT_EQ(course.total(), (Work{1} << 94) - (Work{1} << 31));
  EXPECT_EQ(course.left_at(0), course.total());
  EXPECT_EQ(course.left_at(1e-30), course.total());
  EXPECT_EQ(course.left_at(1), 0);
  EXPECT_EQ(course.left_at(1.2), 0);  // never done
  EXPECT_GT(course.when(at_s(1), course.total(), 0, 1), Time{whole_seconds(4'000'000'000'000)});
  EXPECT_EQ(course.left_after(course.total(), 1u << 31, Duration::max()), 0);
}

TEST(Course, SharesOfWorkAreExact) {
  Draws draws(1, Stream::test, 1);
  for (int i = 0; i < 2'000; ++i) {
    Job job;
    job.job.nodes = static_cast<Nodes>(1 + draws.below(std::uint64_t{1} << draws.below(25)));
    job.job.runtime =
        Duration{static_cast<std::int64_t>(1 + draws.below(std::uint64_t{1} << draws.below(60)))};
    const auto permille = static_cast<int>(draws.below(1001));
    const Course course = job.course();
    const Work done = (2 * course.total() * permille + 1000) / 2000;
    const double share = permille / 1000.0;
    ASSERT_EQ(course.left_at(share), course.total() - done) << share;
    ASSERT_EQ(course.left_without(course.total(), share), course.total() - done) << share;
    ASSERT_EQ(course.left_without(0, -share), done) << share;
  }
}

// --- Scheduling points ---------------------------------------------------------------------------

TEST(SchedulingPoints, AreTheEndsOfIterations) {
  const Job job;
  const Course course = job.course(10);
  EXPECT_EQ(course.next_point(400 * kSecond, 4), 360 * kSecond);
  EXPECT_EQ(course.next_point(361 * kSecond, 4), 360 * kSecond);
  EXPECT_EQ(course.next_point(360 * kSecond, 4), 360 * kSecond);
  EXPECT_EQ(course.next_point(355 * kSecond, 4), 320 * kSecond);
  EXPECT_EQ(course.next_point(41 * kSecond, 4), 40 * kSecond);
  // The end of the job is none.
  EXPECT_EQ(course.next_point(39 * kSecond, 4), std::nullopt);
  EXPECT_EQ(course.next_point(0, 4), std::nullopt);
  EXPECT_EQ(job.course(1).next_point(400 * kSecond, 4), std::nullopt);
}

TEST(SchedulingPoints, AreReachedWithinHalfAMicrosecond) {
  const Job job;
  const Course course = job.course(10);
  for (const Work off : {-2, 0, 2}) {
    EXPECT_EQ(course.next_point(360 * kSecond + off, 4), 360 * kSecond + off);
  }
  EXPECT_EQ(course.next_point(360 * kSecond + 3, 4), 360 * kSecond);
  EXPECT_EQ(course.next_point(360 * kSecond - 3, 4), 320 * kSecond);
}

TEST(SchedulingPoints, OfPhasesThatHaveThem) {
  const Job job({{0.25, kLinear, 2, true}, {0.5, kLinear, 5, false}, {1, kSerial, 2, true}});
  const Course course = job.course(7);  // it has phases of its own
  EXPECT_EQ(course.next_point(course.total(), 4), course.left_at(0.125));
  EXPECT_EQ(course.next_point(course.left_at(0.125) - 1, 4), course.left_at(0.25));
  EXPECT_EQ(course.next_point(course.left_at(0.25) - 1, 4), course.left_at(0.75));
  EXPECT_EQ(course.next_point(course.left_at(0.75), 4), course.left_at(0.75));
  EXPECT_EQ(course.next_point(course.left_at(0.75) - 1, 4), std::nullopt);
}

// A share that is meant to be the end of an iteration is that end, though neither can be written.
TEST(SchedulingPoints, AreWhereSharesSayTheyAre) {
  for (std::uint32_t first = 1; first <= 12; ++first) {
    for (std::uint32_t second = 1; second <= 12; ++second) {
      const double all = first + second;
      const Job job({{first / all, kLinear, first, true}, {1, kSerial, second, true}});
      const Course course = job.course();
      for (std::uint32_t done = 1; done < first + second; ++done) {
        const Work there = course.left_at(done / all);
        ASSERT_EQ(there, course.left_at(EvolvingStep{.iterations = done})) << done << '/' << all;
        ASSERT_EQ(course.next_point(there, 4), there);
      }
      Job plain;
      plain.job.nodes = 1;
      plain.job.runtime = Duration{1'000'000 + first};
      for (std::uint32_t done = 1; done < second; ++done) {
        const Course whole = plain.course(second);
        const Work there = whole.left_at(static_cast<double>(done) / second);
        ASSERT_EQ(whole.next_point(there, 1), there) << done << '/' << second;
      }
    }
  }
}

TEST(SchedulingPoints, AreWhereAJobAsksIfItAsksAtItsSize) {
  Job job(
      {{.iterations = 5, .scheduling_points = false, .times_s = SharedList<double>({9, 8, 7})}});
  job.more.size = {2, 4};
  const SharedList<Nodes> more({3, 4, 4}), other({4, 3, 2});
  for (std::uint64_t done = 1; done < 5; ++done) {
    job.more.steps.push_back({.wanted = done == 3 ? other : more, .iterations = done});
  }
  const Course course = job.course();
  const auto left = [&](std::uint64_t done) {
    return course.left_at(EvolvingStep{.iterations = done});
  };
  EXPECT_EQ(course.next_point(course.total(), 2), left(1));
  EXPECT_EQ(course.next_point(left(1), 2), left(1));
  EXPECT_EQ(course.next_point(left(1) - 1, 2), left(2));
  EXPECT_EQ(course.next_point(course.total(), 4), left(3));
  EXPECT_EQ(course.next_point(left(3) - 1, 4), std::nullopt);
}

TEST(SchedulingPoints, OfIterationsThatDoNotDivideTheWork) {
  Job job;
  job.job.nodes = 1;
  job.job.runtime = Duration{10};
  const Course course = job.course(3);  // after 3, 7 and 10 of 10: shares are rounded so, too
  EXPECT_EQ(course.next_point(10, 1), 7);
  EXPECT_EQ(course.next_point(5, 1), 3);
  EXPECT_EQ(course.next_point(2, 1), std::nullopt);
  // More iterations than work: each microsecond of it.
  EXPECT_EQ(job.course(1000).next_point(6, 1), 6);
}

}  // namespace
}  // namespace ductile
