#include "experiment/statement.hpp"

#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::HasSubstr;
using Verdict = Finding::Verdict;

std::vector<Summary> turnarounds(const std::vector<double>& values) {
  std::vector<Summary> summaries;
  for (const double value : values) {
    summaries.emplace_back();
    summaries.back().mean_turnaround_s = value;
    summaries.back().utilization = value / 1000;
  }
  return summaries;
}

Finding found(const Statement& statement, const std::vector<double>& runs,
              const std::vector<double>& against) {
  return examine(statement, turnarounds(runs), turnarounds(against));
}

TEST(Statement, ImprovementIsPositiveWhereRunsAreBetter) {
  const Statement shorter{.figure = "mean_turnaround_s"};
  const Finding finding = found(shorter, {60, 90}, {100, 100});
  EXPECT_DOUBLE_EQ(finding.improvement.mean, 25);
  EXPECT_DOUBLE_EQ(finding.runs, 75);
  EXPECT_DOUBLE_EQ(finding.against, 100);
  const Statement fuller{.figure = "utilization"};
  EXPECT_DOUBLE_EQ(found(fuller, {120}, {100}).improvement.mean, 20);
}

TEST(Statement, ANumberIsWithinATenthOfItOrInTheInterval) {
  const Statement statement{.figure = "mean_turnaround_s", .percent = 40};
  const std::vector<double> base(3, 100);
  EXPECT_EQ(found(statement, {55, 55, 55}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {55, 56, 54}, base).verdict, Verdict::not_met);  // 45 ± 2.5
  EXPECT_EQ(found(statement, {57, 57, 57}, base).verdict, Verdict::met);      // 43
  EXPECT_EQ(found(statement, {63, 63, 63}, base).verdict, Verdict::met);      // 37
  EXPECT_EQ(found(statement, {65, 65, 65}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {51, 55, 59}, base).verdict, Verdict::met);   // 45 ± 9.9
  EXPECT_EQ(found(statement, {55, 65, 75}, base).verdict, Verdict::open);  // 35 ± 25
  EXPECT_EQ(found(statement, {50, 60, 70}, base).verdict, Verdict::open);  // 40 ± 25
  // One seed has no interval.
  EXPECT_EQ(found(statement, {62}, {100}).verdict, Verdict::met);
  EXPECT_EQ(found(statement, {75}, {100}).verdict, Verdict::not_met);
  const Statement small{.figure = "mean_turnaround_s", .percent = 6};
  EXPECT_EQ(found(small, base, base).verdict, Verdict::not_met);
}

// Neither says an interval that is too wide no.
TEST(Statement, ADirectionNeedsAnIntervalWithoutZero) {
  Statement statement{.figure = "mean_turnaround_s"};
  const std::vector<double> base(5, 100);
  EXPECT_EQ(found(statement, {90, 91, 89, 90, 92}, base).verdict, Verdict::met);
  EXPECT_EQ(found(statement, {99, 20, 99, 99, 101}, base).verdict, Verdict::open);       // 16 ± 44
  EXPECT_EQ(found(statement, {99, 101, 98, 100, 101}, base).verdict, Verdict::not_met);  // alike
  EXPECT_EQ(found(statement, {110, 111, 109, 110, 112}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {90}, {100}).verdict, Verdict::open);
  statement.direction = Statement::Direction::worse;
  EXPECT_EQ(found(statement, {90, 91, 89, 90, 92}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {110, 111, 109, 110, 112}, base).verdict, Verdict::met);
  const std::vector<double> varied{100, 101, 102};
  EXPECT_EQ(found(statement, varied, varied).verdict, Verdict::not_met);
}

TEST(Statement, SeedsThatChangeNothingAreOneRun) {
  const Statement statement{.figure = "mean_turnaround_s"};
  const std::vector<double> runs(5, 90), base(5, 100);
  const Finding finding = found(statement, runs, base);
  EXPECT_DOUBLE_EQ(finding.improvement.mean, 10);
  EXPECT_EQ(finding.verdict, Verdict::open);
}

TEST(Statement, AlikeIsAnIntervalWithinFivePercent) {
  const Statement statement{.figure = "mean_turnaround_s",
                            .direction = Statement::Direction::equal};
  const std::vector<double> base(5, 100);
  EXPECT_EQ(found(statement, {99, 101, 100, 98, 103}, base).verdict, Verdict::met);
  EXPECT_EQ(found(statement, {90, 110, 95, 105, 100}, base).verdict, Verdict::open);  // 0 ± 9.8
  EXPECT_EQ(found(statement, {90, 91, 89, 90, 92}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {100}, {100}).verdict, Verdict::open);
}

