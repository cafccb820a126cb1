#include "report/page.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/comparison.hpp"
#include "report/run_folder.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RunPage run_of(const std::string& policy, std::uint64_t seed = 1) {
  RunPage run{.folder = policy + "-s" + std::to_string(seed)};
  run.path = fs::path(testing::TempDir()) / "page" / run.folder;
  fs::remove_all(run.path);
  Workload workload = small_workload();
  workload.name = "a <log> & more";
  workload.jobs.back().runtime += whole_seconds(static_cast<std::int64_t>(seed) - 1);
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(policy);
  settings.rules.seed = seed;
  RunFolder files(run.path, workload);
  std::vector<Observer*> observers;
  files.add_observers(observers);
  run.summary = small_run(workload, settings, observers);
  files.finish(run.summary);
  return run;
}

// What the page is given to draw.
nlohmann::json data_of(const std::string& html) {
  const std::string before = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = html.find(before) + before.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(Page, NeedsNothingElse) {
  const RunPage run = run_of("easy");
  const std::string html = html_page({&run, 1});
  EXPECT_THAT(html, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, testing::EndsWith("</html>\n"));
  EXPECT_THAT(html, HasSubstr("<h1>easy on a &lt;log&gt; &amp; more</h1>"));
  for (const char* const outside : {"https:", "<link", "@import", "src="}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  // What ends a script ends it where we mean it to.
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2U);
}

TEST(Page, HasTheRunsOfEachPolicy) {
  const std::vector<RunPage> runs = {run_of("fcfs"), run_of("easy"), run_of("fcfs", 2),
                                     run_of("easy", 2)};
  const std::string html = html_page(runs);
  EXPECT_THAT(html, HasSubstr("<h1>2 policies on a &lt;log&gt; &amp; more</h1>"));
  EXPECT_THAT(html, HasSubstr("<td>fcfs</td>"));
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["workload"], "a <log> & more");
  ASSERT_EQ(data["notes"].size(), 1U);
  EXPECT_THAT(data["notes"][0].get<std::string>(), HasSubstr("all 2 seeds have the same log"));
  ASSERT_EQ(data["runs"].size(), 4U);
  EXPECT_EQ(data["runs"][2]["policy"], "fcfs");
  EXPECT_EQ(data["runs"][2]["seed"], 2);
  EXPECT_THAT(data["runs"][2]["files"], testing::Contains("jobs.csv"));
  EXPECT_THAT(data["runs"][2]["files"], Not(testing::Contains("choices.csv")));
  EXPECT_EQ(data["runs"][2]["figures"]["mean_wait_s"], runs[2].summary.mean_wait_s);
  ASSERT_EQ(data["groups"].size(), 2U);
  EXPECT_THAT(data["groups"][1]["runs"], ElementsAre(1, 3));

  // Seconds, whatever tables show.
  ASSERT_EQ(data["columns"][1]["key"], "makespan_s");
  EXPECT_EQ(data["columns"][1]["unit"], "s");
  EXPECT_EQ(data["columns"][1]["better"], "less");
  EXPECT_EQ(data["runs"][0]["values"][1], runs[0].summary.makespan_s);
  const double mean = (runs[1].summary.makespan_s + runs[3].summary.makespan_s) / 2;
  EXPECT_DOUBLE_EQ(data["groups"][1]["means"][1][0].get<double>(), mean);

  // Of the first seed all is drawn; both policies had the same jobs.
  ASSERT_EQ(data["drawn"].size(), 2U);
  EXPECT_EQ(data["drawn"][1]["group"], 1);
  EXPECT_EQ(data["drawn"][1]["run"], 1);
  EXPECT_EQ(data["drawn"][1]["jobs"]["rows"], 3);
  EXPECT_EQ(data["workloads"].size(), 1U);
}

TEST(Page, HasTheEffectsOfTheComparison) {
  const std::vector<RunPage> runs = {run_of("fcfs"), run_of("easy"), run_of("fcfs", 2),
                                     run_of("easy", 2)};
  const Comparison comparison = compare(runs, 1);
  ASSERT_FALSE(comparison.classes.empty());
  const nlohmann::json data = data_of(html_page(runs, 1));
  EXPECT_EQ(data["classes"]["sizes"]["names"], comparison.job_classes.sizes.names);
  EXPECT_EQ(data["classes"]["runtimes"]["bounds"], comparison.job_classes.runtimes.bounds);
  const nlohmann::json& effects = data["comparison"]["classes"];
  ASSERT_EQ(effects.size(), comparison.classes.size());
  const PartEffect& effect = comparison.classes.back();
  EXPECT_EQ(effects.back()["group"], effect.group);
  EXPECT_EQ(effects.back()["size"], effect.size_class);
  EXPECT_EQ(effects.back()["runtime"], effect.runtime_class);
  EXPECT_EQ(effects.back()["jobs"], effect.jobs);
  EXPECT_NEAR(effects.back()["turnaround"][2].get<double>(), effect.turnaround.difference, 1e-4);
  EXPECT_EQ(data["comparison"]["users"][0]["user"], "7");
}

TEST(Page, OfOnePolicyHasClassesOfWhatWasMeasured) {
  RunPage run = run_of("easy");
  run.summary.measured_until_s = 1;
  run.summary.jobs_in_all = run.summary.jobs + 1;
  const nlohmann::json data = data_of(html_page({&run, 1}));
  EXPECT_THAT(data["classes"]["sizes"]["names"], ElementsAre("1", "2", "> 2"));
  EXPECT_THAT(data["classes"]["runtimes"]["names"], ElementsAre("all"));
  EXPECT_EQ(data["drawn"][0]["measured"]["until_s"], 1);
  EXPECT_THAT(data["notes"], testing::SizeIs(1));
}

TEST(Page, SaysWhatAReaderMustNotMiss) {
  std::vector<RunPage> runs = {run_of("fcfs"), run_of("easy"), run_of("easy", 2)};
  for (RunPage& run : runs) run.summary.killed = 5;
  runs[1].summary.killed_by_resizes = 3;
  runs[2].summary.killed_by_resizes = 1;
  runs[1].summary.stopped = true;
  const std::string html = html_page(runs);
  EXPECT_THAT(html, HasSubstr("<strong>1 of 3 runs were stopped before their end.</strong>"));
  EXPECT_THAT(html, HasSubstr("<strong>Resizes killed jobs: 4 of 10 under easy."));
  // And why nothing is compared: a seed has no other one beside it, and a run was stopped.
  EXPECT_THAT(data_of(html)["notes"], testing::SizeIs(4));
}

TEST(Page, SaysNothingOfTheMachineItWasMadeOn) {
  RunPage run = run_of("easy");
  const std::string html = html_page({&run, 1});
  run.summary.simulate_seconds = 123;
  run.summary.peak_rss_bytes = 456;
  EXPECT_EQ(html_page({&run, 1}), html);
}

TEST(Page, OfARunWithoutFilesHasItsFigures) {
  const RunPage run{.summary = {.policy = "easy"}};
  const nlohmann::json data = data_of(html_page({&run, 1}));
  EXPECT_THAT(data["drawn"], IsEmpty());
  EXPECT_EQ(data["title"], "easy");
}

}  // namespace
}  // namespace ductile
