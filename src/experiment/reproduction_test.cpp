#include "experiment/reproduction.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_targets.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Verdict = Finding::Verdict;

using Targets = testing::SmallTargets;

TEST(Verdict, OfATargetIsThatOfAllItsStatements) {
  const auto verdict = [](const Target& target, const std::vector<Verdict>& verdicts) {
    std::vector<Judged> judged;
    for (const Verdict each : verdicts) judged.push_back({"A", "", each});
    return verdict_of(target, judged);
  };
  EXPECT_EQ(verdict({.statements = {"A"}}, {Verdict::met, Verdict::met}), "met");
  EXPECT_EQ(verdict({.statements = {"A"}}, {Verdict::met, Verdict::not_met, Verdict::open}),
            "not met");
  EXPECT_EQ(verdict({.statements = {"A"}}, {Verdict::met, Verdict::open}), "open");
  EXPECT_EQ(verdict({}, {}), "open");
  EXPECT_EQ(verdict({.not_comparable = "lost"}, {Verdict::met}), "not comparable");
  EXPECT_EQ(verdict({.not_run = "long"}, {}), "not run");
}

TEST(Verdict, MostlyIsMoreThanHalfOfEach) {
  const Target target{.mostly = {"A", "B"}};
  const auto verdict = [&](const std::vector<Verdict>& of_a, const std::vector<Verdict>& of_b) {
    std::vector<Judged> judged;
    for (const Verdict each : of_a) judged.push_back({"A", "", each});
    for (const Verdict each : of_b) judged.push_back({"B", "", each});
    return verdict_of(target, judged);
  };
  constexpr Verdict met = Verdict::met, not_met = Verdict::not_met, open = Verdict::open;
  EXPECT_EQ(verdict({met, met, not_met}, {met}), "met");
  EXPECT_EQ(verdict({met, met, open, not_met}, {met}), "open");
  EXPECT_EQ(verdict({met, not_met}, {met}), "not met");
  EXPECT_EQ(verdict({met, met, met}, {not_met, not_met, open}), "not met");
}

TEST(Verdict, ButOneIsAllVariantsButExactlyOne) {
  const Target target{.but_one = {"A"}};
  const auto verdict = [&](const std::vector<std::pair<const char*, Verdict>>& of) {
    std::vector<Judged> judged;
    for (const auto& [variant, each] : of) judged.push_back({"A", variant, each});
    return verdict_of(target, judged);
  };
  constexpr Verdict met = Verdict::met, not_met = Verdict::not_met, open = Verdict::open;
  EXPECT_EQ(verdict({{"20", not_met}, {"20", met}, {"40", met}, {"60", met}}), "met");
  EXPECT_EQ(verdict({{"20", not_met}, {"40", not_met}, {"60", met}}), "not met");
  EXPECT_EQ(verdict({{"20", met}, {"40", met}}), "not met");  // nowhere is the exception
  EXPECT_EQ(verdict({{"20", met}, {"40", open}}), "open");
  EXPECT_EQ(verdict({{"20", not_met}, {"40", open}}), "open");
  EXPECT_EQ(verdict({{"20", open}, {"20", not_met}, {"40", not_met}}), "not met");
}

