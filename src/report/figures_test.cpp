#include "report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "report/run_folder.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

FigureJob job(double wait_s, double run_s, double size) {
  return {.size = size, .run_s = run_s, .wait_s = wait_s, .turnaround_s = wait_s + run_s};
}

PolicyFiles policy(const std::string& name, std::vector<FigureJob> jobs) {
  PolicyFiles its{.policy = name, .summaries = {Summary{}}, .jobs = std::move(jobs)};
  its.summaries[0].nodes = 4;
  return its;
}

const Figure& named(const std::vector<Figure>& figures, const std::string& name) {
  const auto at = std::ranges::find(figures, name, &Figure::name);
  EXPECT_NE(at, figures.end()) << name;
  return at == figures.end() ? figures.front() : *at;
}

// The files of a run of which all is known, in a folder of the test.
RunPage run_page(const std::string& name, const Workload& workload,
                 const SimulationSettings& settings) {
  const fs::path folder = fs::path(testing::TempDir()) / "figure" / name;
  RunFolder files(folder, workload);
  std::vector<Observer*> observers;
  files.add_observers(observers);
  const Summary summary = small_run(workload, settings, observers);
  files.finish(summary);
  files.write_summary(summary);
  return {.folder = "", .path = folder, .summary = summary};
}

RunPage resizing_run() {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  return run_page("resizing", small_resizing_workload(), settings);
}

TEST(Figure, SlowdownIsBounded) {
  EXPECT_EQ(slowdown_of({.run_s = 50, .turnaround_s = 100}), 2);
  EXPECT_EQ(slowdown_of({.run_s = 1, .turnaround_s = 100}), 10);
  EXPECT_EQ(slowdown_of({.run_s = 5, .turnaround_s = 5}), 1);
}

TEST(Figure, DistributionsHaveAStepForEachValue) {
  const std::vector<PolicyFiles> policies{
      policy("a,b", {job(0, 30, 1), job(0, 30, 1), job(60, 30, 2), job(5, 30, 4)})};
  const std::vector<Figure> figures = distribution_figures(policies, 0, {});
  EXPECT_EQ(named(figures, "cdf-wait").csv,
            "policy,wait_s,share\n\"a,b\",0,0.5\n\"a,b\",5,0.75\n\"a,b\",60,1\n");
  EXPECT_EQ(named(figures, "wait-by-class").csv,
            "policy,size,run_time,jobs,p5,p25,p50,p75,p95\n"
            "\"a,b\",1,all,2,0,0,0,0,0\n"
            "\"a,b\",2,all,1,60,60,60,60,60\n"
            "\"a,b\",> 2,all,1,5,5,5,5,5\n");
}

// A step at each value would be a file of megabytes. What many jobs have in common is kept.
TEST(Figure, LargeDistributionsAreThinnedOut) {
  std::vector<FigureJob> jobs;
  for (int i = 0; i < 30'000; ++i) jobs.push_back(job(std::max(0, i - 9'999), 30, 1));
  const std::vector<PolicyFiles> policies{policy("a", std::move(jobs))};
  const std::string csv = named(distribution_figures(policies, 0, {}), "cdf-wait").csv;
  const auto lines = std::ranges::count(csv, '\n');
  EXPECT_GT(lines, 500);
  EXPECT_LT(lines, 1'100);
  EXPECT_THAT(csv, HasSubstr("a,0,0.3333333333333333"));
  EXPECT_TRUE(csv.ends_with("a,20000,1\n"));
}

TEST(Figure, RatiosAreAgainstTheBaseline) {
  const std::vector<PolicyFiles> policies{
      policy("base", {job(10, 30, 1), job(30, 30, 1), job(0, 30, 4)}),
      policy("other", {job(5, 30, 1), job(5, 30, 1), job(7, 30, 4)})};
  EXPECT_EQ(named(ratio_figures(policies, 0, {}), "wait-heat").csv,
            "policy,size,run_time,jobs,mean,baseline_mean,ratio\n"
            "other,1,all,2,5,20,0.25\nother,> 2,all,1,7,0,\n");
  EXPECT_THAT(named(ratio_figures(policies, 1, {}), "wait-heat").csv,
              HasSubstr("base,1,all,2,20,5,4\n"));
  EXPECT_TRUE(ratio_figures({policies.data(), 1}, 0, {}).empty());
}

