#include "report/page.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

using testing::HasSubstr;
using testing::Not;

RunPage page_of(const Workload& workload, const SimulationSettings& settings) {
  Series series(workload);
  GanttRecorder gantt(workload);
  ResizeCounter resizes;
  Choices choices;
  RunPage page;
  page.summary = small_run(workload, settings, {&series, &gantt, &resizes, &choices});
  page.choices = choices.made();
  page.workload = "a <log> & more";
  page.held = series.held();
  page.pending = series.pending();
  page.adaptive = series.adaptive();
  page.resizes = resizes.by_reason();
  page.gantt = gantt.gantt();
  return page;
}

RunPage small_page(const std::string& policy, const Workload& workload = small_workload()) {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(policy);
  return page_of(workload, settings);
}

TEST(Page, OfOneRunNeedsNothingElse) {
  const RunPage page = small_page("easy");
  const std::string html = html_page({&page, 1});
  EXPECT_THAT(html, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, testing::EndsWith("</html>\n"));
  EXPECT_THAT(html, HasSubstr("easy on a &lt;log&gt; &amp; more"));
  EXPECT_THAT(html, HasSubstr("<title>job 3: 1 node, 8 seconds, backfilled</title>"));
  EXPECT_THAT(html, HasSubstr("Utilization"));
  for (const char* outside : {"http:", "https:", "<script", "<link", "@import", "src="}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
}

// Rows are 16 high and begin at 8; 102 s are 960 wide.
TEST(Page, SharedNodesAreDividedAsTheirCores) {
  const RunPage page = page_of(small_sharing_workload(), small_sharing_settings());
  const std::string html = html_page({&page, 1});
  const std::string at = " x=\"158.12\" y=\"", size = "\" width=\"37.65\" height=\"8\"><title>";
  for (const char* const y : {"8", "24"}) {
    EXPECT_THAT(html, HasSubstr("<rect class=\"bar\" fill=\"var(--c0)\"" + at + y + size +
                                "job 1: 2 nodes, 4 of 8 cores of each, 4 seconds, in-order<"));
  }
  for (const char* const y : {"16", "32"}) {
    EXPECT_THAT(html, HasSubstr("<rect class=\"guest\" fill=\"var(--c5)\"" + at + y + size +
                                "job 2: 2 nodes, 4 of 8 cores of each as a guest, 4 seconds, "
                                "guest<"));
  }
  EXPECT_THAT(html, HasSubstr("on cores of nodes of others</span>"));
  const RunPage alone = small_page("easy");
  EXPECT_THAT(html_page({&alone, 1}), Not(HasSubstr("on cores of nodes of others")));
}

TEST(Page, OfSeveralPoliciesComparesThem) {
  std::vector<RunPage> pages = {small_page("fcfs"), small_page("easy")};
  pages[0].folder = "fcfs-s1";
  pages[1].folder = "easy-s1";
  pages[1].summary.stopped = true;
  const std::string html = html_page(pages);
  EXPECT_THAT(html, HasSubstr("2 policies on"));
  EXPECT_THAT(html, HasSubstr("Nodes under fcfs"));
  EXPECT_THAT(html, HasSubstr("1 of 2 runs were stopped"));
  EXPECT_THAT(html, HasSubstr("href=\"easy-s1/jobs.csv\""));
}

TEST(Page, ShowsWhoOfAPortfolioRuled) {
  const RunPage page = small_page("portfolio:of=fcfs|easy,shift=1.5,check=0");
  const std::string html = html_page({&page, 1});
  EXPECT_THAT(html, HasSubstr("<h2>Who ruled</h2>"));
  // fcfs for 2 of 15 seconds, drawn over as much of the width.
  EXPECT_THAT(html,
              HasSubstr("<rect fill=\"var(--c0)\" x=\"64\" y=\"8\" width=\"128\" height=\"28\">"
                        "<title>fcfs, 2 seconds</title></rect>\n"
                        "<rect fill=\"var(--c1)\" x=\"192\" y=\"8\" width=\"832\" height=\"28\">"
                        "<title>easy, 13 seconds</title></rect>\n</svg>"));
  EXPECT_THAT(html, HasSubstr("</i>fcfs 13.3 %</span>"));
  EXPECT_THAT(html, HasSubstr("2 choices by turnaround, 1 of them changed who rules; looking ahead "
                              "lived through 12 passes"));
  EXPECT_THAT(html, HasSubstr("<tr><td>2</td><td>queue</td><td>3</td><td>fcfs</td><td>easy</td>"
                              "<td>fcfs 15, easy 10.6667</td></tr>"));
  EXPECT_THAT(html, HasSubstr("href=\"choices.csv\""));
  const RunPage alone = small_page("easy");
  EXPECT_THAT(html_page({&alone, 1}), Not(HasSubstr("Who ruled")));
  EXPECT_THAT(html_page({&alone, 1}), Not(HasSubstr("choices.csv")));
}

TEST(Page, WarnsOfJobsThatResizesKilled) {
  std::vector<RunPage> pages = {small_page("fcfs"), small_page("easy"), small_page("easy")};
  EXPECT_THAT(html_page(pages), Not(HasSubstr("Resizes killed jobs")));
  for (RunPage& page : pages) page.summary.killed = 5;
  pages[1].summary.killed_by_resizes = 3;
  pages[2].summary.killed_by_resizes = 1;
  const std::string html = html_page(pages);
  EXPECT_THAT(html, HasSubstr("<strong>Resizes killed jobs: 4 of 10 under easy.</strong>"));
  EXPECT_THAT(html, HasSubstr("<th>killed by resizes<small>"));
  EXPECT_THAT(html, HasSubstr("<td>killed_by_resizes</td><td>0</td><td>3</td><td>1</td>"));
}

TEST(Page, OfARunThatResizesShowsWhyAndWhoHoldsWhat) {
  const RunPage page = small_page(kSmallResizingPolicy, small_resizing_workload());
  const std::string html = html_page({&page, 1});
  EXPECT_THAT(html, HasSubstr("Share held by adaptive jobs"));
  EXPECT_THAT(
      html,
      HasSubstr("<td>hand-out</td><td>1</td><td>0</td><td>0</td><td>2</td><td>0</td><td>0</td>"));
  EXPECT_THAT(html, HasSubstr("<title>job 1: 2 nodes, 8 seconds, in-order</title>"));
  EXPECT_THAT(html, HasSubstr("<title>job 1: 4 nodes, 6 seconds, hand-out</title>"));
  const RunPage rigid = small_page("easy");
  EXPECT_THAT(html_page({&rigid, 1}), Not(HasSubstr("Resizes")));
}

TEST(Page, SaysNothingOfTheMachineItWasMadeOn) {
  RunPage page = small_page("easy");
  const std::string html = html_page({&page, 1});
  page.summary.simulate_seconds = 123;
  page.summary.peak_rss_bytes = 456;
  EXPECT_EQ(html_page({&page, 1}), html);
}

TEST(Page, OfARunWithoutJobsIsStillAPage) {
  const RunPage page;
  EXPECT_THAT(html_page({&page, 1}), HasSubstr("Main figures"));
}

}  // namespace
}  // namespace ductile
