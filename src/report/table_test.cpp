#include "report/table.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using testing::HasSubstr;
using testing::Not;

Summary summary_of(const char* policy, double mean_wait_s) {
  Summary summary;
  summary.policy = policy;
  summary.jobs = 10;
  summary.mean_wait_s = mean_wait_s;
  return summary;
}

TEST(Table, RunsOfAPolicyAreOneLine) {
  const std::vector<Summary> runs = {summary_of("easy", 10), summary_of("fcfs", 50),
                                     summary_of("easy", 12), summary_of("fcfs", 50)};
  const std::vector<PolicyRuns> groups = by_policy(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].policy, "easy");
  EXPECT_EQ(groups[1].runs, (std::vector<const Summary*>{&runs[1], &runs[3]}));
  const std::string table = summary_table(runs);
  EXPECT_THAT(table, HasSubstr("11.0 ± 12.7"));
  EXPECT_THAT(table, HasSubstr("  50.0  "));  // all the same: no interval to tell
}

TEST(Table, WhatDidNotHappenHasNoColumn) {
  std::vector<Summary> runs = {summary_of("easy", 10)};
  EXPECT_THAT(summary_table(runs), Not(HasSubstr("expands")));
  runs[0].expands = 3;
  EXPECT_THAT(summary_table(runs), HasSubstr("expands"));
}

TEST(Table, AFigureThatHasNoValueIsADash) {
  const std::vector<Summary> runs = {summary_of("easy", Summary::kNone)};
  EXPECT_THAT(summary_table(runs), HasSubstr(" - "));
}

TEST(Table, ColumnsStandBelowEachOther) {
  const std::vector<Summary> runs = {summary_of("easy", 1), summary_of("a-long-name", 1e6)};
  const std::string table = summary_table(runs);
  std::size_t width = 0;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    // All lines end with a right-aligned column, but for that of the units and the first.
    width = std::max(width, end - at);
    at = end + 1;
  }
  EXPECT_THAT(table, HasSubstr("1000000.0"));
  EXPECT_LT(width, 160u);
}

}  // namespace
}  // namespace ductile
