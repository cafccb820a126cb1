#include "experiment/reproduction.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_targets.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using Verdict = Finding::Verdict;

using Targets = testing::SmallTargets;

TEST(Verdict, OfATargetIsThatOfAllItsStatements) {
  const auto verdict = [](const Target& target, const std::vector<Verdict>& verdicts) {
    std::vector<Finding> findings(verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) findings[i].verdict = verdicts[i];
    return verdict_of(target, findings);
  };
  EXPECT_EQ(verdict({}, {Verdict::met, Verdict::met}), "met");
  EXPECT_EQ(verdict({}, {Verdict::met, Verdict::not_met, Verdict::open}), "not met");
  EXPECT_EQ(verdict({}, {Verdict::met, Verdict::open}), "open");
  EXPECT_EQ(verdict({}, {}), "open");
  EXPECT_EQ(verdict({.not_comparable = "lost"}, {Verdict::met}), "not comparable");
  EXPECT_EQ(verdict({.not_run = "long"}, {}), "not run");
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
  const std::string csv = reproduction_csv(paper, {its});
  EXPECT_THAT(csv, HasSubstr("\ne.toml,,fcfs,1..2,"));
}

}  // namespace
}  // namespace ductile
