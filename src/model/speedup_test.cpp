#include "model/speedup.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

TEST(Speedup, OverheadOfOnePercentGives491On8Times) {
  EXPECT_NEAR((1 / Speedup{Kind::overhead, 0.01}.relative_time(16, 2)), 4.91, 0.005);
}

RC_GTEST_PROP(Speedup, NothingChangesAtThePreferredSize, ()) {
  const auto kind = *rc::gen::element(Kind::linear, Kind::powerlaw, Kind::amdahl, Kind::overhead);
  const Speedup speedup{kind, *rc::gen::inRange(0, 100) / 100.0};
  const auto n = *rc::gen::inRange<Nodes>(1, 100'000);
  const Duration runtime{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)};
  RC_ASSERT(work_done(speedup, n, n, runtime) == total_work(n, runtime));
  RC_ASSERT(time_for(speedup, n, n, total_work(n, runtime)) == runtime);
}

// However often a linear job is resized, what it has done and has left is its work to the last
// node-microsecond, and it ends within half a microsecond of the exact time.
RC_GTEST_PROP(Speedup, LinearIsExact, ()) {
  const Speedup linear{};
  const auto preferred = *rc::gen::inRange<Nodes>(1, 1000);
  const Duration runtime{*rc::gen::inRange<std::int64_t>(1, 100'000'000'000)};
  Work left = total_work(preferred, runtime);
  Work done = 0;
  for (int i = 0; i < 20; ++i) {
    const auto n = *rc::gen::inRange<Nodes>(1, 4000);
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
  const auto kind = *rc::gen::element(Kind::powerlaw, Kind::amdahl, Kind::overhead);
  const Speedup speedup{kind, *rc::gen::inRange(1, 90) / 100.0};
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

TEST(Speedup, WhatIsTooLargeIsTheLargestThereIs) {
  constexpr Nodes kMany = 1u << 24;
  const Duration long_time{std::int64_t{1} << 61};
  const Speedup overhead{Kind::overhead, 1};
  EXPECT_EQ(work_done({Kind::powerlaw, 0.1}, 1, kMany, long_time),
            std::numeric_limits<Work>::max());
  EXPECT_EQ(work_done({}, 1, kMany, long_time), std::numeric_limits<Work>::max());
  EXPECT_EQ(time_for(overhead, 1, kMany, std::numeric_limits<Work>::max() / 2), Duration::max());
}

}  // namespace
}  // namespace ductile
