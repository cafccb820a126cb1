#include "experiment/factorial.hpp"

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Factorial two_by_three() {
  return {.policy = "elastic:t=1",
          .figures = {"mean_turnaround_s"},
          .factors = {{"start", "start", {"preferred", "shrink"}},
                      {"expand", "expand", {"none", "time", "value"}}}};
}

TEST(Factorial, PoliciesAreAllCombinations) {
  EXPECT_THAT(
      factorial_policies(two_by_three()),
      ElementsAre(
          "elastic:t=1,start=preferred,expand=none", "elastic:t=1,start=preferred,expand=time",
          "elastic:t=1,start=preferred,expand=value", "elastic:t=1,start=shrink,expand=none",
          "elastic:t=1,start=shrink,expand=time", "elastic:t=1,start=shrink,expand=value"));
}

std::vector<Summary> runs_of(const std::vector<double>& turnarounds) {
  std::vector<Summary> runs(turnarounds.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].mean_turnaround_s = turnarounds[i];
    runs[i].utilization = turnarounds[i] / 1000;
  }
  return runs;
}

std::vector<Effect> effects(const std::vector<std::vector<double>>& turnarounds,
                            std::string_view figure = "mean_turnaround_s") {
  std::vector<std::vector<Summary>> runs;
  for (const std::vector<double>& its : turnarounds) runs.push_back(runs_of(its));
  return effects_of(two_by_three(), std::vector<std::span<const Summary>>(runs.begin(), runs.end()),
                    figure);
}

// start=shrink halves the turnaround, expand=time takes a fifth off, and nothing comes of both.
TEST(Factorial, EffectsThatMultiplyHaveNoInteraction) {
  const std::vector<Effect> its = effects({{100, 200, 400},
                                           {80, 160, 320},
                                           {100, 200, 400},
                                           {50, 100, 200},
                                           {40, 80, 160},
                                           {50, 100, 200}});
  ASSERT_EQ(its.size(), 5u);
  EXPECT_THAT(its[0].of, ElementsAre(FactorLevel{0, 1}));
  EXPECT_NEAR(its[0].percent, 50, 1e-9);
  EXPECT_NEAR(its[0].percent_95.low, 50, 1e-9);  // seeds differ, what is between runs does not
  EXPECT_NEAR(its[0].percent_95.high, 50, 1e-9);
  EXPECT_NEAR(its[1].percent, 20, 1e-9);
  EXPECT_NEAR(its[2].percent, 0, 1e-9);
  EXPECT_THAT(its[3].of, ElementsAre(FactorLevel{0, 1}, FactorLevel{1, 1}));
  EXPECT_NEAR(its[3].percent, 0, 1e-9);
  EXPECT_NEAR(its[4].percent, 0, 1e-9);
}

// Each of two halves it alone; together they do not a quarter, but a half.
TEST(Factorial, AnInteractionIsWhatTwoChangeBesides) {
  const std::vector<Effect> its = effects({{100}, {50}, {100}, {50}, {50}, {50}});
  EXPECT_NEAR(its[3].percent, -100, 1e-9);  // twice what the two alone would give
  EXPECT_NEAR(its[4].percent, 0, 1e-9);
  EXPECT_TRUE(std::isnan(its[3].percent_95.low));  // one seed
  // Over both levels of expand the start is worth the root of a half, and more is better here.
  const double main = std::exp((2 * std::log(0.5) + 0) / 3);
  EXPECT_NEAR(its[0].percent, 100 * (1 - main), 1e-9);
  EXPECT_NEAR(effects({{100}, {50}, {100}, {50}, {50}, {50}}, "utilization")[0].percent,
              100 * (main - 1), 1e-9);
}

TEST(Factorial, WhatHasNoValueIsNoNumber) {
  const std::vector<Effect> its = effects({{0}, {50}, {100}, {50}, {50}, {50}});
  EXPECT_TRUE(std::isnan(its[0].percent));
}

TEST(Factorial, APageHasEffectsOfEachFigureAndVariant) {
  Experiment experiment;
  experiment.title = "Which idea";
  experiment.variants = {{.name = "one log"}, {.name = "another"}};
  experiment.factorial = two_by_three();
  std::map<std::string, std::vector<Summary>> runs;
  for (const std::string& policy : factorial_policies(two_by_three())) {
    const bool shrinks = policy.find("shrink") != std::string::npos;
    runs[policy] = runs_of(shrinks ? std::vector<double>{50, 99} : std::vector<double>{100, 200});
  }
  const FactorialPage page = factorial_page(
      experiment, [&](const RunsOf& of) { return std::span<const Summary>(runs.at(of.policy)); },
      "ductile reproduce ablation", "0123456789abcdef");
  EXPECT_THAT(page.markdown, HasSubstr("inputs 0123456789abcdef"));
  EXPECT_THAT(page.markdown, HasSubstr("All 6 combinations"));
  EXPECT_THAT(page.markdown, HasSubstr("| effect | one log | another |"));
  EXPECT_THAT(page.markdown,
              HasSubstr("| start: `shrink` for `preferred` | 50.3 % (47.0 to 53.3) |"));
  EXPECT_THAT(page.markdown, HasSubstr("| best combination | 74.5: `elastic:t=1,start=shrink"));
  EXPECT_THAT(page.csv, HasSubstr("\nmean_turnaround_s,one log,2,start=shrink,50.2506,"));
  EXPECT_THAT(page.csv, HasSubstr(",start=shrink x expand=value,0,0,0\n"));
}

}  // namespace
}  // namespace ductile