TEST(Statement, NotBetterIsTheSameOrWorse) {
  const Statement statement{.figure = "mean_turnaround_s",
                            .direction = Statement::Direction::not_better};
  const std::vector<double> base(5, 100);
  EXPECT_EQ(found(statement, {99, 101, 100, 98, 103}, base).verdict, Verdict::met);  // alike
  EXPECT_EQ(found(statement, {110, 111, 109, 110, 112}, base).verdict, Verdict::met);
  EXPECT_EQ(found(statement, {90, 110, 95, 105, 100}, base).verdict, Verdict::open);
  EXPECT_EQ(found(statement, {90, 91, 89, 90, 92}, base).verdict, Verdict::not_met);
  EXPECT_EQ(found(statement, {100}, {100}).verdict, Verdict::open);
  EXPECT_EQ(said_text(statement), "not better");
}

TEST(Statement, AFigureItself) {
  const std::vector<Summary> runs = turnarounds({980, 985, 990});
  const auto verdict = [&](Statement::Kind kind, double value) {
    const Statement statement{.figure = "utilization", .kind = kind, .value = value};
    return examine(statement, runs, runs).verdict;
  };
  const Statement statement{.figure = "utilization", .kind = Statement::Kind::is, .value = 0.99};
  const Finding finding = examine(statement, runs, runs);
  EXPECT_DOUBLE_EQ(finding.improvement.mean, 0.985);
  EXPECT_EQ(said_text(statement), "0.99");
  EXPECT_EQ(said_text({.kind = Statement::Kind::is, .value = 21615111}), "21615111");
  EXPECT_EQ(measured_text(statement, finding), "0.985 ± 0.012");
  EXPECT_EQ(finding.verdict, Verdict::met);
  EXPECT_EQ(verdict(Statement::Kind::is, 0.8), Verdict::not_met);
  EXPECT_EQ(verdict(Statement::Kind::at_most, 0.998), Verdict::met);
  EXPECT_EQ(verdict(Statement::Kind::at_most, 0.99), Verdict::open);  // the interval ends above
  EXPECT_EQ(verdict(Statement::Kind::at_most, 0.97), Verdict::not_met);
  EXPECT_EQ(verdict(Statement::Kind::at_least, 0.97), Verdict::met);
  EXPECT_EQ(verdict(Statement::Kind::at_least, 0.98), Verdict::open);
  EXPECT_EQ(verdict(Statement::Kind::at_least, 0.998), Verdict::not_met);
  EXPECT_THAT(findings_table({&statement, 1}, {&finding, 1}), HasSubstr("0.985 ± 0.012"));
  EXPECT_THAT(findings_json({&statement, 1}, {&finding, 1}), HasSubstr("\"value\":0.985"));
}

TEST(Statement, WithoutAFigureItStaysOpen) {
  EXPECT_EQ(found({.figure = "p99_wait_s"}, {1}, {1}).verdict, Verdict::open);
  EXPECT_TRUE(has_figure("utilization"));
  EXPECT_FALSE(has_figure("policy"));
  EXPECT_FALSE(has_figure("mood"));
}

TEST(Statement, ATableSaysWhatThePaperAndTheRunsSay) {
  const std::vector<Statement> statements{{.id = "M1",
                                           .figure = "mean_turnaround_s",
                                           .runs = {"", "mebf"},
                                           .against = {"", "easy"},
                                           .percent = 40},
                                          {.id = "E1",
                                           .figure = "utilization",
                                           .runs = {"some", "elastic"},
                                           .against = {"none", "easy"}}};
  const std::vector<Finding> findings{found(statements[0], {60.5, 61.5}, {100, 100}),
                                      found(statements[1], {50}, {100})};
  const std::string table = findings_table(statements, findings);
  EXPECT_THAT(table, HasSubstr("40 %"));
  EXPECT_THAT(table, HasSubstr("39.0 ± 6.4 % (61 : 100)"));
  EXPECT_THAT(table, HasSubstr("met"));
  EXPECT_THAT(table, HasSubstr("some, elastic"));
  EXPECT_THAT(table, HasSubstr("-50.0 % (0.05 : 0.1)"));
  EXPECT_THAT(table, HasSubstr("open"));  // one seed
}

Finding found_among(const Statement& statement, const std::vector<std::vector<double>>& values) {
  std::vector<std::vector<Summary>> runs;
  for (const std::vector<double>& its : values) runs.push_back(turnarounds(its));
  return examine(statement, std::vector<std::span<const Summary>>(runs.begin(), runs.end()));
}

TEST(Statement, WhoIsBestAndWorstOfSeveral) {
  Statement statement{.figure = "mean_turnaround_s",
                      .kind = Statement::Kind::best,
                      .runs = {"", "b"},
                      .among = {{"", "a"}, {"", "b"}, {"", "c"}}};
  const std::vector<std::vector<double>> values{{100, 110, 100}, {90, 98, 91}, {120, 99, 105}};
  const Finding best = found_among(statement, values);
  EXPECT_EQ(best.best, 1u);
  EXPECT_EQ(best.worst, 2u);
  EXPECT_NEAR(best.by_seed[0], 10, 1e-12);          // against a
  EXPECT_NEAR(best.by_seed[1], 100.0 / 99, 1e-12);  // against c
  EXPECT_EQ(best.verdict, Verdict::open);           // not surely

  statement.kind = Statement::Kind::worst;
  statement.runs = {"", "c"};
  const Finding worst = found_among(statement, values);
  EXPECT_NEAR(worst.by_seed[0], -20, 1e-12);
  EXPECT_GT(worst.by_seed[1], 0);  // a is the worst here
  EXPECT_EQ(worst.verdict, Verdict::open);
  const std::string table = findings_table({&statement, 1}, {&worst, 1});
  EXPECT_THAT(table, HasSubstr("2 others"));
  EXPECT_THAT(table, HasSubstr("worst"));
  EXPECT_THAT(findings_json({&statement, 1}, {&worst, 1}), HasSubstr("\"says\":\"worst\""));

  // Of utilization more is better.
  statement.figure = "utilization";
  EXPECT_EQ(found_among(statement, values).best, 2u);
}

