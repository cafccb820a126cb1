#include "metrics/summary.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

Time at(int seconds) { return Time{whole_seconds(seconds)}; }

TEST(JobFigures, OfTwoJobsByHand) {
  JobFigures figures;
  figures.add(at(0), at(30), at(50), whole_seconds(20), false);  // waits 30, runs 20
  figures.add(at(10), at(20), at(25), whole_seconds(10), true);  // waits 10, killed after 5 of 10
  Summary s;
  figures.write(s);
  EXPECT_EQ(s.jobs, 2u);
  EXPECT_EQ(s.killed, 1u);
  EXPECT_DOUBLE_EQ(s.mean_wait_s, 20);
  EXPECT_DOUBLE_EQ(s.median_wait_s, 20);
  EXPECT_DOUBLE_EQ(s.p95_wait_s, 29);
  EXPECT_DOUBLE_EQ(s.p99_wait_s, 29.8);
  EXPECT_DOUBLE_EQ(s.max_wait_s, 30);
  EXPECT_DOUBLE_EQ(s.mean_turnaround_s, 32.5);
  EXPECT_DOUBLE_EQ(s.mean_slowdown, (50.0 / 20 + 15.0 / 10) / 2);
  EXPECT_DOUBLE_EQ(s.mean_slowdown_actual, (50.0 / 20 + 15.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(s.mean_bounded_slowdown, (50.0 / 20 + 15.0 / 10) / 2);
  EXPECT_DOUBLE_EQ(s.slowdown_of_means, 65.0 / 30);
}

TEST(JobFigures, BoundedSlowdownIsAboutTenSecondsAndAtLeastOne) {
  JobFigures figures;
  figures.add(at(0), at(18), at(20), whole_seconds(2), false);  // 20 / max(2, 10)
  figures.add(at(0), at(0), at(1), whole_seconds(1), false);    // 1 / 10: 1
  Summary s;
  figures.write(s);
  EXPECT_DOUBLE_EQ(s.mean_bounded_slowdown, 1.5);
}

TEST(JobFigures, OfNoJobsThereAreNone) {
  Summary s;
  JobFigures().write(s);
  EXPECT_EQ(s.jobs, 0u);
  EXPECT_TRUE(std::isnan(s.mean_wait_s));
  EXPECT_TRUE(std::isnan(s.max_wait_s));
}

TEST(JobFigures, OfOneJobAllQuantilesAreIt) {
  JobFigures figures;
  figures.add(at(0), at(7), at(8), whole_seconds(1), false);
  Summary s;
  figures.write(s);
  EXPECT_EQ(s.median_wait_s, 7);
  EXPECT_EQ(s.p99_wait_s, 7);
  EXPECT_EQ(s.max_wait_s, 7);
}

TEST(JobFigures, QuantilesAreThoseOfTheSortedWaits) {
  JobFigures figures;
  // 0 .. 1000 in a scattered order.
  for (int i = 0; i <= 1000; ++i) {
    figures.add(at(0), at(i * 617 % 1001), at(2000), whole_seconds(1), false);
  }
  Summary s;
  figures.write(s);
  EXPECT_EQ(s.median_wait_s, 500);
  EXPECT_EQ(s.p95_wait_s, 950);
  EXPECT_EQ(s.p99_wait_s, 990);
  EXPECT_EQ(s.max_wait_s, 1000);
}

TEST(JobFigures, SumsStayExactBeyond64Bits) {
  JobFigures figures;
  const Time late{Duration{std::int64_t{1} << 62}};
  for (int i = 0; i < 5; ++i) figures.add(Time{}, late, late + kTick, kTick, false);
  Summary s;
  figures.write(s);
  EXPECT_DOUBLE_EQ(s.mean_wait_s, to_seconds(late));
}

TEST(Summary, NamesItsFiguresInTheOrderOfFiles) {
  Summary s;
  std::vector<std::string> names;
  const auto note = [&](const char* name, auto&) { names.emplace_back(name); };
  visit_figures(s, note);
  visit_measurements(s, note);
  EXPECT_EQ(names.size(), 60u);
  EXPECT_EQ(names.front(), "policy");
  EXPECT_EQ(names.back(), "peak_rss_bytes");
  EXPECT_THAT(names, testing::Contains("slowdown_of_means"));
}

}  // namespace
}  // namespace ductile
