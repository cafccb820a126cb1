#include "experiment/paper_figure.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complaint.hpp"
#include "support/small_targets.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using DrawnTargets = testing::SmallTargets;

std::vector<Summary> with_makespans(const std::vector<double>& makespans) {
  std::vector<Summary> runs(makespans.size());
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].makespan_s = makespans[i];
  return runs;
}

TEST(PaperFigure, HasACurveForEachPolicyThatRan) {
  const PaperFigure figure{.name = "Fig. 3a",
                           .figure = "makespan_s",
                           .variants = {"20 %", "40 %"},
                           .policies = {"easy", "fcfs", "mebf"}};
  EXPECT_EQ(name_of_drawing("003", figure), "003-fig-3a.svg");
  Reproduced its;
  EXPECT_EQ(draw_figure(figure, its), "");
  its.runs[{"20 %", "easy"}] = with_makespans({7200, 7300});
  its.runs[{"40 %", "easy"}] = with_makespans({9000, 9100});
  its.runs[{"40 %", "fcfs"}] = with_makespans({9900});
  const std::string svg = draw_figure(figure, its);
  EXPECT_THAT(svg, HasSubstr("<title>Fig. 3a</title>"));
  EXPECT_THAT(svg, HasSubstr(">40 %</text>"));
  EXPECT_THAT(svg, HasSubstr(">makespan_s (h)</text>"));
  EXPECT_THAT(svg, HasSubstr(">fcfs</text>"));
  std::size_t dots = 0;
  for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++dots;
  EXPECT_EQ(dots, 3u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST_F(DrawnTargets, WhatIsDrawnIsOfAnExperiment) {
  const std::string figure = "[[figure]]\nname = \"Fig. 9\"\ntargets = [\"A1\"]\n";
  const auto error_of = [&](const std::string& more) {
    return testing::complaint([&] { read(testing::kSmallTargets + figure + more); });
  };
  EXPECT_THAT(error_of("experiment = \"f.toml\"\nfigure = \"makespan_s\"\n"),
              HasSubstr("experiment: 'f.toml' is none of the paper"));
  EXPECT_THAT(error_of("experiment = \"e.toml\"\nfigure = \"mood\"\n"),
              HasSubstr("figure: there is no figure 'mood'"));
  EXPECT_THAT(error_of("experiment = \"e.toml\"\nfigure = \"makespan_s\"\n"),
              HasSubstr("has no variants"));
  EXPECT_EQ(error_of("experiment = \"e.toml\"\nfigure = \"makespan_s\"\nvariants = [\"a\"]\n"
                     "policies = [\"easy\"]\n"),
            "");
}

}  // namespace
}  // namespace ductile
