#include "report/page_text.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

RunPage small_page() {
  const Workload workload = small_resizing_workload();
  Series series(workload);
  GanttRecorder gantt(workload);
  ResizeCounter resizes;
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  RunPage page;
  page.summary = small_run(workload, settings, {&series, &gantt, &resizes});
  page.workload = "a <log> & more";
  page.held = series.held();
  page.pending = series.pending();
  page.adaptive = series.adaptive();
  page.power_w = series.power_w();
  page.resizes = resizes.by_reason();
  page.gantt = gantt.gantt();
  page.corridor = {{Time{whole_seconds(3)}, 0.1, std::numeric_limits<double>::infinity()}};
  ChoiceMade choice{.at = Time{whole_seconds(5)}, .choice = {.occasion = Occasion::queue}};
  choice.choice.goal = Goal::weighted;
  choice.choice.members = {{"easy", {1.0 / 3, 2, 3}, 0.1}, {"fcfs", {4, 5, 6}, 1e300}};
  choice.choice.chosen = 1;
  page.choices = {choice};
  return page;
}

TEST(PageText, GivesTheSamePageBack) {
  const RunPage page = small_page();
  ASSERT_FALSE(page.gantt.bars.empty());
  ASSERT_FALSE(page.resizes.empty());
  RunPage again = page_of_text(page_text(page));
  EXPECT_EQ(page_text(again), page_text(page));
  EXPECT_EQ(again.held, page.held);
  EXPECT_EQ(again.adaptive, page.adaptive);
  EXPECT_EQ(again.resizes, page.resizes);
  EXPECT_EQ(again.corridor.front().high_w, page.corridor.front().high_w);
  EXPECT_EQ(again.choices.front().choice, page.choices.front().choice);
  again.summary = page.summary;
  EXPECT_EQ(html_page({&again, 1}), html_page({&page, 1}));
}

TEST(PageText, RefusesWhatItHasNotWritten) {
  std::string text = page_text(small_page());
  EXPECT_THROW(page_of_text(text.substr(0, text.size() / 2)), InputError);
  EXPECT_THROW(page_of_text("{}"), InputError);
  const std::size_t at = text.find("in-order");
  ASSERT_NE(at, std::string::npos);
  text[at] = 'o';
  EXPECT_THROW(page_of_text(text), InputError);
}

}  // namespace
}  // namespace ductile