TEST(Figure, MainFiguresHaveIntervalsOverSeeds) {
  std::vector<PolicyFiles> policies{policy("a", {}), policy("b", {})};
  policies[0].summaries.resize(2);
  policies[0].summaries[0].mean_wait_s = 10;
  policies[0].summaries[1].mean_wait_s = 20;
  policies[1].summaries[0].mean_wait_s = 12;
  const std::string csv = main_figures(policies, {}).at(0).csv;
  EXPECT_THAT(csv, HasSubstr("a,mean_wait_s,2,15,63.531"));
  EXPECT_THAT(csv, HasSubstr("b,mean_wait_s,1,12,\n"));
}

TEST(Figure, AllAreMadeOfTheFilesOfARun) {
  const RunPage run = resizing_run();
  JobsFiles files;
  const std::vector<PolicyFiles> policies = read_policies({&run, 1}, files);
  const std::vector<Figure> figures = all_figures(policies, Comparison{}, {});
  std::vector<std::string> names;
  for (const Figure& figure : figures) names.push_back(figure.name);
  EXPECT_THAT(names, ElementsAre("figures", "utilization", "waiting", "cdf-wait", "cdf-turnaround",
                                 "cdf-slowdown", "wait-by-class", "slowdown-by-class", "resizes",
                                 "gantt-mebf_expand_intensive_tick_0"));
  EXPECT_EQ(named(figures, "resizes").csv,
            "policy,reason,grown,shrunk\n\"mebf:expand=intensive,tick=0\",hand-out,1,0\n");
  EXPECT_EQ(figures.back().csv,
            "job,type,from_s,until_s,first_node,last_node\n2,rigid,4,8,2,3\n1,malleable,0,8,0,1\n"
            "1,malleable,8,14,0,3\n");
  // Node-seconds of the intervals are those that were held.
  EXPECT_THAT(named(figures, "utilization").csv, HasSubstr(",13.941666,14,100\n"));
}

TEST(Figure, ResizesHaveACostByReason) {
  std::vector<PolicyFiles> policies{policy("a", {}), policy("b", {})};
  policies[0].summaries.resize(2);
  const auto resize = [&](Nodes after, const char* reason, int cost_s) {
    ResizeRow& row = policies[0].resizes.emplace_back();
    row.before = 4;
    row.after = after;
    row.reason = reason;
    row.cost = whole_seconds(cost_s);
  };
  resize(8, "hand-out", 0);
  resize(2, "shrunk-for", 3600);
  resize(2, "shrunk-for", 7200);
  resize(4, "refused", 0);
  const std::vector<Figure> figures = resize_figures(policies, {});
  EXPECT_EQ(named(figures, "resizes").csv,
            "policy,reason,grown,shrunk\na,hand-out,0.5,0\na,shrunk-for,0,1\n"
            "b,hand-out,0,0\nb,shrunk-for,0,0\n");
  EXPECT_EQ(named(figures, "resize-costs").csv,
            "policy,reason,grown_node_h,shrunk_node_h\na,hand-out,0,0\na,shrunk-for,0,1.5\n"
            "b,hand-out,0,0\nb,shrunk-for,0,0\n");
  for (ResizeRow& row : policies[0].resizes) row.cost.reset();
  EXPECT_EQ(resize_figures(policies, {}).size(), 1u);
}

// What a figure is drawn as.
std::string svg_of(const Figure& figure) {
  const auto canvas = svg_canvas(300, figure.height, figure.name);
  figure.draw(*canvas);
  return canvas->finish();
}

TEST(Figure, PoliciesAreComparedWithIntervals) {
  const std::vector<PolicyFiles> policies{policy("base", {}), policy("a,b", {}), policy("c", {})};
  Comparison comparison;
  comparison.method = "By hand.";
  Difference row;
  row.group = 1;
  row.column.key = "mean_wait_s";
  row.pairs.difference = -50;
  row.pairs.difference_95 = {-60, -40};
  row.pairs.ratio = 0.5;
  row.pairs.ratio_95 = {0.4, 0.6};
  row.p = 0.01;
  row.verdict = Difference::Verdict::better;
  comparison.rows.push_back(row);
  row.group = 2;
  row.pairs.difference_95 = row.pairs.ratio_95 = {};
  row.p = PairedComparison::kNone;
  row.verdict = Difference::Verdict::open;
  comparison.rows.push_back(row);
  const std::vector<Figure> figures = comparison_figures(comparison, policies, {.width = 300});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(
      named(figures, "comparison").csv,
      "policy,against,figure,difference,low,high,ratio,ratio_low,ratio_high,p_corrected,verdict\n"
      "\"a,b\",base,mean_wait_s,-50,-60,-40,0.5,0.4,0.6,0.01,better\n"
      "c,base,mean_wait_s,-50,,,0.5,,,,open\n");
  const std::string svg = svg_of(figures[0]);
  EXPECT_THAT(svg, HasSubstr(">mean wait<"));
  EXPECT_THAT(svg, HasSubstr(">change against base (%)<"));
  EXPECT_THAT(figures[0].caption, HasSubstr("By hand."));
  EXPECT_TRUE(comparison_figures({}, policies, {}).empty());
}