TEST(Statement, FromTheBestToTheWorst) {
  Statement statement{.figure = "mean_turnaround_s",
                      .kind = Statement::Kind::spread,
                      .among = {{"", "a"}, {"", "b"}, {"", "c"}},
                      .percent = 12};
  const Finding finding = found_among(statement, {{100, 100}, {111.9, 112.1}, {105, 105}});
  EXPECT_NEAR(finding.improvement.mean, 12, 1e-12);
  EXPECT_EQ(finding.best, 0u);
  EXPECT_EQ(finding.worst, 1u);
  EXPECT_EQ(finding.verdict, Verdict::met);
  EXPECT_THAT(findings_table({&statement, 1}, {&finding, 1}), HasSubstr("spread 12 %"));
  statement.figure = "utilization";
  EXPECT_NEAR(found_among(statement, {{100}, {80}, {90}}).improvement.mean, 20, 1e-9);
}

TEST(Statement, TheHighestOfSeveralImprovements) {
  Statement statement{.figure = "mean_turnaround_s",
                      .kind = Statement::Kind::highest,
                      .among = {{"", "a"}, {"", "b"}, {"", "c"}},
                      .against_each = {{"", "x"}, {"", "x"}, {"", "y"}},
                      .percent = 40};
  const std::vector<Summary> a = turnarounds({90, 90}), b = turnarounds({59, 61}),
                             c = turnarounds({90, 90}), x = turnarounds({100, 100}),
                             y = turnarounds({120, 120});
  const std::vector<std::span<const Summary>> runs{a, b, c}, against{x, x, y};
  const Finding finding = examine_highest(statement, runs, against);
  EXPECT_EQ(finding.best, 1u);
  EXPECT_NEAR(finding.improvement.mean, 40, 1e-12);
  EXPECT_EQ(finding.verdict, Verdict::open);  // two seeds: 40 ± 12.7
  statement.percent = 60;
  EXPECT_EQ(examine_highest(statement, runs, against).verdict, Verdict::not_met);
  EXPECT_EQ(said_text(statement), "highest 60 %");
  EXPECT_THAT(findings_table({&statement, 1}, {&finding, 1}), HasSubstr("b"));
  EXPECT_THAT(findings_json({&statement, 1}, {&finding, 1}), HasSubstr("\"says\":\"highest\""));
}

std::vector<Summary> events(std::uint64_t expands, std::uint64_t shrinks,
                            std::uint64_t backfilled) {
  std::vector<Summary> summaries(3);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].expands = expands + i;
    summaries[i].shrinks = shrinks;
    summaries[i].backfilled = backfilled;
  }
  return summaries;
}

TEST(Statement, OfCountsMoreIsNeitherBetterNorWorse) {
  const std::vector<Summary> many = events(60, 20, 20), few = events(20, 20, 60);
  const Statement more{.figure = "expands"};
  EXPECT_EQ(said_text(more), "more");
  EXPECT_GT(examine(more, many, few).improvement.mean, 100);
  EXPECT_EQ(examine(more, many, few).verdict, Verdict::met);
  Statement fewer{.figure = "expands", .direction = Statement::Direction::worse};
  EXPECT_EQ(said_text(fewer), "fewer");
  EXPECT_EQ(examine(fewer, few, many).verdict, Verdict::met);
  // Violations are no such counts.
  EXPECT_EQ(said_text({.figure = "corridor_violations"}), "better");

  // One figure against another one of the same runs.
  const Statement than{.figure = "expands", .against_figure = "shrinks"};
  EXPECT_EQ(said_text(than), "more than `shrinks`");
  EXPECT_EQ(examine(than, many, many).verdict, Verdict::met);
  EXPECT_EQ(examine(than, few, few).verdict, Verdict::open);  // 5 ± 12

  // Shares of events are in percent.
  EXPECT_TRUE(has_figure("expand_share"));
  EXPECT_DOUBLE_EQ(figure_of(many.front(), "expand_share").value(), 60);
  EXPECT_DOUBLE_EQ(figure_of(many.front(), "backfill_share").value(), 20);
  EXPECT_FALSE(figure_of(Summary{}, "shrink_share"));
}

}  // namespace
}  // namespace ductile