TEST_F(Targets, APageHasEachOfThemAndTheOtherSides) {
  const PaperTargets paper = read(testing::kSmallTargets);
  Reproduced its{
      .experiment = read_experiment((folder_ / "e.toml").string()), .findings = {}, .runs = {}};
  const auto runs = [](double turnaround) {
    std::vector<Summary> summaries(2);
    for (std::size_t i = 0; i < 2; ++i) {
      summaries[i].seed = i + 1;
      summaries[i].mean_turnaround_s = turnaround + static_cast<double>(i);
    }
    return summaries;
  };
  its.runs[{"", "easy"}] = runs(100);
  its.runs[{"", "fcfs"}] = runs(80);
  for (const double of_fcfs : {80.0, 60.0}) {
    its.findings.push_back(
        examine(its.experiment.statements.at(its.findings.size()), runs(of_fcfs), runs(100)));
  }
  const std::string page = reproduction_page(
      paper, {its},
      {.paper = "007", .command = "ductile reproduce 007", .sum = "0123456789abcdef"});
  EXPECT_THAT(page, HasSubstr("inputs 0123456789abcdef"));
  EXPECT_THAT(page, HasSubstr("Of 3 targets: 1 not met, 1 not comparable, 1 not run."));
  EXPECT_THAT(page, HasSubstr("| A1 | forty \\| percent | 0 of 1 | not met |"));
  EXPECT_THAT(page, HasSubstr("| A2 | lost |  | not comparable: its table is MISSING |"));
  EXPECT_THAT(page, HasSubstr("| A3 | on a machine |  | not run: it needs hours |"));
  EXPECT_THAT(page, HasSubstr("| 19.9 ± 1.3 % | not met | 19.9 % (as chosen) to 39.8 % (half) |"));
  EXPECT_THAT(page, HasSubstr("| 39.8 ± 2.5 %, met |"));
  EXPECT_THAT(page, HasSubstr("| Fig. 1 | A1 (not met) |"));
  EXPECT_THAT(page, HasSubstr("| Fig. 2 | none: a drawing |"));
  EXPECT_THAT(page, HasSubstr("| the piece of the log | the first |"));
  EXPECT_THAT(page, HasSubstr("with fewer seeds than `--full` has"));
  const PageInputs inputs{.paper = "007"};
  const std::string verdicts = verdicts_csv(paper, {its}, inputs);
  EXPECT_THAT(verdicts,
              HasSubstr("\nA1,0,not met,,0,1,0,as chosen,1,half,\"`mean_turnaround_s` of "));
  EXPECT_THAT(verdicts, HasSubstr("\nA2,0,not comparable,its table is MISSING,0,0,0,"));
  std::ofstream(folder_ / "007.verdicts.csv") << verdicts;
  const std::string table = verdicts_table({{"007", folder_ / "007.verdicts.csv"}});
  EXPECT_THAT(table, HasSubstr("| [007](007.md) | 3 | 0 | 1 | 0 | 1 | 1 |"));
  EXPECT_THAT(table, HasSubstr("| 0 of 1 (as chosen) to 1 of 1 (half). `mean_turnaround_s` of "));
  const std::string csv = reproduction_csv(paper, {its});
  EXPECT_THAT(csv, HasSubstr("\ne.toml,,fcfs,1..2,"));
  // What has no value has none there, too.
  EXPECT_THAT(csv, HasSubstr("\ne.toml,,fcfs,1..2,0,,,,,80.5,"));
}

TEST_F(Targets, WhatAModelStoodInForIsNotComparable) {
  std::ofstream(folder_ / "e.toml") << "trace = \"x.swf\"\n" << testing::kSmallExperiment;
  const PaperTargets paper = read(testing::kSmallTargets);
  Reproduced its{
      .experiment = read_experiment((folder_ / "e.toml").string()), .findings = {}, .runs = {}};
  its.findings.resize(its.experiment.statements.size());
  for (Finding& each : its.findings) each.verdict = Verdict::met;
  PageInputs inputs{.paper = "007", .logs = {{.file = "x.swf", .what = "A log"}}};
  EXPECT_THAT(reproduction_page(paper, {its}, inputs), HasSubstr("| 1 of 1 | met |"));
  inputs.logs.front().is_stand_in = true;
  const std::string page = reproduction_page(paper, {its}, inputs);
  EXPECT_THAT(page, HasSubstr("| 1 of 1 | not comparable: x.swf was not there |"));
  EXPECT_THAT(page, Not(HasSubstr("| met |")));
  EXPECT_THAT(verdicts_csv(paper, {its}, inputs),
              HasSubstr("\nA1,0,not comparable,x.swf was not there,"));
}

}  // namespace
}  // namespace ductile