TEST(Figure, UsersAreInTheOrderOfWhatTheyGain) {
  const std::vector<PolicyFiles> policies{policy("base", {}), policy("other", {})};
  Comparison comparison;
  const auto user = [&](const char* name, double ratio, const Interval95& difference,
                        const Interval95& its) {
    PartEffect& effect = comparison.users.emplace_back();
    effect.group = 1;
    effect.part = name;
    effect.jobs = 5;
    effect.turnaround.difference = 100 * (ratio - 1);
    effect.turnaround.difference_95 = difference;
    effect.turnaround.ratio = ratio;
    effect.turnaround.ratio_95 = its;
  };
  user("7", 2, {50, 150}, {1.5, 2.5});
  EXPECT_TRUE(comparison_figures(comparison, policies, {}).empty());  // one alone
  user("8", 0.5, {-80, -20}, {0.2, 0.8});
  user("9", 1.25, {}, {});
  const std::vector<Figure> figures = comparison_figures(comparison, policies, {.width = 300});
  EXPECT_EQ(named(figures, "users").csv,
            "policy,against,user,jobs,difference_s,low_s,high_s,ratio,ratio_low,ratio_high,effect\n"
            "other,base,7,5,100,50,150,2,1.5,2.5,loses\n"
            "other,base,8,5,-50,-80,-20,0.5,0.2,0.8,gains\n"
            "other,base,9,5,25,,,1.25,,,open\n");
  const std::string svg = svg_of(named(figures, "users"));
  EXPECT_LT(svg.find(">8<"), svg.find(">9<"));
  EXPECT_LT(svg.find(">9<"), svg.find(">7<"));
  EXPECT_THAT(svg, HasSubstr("other: 1 of 3 gain, 1 lose"));
}

TEST(Figure, DaysHaveWhatBeganOnThem) {
  constexpr double kDay = 86'400;
  std::vector<PolicyFiles> policies{
      policy("a", {job(0, 100, 1), job(100, 100, 1), job(0, 100, 1), job(900, 100, 1)})};
  const double starts[] = {2 * kDay, 2.5 * kDay, 4 * kDay, 9 * kDay};
  for (std::size_t i = 0; i < 4; ++i) policies[0].jobs[i].start_s = starts[i];
  policies[0].first_jobs = 3;  // the fourth is of another seed
  EXPECT_TRUE(day_figures(policies, {}).empty());
  policies[0].jobs[1].is_guest = true;
  const std::vector<Figure> figures = day_figures(policies, {});
  EXPECT_EQ(named(figures, "slowdown-per-day").csv,
            "policy,day,jobs,mean_bounded_slowdown\na,2,2,1.5\na,4,1,1\n");
  EXPECT_EQ(named(figures, "shared-per-day").csv,
            "policy,day,jobs,shared_starts\na,2,2,1\na,4,1,0\n");
}

TEST(Figure, FilesAreTheSameBytesEachTime) {
  const RunPage run = resizing_run();
  const fs::path folder = fs::path(testing::TempDir()) / "figure";
  const auto content = [](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const char* name : {"one", "two"}) {
    EXPECT_EQ(write_figures(folder / name, {&run, 1}, {.width = 300, .font = 7}), 10u);
  }
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "one")) {
    const fs::path name = entry.path().filename();
    EXPECT_EQ(content(entry.path()), content(folder / "two" / name)) << name;
    EXPECT_FALSE(content(entry.path()).empty()) << name;
    ++files;
  }
  EXPECT_EQ(files, 3 * 10 + 1u);
}

// So many bars are an occupancy, and the caption says so.
TEST(Figure, TooManyBarsAreDrawnAsOccupancy) {
  RunPage run = resizing_run();
  {
    std::ofstream file(run.path / "allocations.csv");
    file << "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n";
    for (int i = 0; i < 4'000; ++i) {
      file << "1," << i << ',' << i + 1 << ",2,0 2,2,in-order,,,\n";
    }
  }
  JobsFiles files;
  const Figure figure = gantt_figures(read_policies({&run, 1}, files), {}).at(0);
  EXPECT_THAT(figure.caption, HasSubstr("8000 of them, too many"));
  EXPECT_EQ(figure.csv, "from_s,until_s,first_node,last_node,share\n0,4000,0,0,1\n0,4000,2,2,1\n");
}

