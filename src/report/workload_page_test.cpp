#include "report/workload_page.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WorkloadPage, ShowsWhatThereIs) {
  const std::vector<std::pair<std::string, std::string>> facts = {{"jobs", "3 <b>"}};
  const std::vector<PageHistogram> histograms = {
      {"size", {{"1", 0.25, 0.1}, {"2", 0.75, 0.9}}}, {"nothing", {}}, {"empty", {{"1", 0, 0}}}};
  const std::vector<PageTable> tables = {{{"user", "jobs"}, {{"7", "2"}}}, {{"left out"}, {}}};
  const std::string page = workload_page("a & b", facts, histograms, tables);
  EXPECT_THAT(page, HasSubstr("<h1>a &amp; b</h1>"));
  EXPECT_THAT(page, HasSubstr("<td>3 &lt;b&gt;</td>"));
  // The largest share, 90 %, fills the plot; 75 % five sixths of it.
  EXPECT_THAT(page, HasSubstr("y=\"8\" width=\"192\" height=\"200\" fill=\"var(--c1)\"><title>2: "
                              "90.0 % of the work</title>"));
  EXPECT_THAT(page, HasSubstr("height=\"166.67\" fill=\"var(--c0)\"><title>2: 75.0 % of the jobs"));
  EXPECT_THAT(page,
              HasSubstr("<tr><th>user</th><th>jobs</th></tr>\n<tr><td>7</td><td>2</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("nothing")));
  EXPECT_THAT(page, Not(HasSubstr("empty")));
  EXPECT_THAT(page, Not(HasSubstr("left out")));
}

TEST(WorkloadPage, LabelsDoNotRunIntoEachOther) {
  PageHistogram histogram{.title = "size"};
  for (int i = 10; i < 30; ++i) histogram.bars.push_back({"label " + std::to_string(i), 0.5, 0.5});
  const std::string page = workload_page("x", {}, std::vector<PageHistogram>{histogram}, {});
  EXPECT_THAT(page, HasSubstr(">label 10</text>"));
  EXPECT_THAT(page, Not(HasSubstr(">label 11</text>")));
  EXPECT_THAT(page, HasSubstr("<title>label 11: "));
  EXPECT_THAT(page, HasSubstr(">label 12</text>"));
}

}  // namespace
}  // namespace ductile
