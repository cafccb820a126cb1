#include "model/speedup.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Kind = Speedup::Kind;

TEST(Speedup, ModelsAreTheirFormulas) {
  EXPECT_DOUBLE_EQ((Speedup{Kind::linear}.relative_time(8, 2)), 0.25);
  EXPECT_DOUBLE_EQ((Speedup{Kind::powerlaw, 0.5}.relative_time(8, 2)), 0.5);
  // (0.1 + 0.9/8) / (0.1 + 0.9/2)
  EXPECT_DOUBLE_EQ((Speedup{Kind::amdahl, 0.1}.relative_time(8, 2)), 0.2125 / 0.55);
  EXPECT_DOUBLE_EQ((Speedup{Kind::overhead, 0.01}.relative_time(8, 1)), 0.99 / 8 + 0.08);
}

// In FLOP, for the cores of 41.6 GFLOP/s of "Performance-driven scheduling for malleable
// workloads": 89.8 TFLOP.
TEST(Speedup, WorkOf48CoresFor45Seconds) {
  const double core_s = static_cast<double>(total_work(48, whole_seconds(45))) / 1e6;
  EXPECT_NEAR(core_s * 41.6e9, 89.8e12, 0.1e12);
}

TEST(Speedup, DowneyOfParallelism10) {
  EXPECT_DOUBLE_EQ(downey_speedup(1, 10, 0.5), 1);
  EXPECT_NEAR(downey_speedup(10, 10, 0.5), 8.16, 0.01);
  EXPECT_DOUBLE_EQ(downey_speedup(19, 10, 0.5), 10);
  EXPECT_DOUBLE_EQ((Speedup{Kind::downey, 10, 0.5}.relative_time(19, 1)), 0.1);
}

