#include "report/plot.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Plot, HasValuesWhereTheAxesHaveThem) {
  const auto canvas = svg_canvas(200, 100, "x");
  const Look look{.width = 200};
  const Panel panel(*canvas, look, {20, 10, 100, 50}, {.low = 0, .high = 10},
                    {.low = 0, .high = 5});
  EXPECT_EQ(panel.at(0, 0).x, 20);
  EXPECT_EQ(panel.at(0, 0).y, 60);
  EXPECT_EQ(panel.at(10, 5).x, 120);
  EXPECT_EQ(panel.at(10, 5).y, 10);
}

TEST(Plot, ACurveLeavesOutWhatLiesOnALine) {
  const auto canvas = svg_canvas(200, 100, "x");
  const Look look{.width = 200};
  Panel panel(*canvas, look, {0, 0, 100, 50}, {.low = 0, .high = 10}, {.low = 0, .high = 5});
  const std::vector<Spot> values{{0, 0}, {2, 0}, {4, 0}, {4, 5}, {10, 5}};
  panel.curve(values, {});
  EXPECT_THAT(canvas->finish(), HasSubstr("points=\"0,50 40,50 40,0 100,0\""));
}

TEST(Plot, ALegendTakesAsManyLinesAsItNeeds) {
  const Look look{.width = 120};
  const std::vector<LegendEntry> few{{"a"}, {"b"}}, many(6, LegendEntry{"a policy"});
  EXPECT_DOUBLE_EQ(legend(nullptr, look, 10, 0, few), look.line_height());
  EXPECT_DOUBLE_EQ(legend(nullptr, look, 10, 0, many), 3 * look.line_height());
}

TEST(Plot, PoliciesHaveLinesOfTheirOwn) {
  for (std::size_t i = 0; i < 14; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(pen_of(i).colour == pen_of(k).colour && pen_of(i).dash == pen_of(k).dash)
          << i << " " << k;
    }
  }
}

}  // namespace
}  // namespace ductile