TEST(Figure, OfSharedNodesEachJobHasThePartThatItsCoresAre) {
  const RunPage run = run_page("sharing", small_sharing_workload(), small_sharing_settings());
  JobsFiles files;
  const Figure figure = gantt_figures(read_policies({&run, 1}, files), {}).at(0);
  EXPECT_THAT(figure.caption, HasSubstr("guests are framed in black"));
  EXPECT_EQ(figure.csv,
            "job,type,from_s,until_s,first_node,last_node,cores,guest\n"
            "1,malleable,0,10,0,1,,\n1,malleable,14,102,0,1,,\n"
            "1,malleable,10,14,0,0,4,\n1,malleable,10,14,1,1,4,\n"
            "2,malleable,10,14,0,0,4,yes\n2,malleable,10,14,1,1,4,yes\n");
}

TEST(Figure, AGuestHasMoreOfANodeThanItsMateIfItsCoresAreMore) {
  RunPage run = run_page("sharing", small_sharing_workload(), small_sharing_settings());
  std::ofstream(run.path / "allocations.csv")
      << "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n"
         "1,0,10,1,0,16,in-order,,,\n2,10,30,1,0,8,guest,,0:8,0\n3,20,30,1,0,4,guest,,0:4,0\n"
         "1,10,20,1,0,8,guest,2,0:8,\n1,20,30,1,0,4,guest,3,0:4,\n";
  JobsFiles files;
  const Figure figure = gantt_figures(read_policies({&run, 1}, files), {}).at(0);
  const auto canvas = svg_canvas(300, figure.height, "x");
  figure.draw(*canvas);
  const std::string svg = canvas->finish();
  // (top, height) of each bar, over that of the first, which is the whole node.
  std::vector<std::pair<double, double>> bars;
  const std::regex bar("<rect x=\"[0-9.]+\" y=\"([0-9.]+)\"[^>]* height=\"([0-9.]+)\" fill=\"#");
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at) {
    bars.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  }
  bars.erase(bars.begin());  // the paper
  const auto [top, whole] = bars.at(0);
  std::vector<std::pair<long, long>> cores;  // from above
  for (const auto& [its_top, its] : bars) {
    cores.emplace_back(std::lround((its_top - top) / whole * 16), std::lround(its / whole * 16));
  }
  // Its mate leaves the first guest the upper half, and the second one half of its own.
  EXPECT_THAT(cores, ElementsAre(std::pair(0, 16), std::pair(8, 8), std::pair(0, 8),
                                 std::pair(12, 4), std::pair(8, 4)));
}

TEST(Figure, WithoutNodesTheirShareIsDrawn) {
  SimulationSettings settings = small_settings();
  settings.rules.identities = false;
  const RunPage run = run_page("counts", small_workload(), settings);
  JobsFiles files;
  const Figure figure = gantt_figures(read_policies({&run, 1}, files), {}).at(0);
  EXPECT_THAT(figure.caption, HasSubstr("Which ones was not followed"));
  EXPECT_THAT(figure.csv, HasSubstr("0,1.95,0,3,0.75\n"));
}

TEST(Figure, PowerIsDrawnWhereItIsKnown) {
  std::vector<PolicyFiles> policies{policy("a", {})};
  const auto at = [](int second) { return Time{whole_seconds(second)}; };
  policies[0].series = {{.at = at(0), .held = 4, .power_w = 3000, .power_cap_w = 5000},
                        {.at = at(24), .power_w = 100}};
  policies[0].corridor = {{.at = at(0), .low_w = 1000, .high_w = 4000}};
  const std::vector<Figure> figures = series_figures(policies, {});
  EXPECT_THAT(named(figures, "power").csv, HasSubstr("a,0,0.1,3000\n"));
  const auto canvas = svg_canvas(300, 200, "x");
  named(figures, "power").draw(*canvas);
  const std::string svg = canvas->finish();
  EXPECT_THAT(svg, HasSubstr("power (kW)"));
  EXPECT_THAT(svg, HasSubstr("lower bound"));
  EXPECT_THAT(svg, testing::Not(HasSubstr(">cap<")));
}

TEST(Figure, AFolderThatIsNoneIsAnInputError) {
  const RunPage run = resizing_run();
  const fs::path file = fs::path(testing::TempDir()) / "figure-file";
  std::ofstream(file) << "x";
  EXPECT_THROW(write_figures(file / "below", {&run, 1}, {}), InputError);
}

TEST(Figure, RunsWithoutFilesAreRefused) {
  const RunPage run{.folder = "", .path = "/there/is/none", .summary = {}};
  const fs::path folder = fs::path(testing::TempDir()) / "figures_of_nothing";
  EXPECT_THROW(write_figures(folder, {&run, 1}, {}), InputError);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace ductile