// A job of 2 nodes with 4 cores each that has half of them, and does nine tenths there: exactly,
// but for half a core-microsecond at the end of each stretch.
TEST(Speedup, WorkOfThousandthsOfCoresIsWhole) {
  const Crew crew(2, 4, {2 * 2 * 900, 2 * 4 * 1000});
  EXPECT_EQ(work_done({}, 2, crew, Duration{10}), 36);
  EXPECT_EQ(work_done({}, 2, crew, Duration{1}), 4);   // 3.6
  EXPECT_EQ(work_done({}, 2, crew, Duration{4}), 14);  // 14.4
  const Duration day = whole_seconds(86'400);
  EXPECT_EQ(work_done({}, 2, crew, day), Work{86'400} * 3'600'000);
  EXPECT_EQ(time_for({}, 2, crew, Work{86'400} * 3'600'000), day);
  EXPECT_EQ(time_for({}, 2, crew, 9), Duration{3});  // 2.5
  // A year of 2^20 nodes is more than doubles can count.
  const std::uint64_t cores = std::uint64_t{64} << 20;
  const Crew large(1u << 20, 64, {cores * 999, cores * 1000});
  const Duration year = whole_seconds(365 * 86'400);
  const Work done = work_done({}, 1u << 20, large, year);
  EXPECT_EQ(done, Work{cores} * year.count() / 1000 * 999);
  EXPECT_EQ(time_for({}, 1u << 20, large, done), year);
  // All of the thousandths are all of the cores.
  EXPECT_EQ(Pace({2000, 4000}), Pace({2, 4}));
  EXPECT_EQ(work_done({}, 2, Crew(2, 4, {4000, 8000}), Duration{7}),
            work_done({}, 2, Crew(2, 4, {4, 8}), Duration{7}));
}

// From one node up it never falls, is never more than what is ideal, and ends at the average
// parallelism, at the sizes that Downey gives.
TEST(Speedup, DowneyRisesToItsParallelism) {
  for (const double a : {1.0, 1.5, 10.0, 64.0}) {
    for (const double sigma : {0.0, 0.3, 0.999, 1.0, 1.001, 2.0, 20.0}) {
      double last = 1;
      EXPECT_DOUBLE_EQ(downey_speedup(1, a, sigma), 1) << a << ' ' << sigma;
      for (double n = 1; n < 2000; n += 0.5) {
        const double now = downey_speedup(n, a, sigma);
        ASSERT_GE(now, last - 1e-12) << n << ' ' << a << ' ' << sigma;
        ASSERT_LE(now, std::min(n, a) + 1e-12) << n << ' ' << a << ' ' << sigma;
        ASSERT_LT(now - last, 0.51);  // no jump where one formula takes over from the other
        last = now;
      }
      EXPECT_DOUBLE_EQ(last, a) << a << ' ' << sigma;
      const double most = sigma <= 1 ? 2 * a - 1 : a + a * sigma - sigma;
      EXPECT_NEAR(downey_speedup(most - 1e-9, a, sigma), a, 1e-6);
    }
  }
  for (double n = 1; n < 100; n += 1) {
    EXPECT_DOUBLE_EQ(downey_speedup(n, 10, 0), std::min(n, 10.0));  // the ideal bound
    EXPECT_NEAR(downey_speedup(n, 64, 1 - 1e-12), downey_speedup(n, 64, 1 + 1e-12), 1e-6);
  }
}

TEST(Speedup, TableHoldsAtItsPointsAndPromisesNothingBeyond) {
  const Speedup table = parse_speedup("table:2=100:4=60:16=30");
  EXPECT_DOUBLE_EQ(table.relative_time(4, 2), 0.6);
  EXPECT_DOUBLE_EQ(table.relative_time(2, 16), 100.0 / 30);
  // Half way between 4 and 16 where both axes are logarithmic.
  EXPECT_DOUBLE_EQ(table.relative_time(8, 4), std::sqrt(30.0 / 60));
  EXPECT_DOUBLE_EQ(table.relative_time(1, 2), 2);      // below: linear
  EXPECT_DOUBLE_EQ(table.relative_time(1000, 16), 1);  // above: no faster
  const Speedup point = parse_speedup("table:4=1");
  EXPECT_DOUBLE_EQ(point.relative_time(1, 8), 4);
}

TEST(Speedup, TablesAreEqualByContent) {
  EXPECT_EQ(parse_speedup("table:2=100:4=60"), parse_speedup("table:2=100:4=60"));
  EXPECT_NE(parse_speedup("table:2=100:4=60"), parse_speedup("table:2=100:4=61"));
  EXPECT_NE(parse_speedup("table:2=100:4=60"), parse_speedup("table:2=100"));
}

TEST(Speedup, HasATextForm) {
  for (const char* text :
       {"linear", "powerlaw:0", "powerlaw:0.2", "amdahl:1", "overhead:0.00625", "downey:64:0.5",
        "downey:1:0", "table:1=100", "table:1=100:2=55.5:4=30"}) {
    EXPECT_EQ(to_text(parse_speedup(text)), text);
  }
  EXPECT_EQ(parse_speedup("amdahl:0.1"), (Speedup{Kind::amdahl, 0.1}));
  EXPECT_EQ(parse_speedup("downey:64:0.5"), (Speedup{Kind::downey, 64, 0.5}));
}

RC_GTEST_PROP(Speedup, TextFormIsExact, ()) {
  const auto number = [](int least) {
    return least + *rc::gen::inRange(0, 1 << 30) / 1073741824.0;
  };
  const Speedup speedup{Kind::downey, number(1), number(0)};
  RC_ASSERT(parse_speedup(to_text(speedup)) == speedup);
}

TEST(Speedup, BadTextIsAnError) {
  for (const char* text : {"",
                           "Linear",
                           "linear:",
                           "linear:1",
                           "powerlaw",
                           "powerlaw:",
                           "powerlaw:1.1",
                           "powerlaw:-0.1",
                           "powerlaw:0.1:2",
                           "powerlaw:nan",
                           "powerlaw:inf",
                           "amdahl:x",
                           "downey:4",
                           "downey:0.5:1",
                           "downey:4:-1",
                           "downey:4:1:",
                           "table",
                           "table:",
                           "table:1",
                           "table:1=",
                           "table:1=0",
                           "table:1=-1",
                           "table:0=1",
                           "table:1=1:1=2",
                           "table:2=1:1=2",
                           "table:1=1:",
                           "table:1=1e13",
                           "table:99999999999=1",
                           "table:1=1,2=1"}) {
    EXPECT_THROW(parse_speedup(text), InputError) << text;
  }
  try {
    parse_speedup("amdahl:2", {"jobs.adaptive", 3, "model"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "jobs.adaptive:3: model: '2' is no number from 0 to 1; use linear, powerlaw:RHO, "
                 "amdahl:S, overhead:X, downey:A:SIGMA or table:N=TIME:N=TIME:...");
  }
}

TEST(Speedup, OverheadOfOnePercentGives491On8Times) {
  EXPECT_NEAR((1 / Speedup{Kind::overhead, 0.01}.relative_time(16, 2)), 4.91, 0.005);
}

RC_GTEST_PROP(Speedup, NothingChangesAtThePreferredSize, ()) {
  const Speedup speedup = parse_speedup(
      *rc::gen::element<std::string>("linear", "powerlaw:0.3", "amdahl:0.07", "overhead:0.02",
                                     "downey:20:0.7", "downey:9:1.5", "table:2=50:30=4:500=1"));
  const auto n = *rc::gen::inRange<Nodes>(1, 100'000);
  const Duration runtime{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)};
  RC_ASSERT(work_done(speedup, n, n, runtime) == total_work(n, runtime));
  RC_ASSERT(time_for(speedup, n, n, total_work(n, runtime)) == runtime);
}

// However often a linear job is resized, what it has done and has left is its work to the last
// node-microsecond, and it ends within half a microsecond of the exact time. So it is for the
// longest jobs that a log can describe, 10^12 s, on 2^24 nodes.
RC_GTEST_PROP(Speedup, LinearIsExact, ()) {
  const Speedup linear{};
  const auto bits = *rc::gen::inRange(0, 25);
  const Nodes most = Nodes{1} << bits;
  const auto preferred = *rc::gen::inRange<Nodes>(1, most + 1);
  const auto digits = *rc::gen::inRange(1, 19);
  const Duration runtime{*rc::gen::inRange<std::int64_t>(
      1, digits == 18 ? 1'000'000'000'000'000'000 : std::int64_t{1} << 3 * digits)};
  Work left = total_work(preferred, runtime);
  Work done = 0;
  for (int i = 0; i < 20; ++i) {
    const auto n = *rc::gen::inRange<Nodes>((preferred + 3) / 4, 4 * most);
    const Duration all = time_for(linear, preferred, n, left);
    const Work rest = total_work(n, all) - left;
    RC_ASSERT(2 * rest > -Work{n});
    if (2 * left >= Work{n}) {  // else it takes one tick, the shortest time there is
      RC_ASSERT(2 * rest <= Work{n});
    }
    const Duration part{*rc::gen::inRange<std::int64_t>(0, all.count())};
    done += work_done(linear, preferred, n, part);
    left -= work_done(linear, preferred, n, part);
  }
  RC_ASSERT(done + left == total_work(preferred, runtime));
}

RC_GTEST_PROP(Speedup, WorkAndTimeAreInverse, ()) {
  const Speedup speedup = parse_speedup(*rc::gen::element<std::string>(
      "powerlaw:0.3", "powerlaw:0.9", "amdahl:0.07", "overhead:0.02", "overhead:0.5",
      "downey:20:0.7", "downey:9:1.5", "table:2=50:30=4:500=1"));
  const auto preferred = *rc::gen::inRange<Nodes>(1, 1000);
  const auto n = *rc::gen::inRange<Nodes>(1, 1000);
  const Duration time{*rc::gen::inRange<std::int64_t>(1'000'000, 100'000'000'000)};
  const Work work = work_done(speedup, preferred, n, time);
  RC_PRE(work > 1'000'000);  // rounding is small then
  const double again = static_cast<double>(time_for(speedup, preferred, n, work).count());
  RC_ASSERT(std::abs(again - static_cast<double>(time.count())) <=
            1 + 1e-6 * static_cast<double>(time.count()));
}

TEST(Speedup, NoWorkTakesOneTick) {
  EXPECT_EQ(time_for({}, 4, 4, 0), kTick);
  EXPECT_EQ(time_for({}, 4, 4, -100), kTick);
  EXPECT_EQ(time_for({Kind::amdahl, 0.1}, 4, 8, 0), kTick);
}

TEST(Speedup, TimeIsRoundedHalfUp) {
  EXPECT_EQ(time_for({}, 4, 4, 41), Duration{10});
  EXPECT_EQ(time_for({}, 4, 4, 42), Duration{11});
  EXPECT_EQ(time_for({}, 4, 3, 31), Duration{10});
  EXPECT_EQ(time_for({}, 4, 3, 32), Duration{11});
}

TEST(Speedup, WorkIsNeverTooLarge) {
  constexpr Nodes kMany = 1u << 24;
  const Duration long_time{std::int64_t{1} << 60};
  EXPECT_EQ(total_work(kMany, long_time), Work{1} << 84);
  EXPECT_EQ(work_done({}, 1, kMany, long_time), Work{1} << 84);
  EXPECT_EQ(work_done({Kind::powerlaw, 0.5}, 1, kMany, long_time), Work{1} << 72);
  EXPECT_EQ(time_for({}, 1, kMany / 2, (Work{1} << 83) - 1), Duration{std::int64_t{1} << 60});
  EXPECT_EQ(time_for({}, 1, kMany / 2, (Work{1} << 83) + (1 << 23)),
            Duration{(std::int64_t{1} << 60) + 1});
}

TEST(Speedup, TimeIsAtMostSoLongThatMoreCanBeAdded) {
  constexpr Duration kMost{std::int64_t{1} << 62};
  EXPECT_EQ(time_for({}, 1, 1, Work{1} << 100), kMost);
  EXPECT_EQ(time_for({Kind::overhead, 1}, 1, 1u << 24, Work{1} << 84), kMost);
}

}  // namespace
}  // namespace ductile
