#include "live/corridor_watch.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

Time at(std::int64_t seconds) { return Time(whole_seconds(seconds)); }

TEST(CorridorWatch, SumsUpWhatIsBeyondTheNearerBound) {
  CorridorWatch watch;
  watch.note(at(0), 500'000);
  watch.set_bounds(at(10), PowerBounds{1'000'000, 1'700'000});  // 500 W below
  watch.note(at(20), 1'200'000);
  watch.note(at(30), 1'800'000);  // 100 W above
  EXPECT_TRUE(watch.at(at(30)).is_outside);
  EXPECT_EQ(watch.at(at(30)).excursions, 1u);
  const auto now = watch.at(at(61));
  EXPECT_EQ(now.outside, whole_seconds(41));
  EXPECT_DOUBLE_EQ(now.outside_ws, 10 * 500 + 31 * 100);
  EXPECT_EQ(now.excursions, 2u);
  EXPECT_EQ(now.violations, 1u) << "31 s are more than a tick";
  EXPECT_EQ(now.excursion, whole_seconds(31));
  watch.note(at(61), 1'700'000);
  EXPECT_FALSE(watch.at(at(100)).is_outside);
  EXPECT_EQ(watch.at(at(100)).outside, whole_seconds(41));
  EXPECT_EQ(watch.at(at(100)).violations, 1u);
}

TEST(CorridorWatch, CountsAboveAndBelowAsOneExcursionAndThirtySecondsAsNoViolation) {
  CorridorWatch watch;
  watch.note(at(0), 0);
  watch.set_bounds(at(0), PowerBounds{100, 200});
  watch.note(at(15), 300);
  watch.note(at(30), 150);
  EXPECT_EQ(watch.at(at(40)).excursions, 1u);
  EXPECT_EQ(watch.at(at(40)).violations, 0u);
}

TEST(CorridorWatch, EndsAnExcursionWithItsBounds) {
  CorridorWatch watch;
  watch.note(at(0), 0);
  watch.set_bounds(at(0), PowerBounds{100, 200});
  watch.set_bounds(at(20), PowerBounds{100, 200});  // the same
  watch.set_bounds(at(25), PowerBounds{50, std::nullopt});
  const auto now = watch.at(at(50));
  EXPECT_EQ(now.excursions, 2u);
  EXPECT_EQ(now.violations, 0u);
  EXPECT_EQ(now.outside, whole_seconds(50));
  watch.set_bounds(at(50), std::nullopt);
  EXPECT_EQ(watch.at(at(1000)).outside, whole_seconds(50));
}

}  // namespace
}  // namespace ductile
