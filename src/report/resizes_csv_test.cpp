#include "report/resizes_csv.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

const std::string kHeader =
    "time,until,job,type,first_size,before,ordered,after,reason,for_job,outcome,cost_node_s\n";

std::filesystem::path path_of_rows() {
  return std::filesystem::path(testing::TempDir()) / "resizes.csv";
}

std::string rows_of(const Workload& workload, const SimulationSettings& settings) {
  ResizesCsv rows(path_of_rows(), workload);
  small_run(workload, settings, {&rows});
  rows.commit();
  std::ifstream file(path_of_rows());
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(text.starts_with(kHeader)) << text;
  return text.substr(std::min(text.size(), kHeader.size()));
}

SimulationSettings resizing_settings() {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  return settings;
}

TEST(ResizesCsv, WithoutResizesHasNoRows) {
  EXPECT_EQ(rows_of(small_workload(), small_settings()), "");
}

// As in docs/formats/resizes.csv.md.
TEST(ResizesCsv, HasARowForEachOrder) {
  EXPECT_EQ(rows_of(small_resizing_workload(), resizing_settings()),
            "8,8,1,malleable,2,2,4,4,hand-out,,done,0\n");
}

// All four nodes for three seconds.
TEST(ResizesCsv, SaysWhatAResizeCost) {
  Workload workload = small_resizing_workload();
  workload.adaptive[0].cost.fixed_s = 3;
  EXPECT_EQ(rows_of(workload, resizing_settings()), "8,11,1,malleable,2,2,4,4,hand-out,,done,12\n");
}

TEST(ResizesCsv, OneThatIsRefusedOrGoesAPartOfTheWay) {
  SimulationSettings settings = resizing_settings();
  settings.resize.refuse = 1;
  settings.resize.retry = whole_seconds(1'000);
  EXPECT_EQ(rows_of(small_resizing_workload(), settings),
            "8,8,1,malleable,2,2,4,2,hand-out,,refused,\n");
  settings.resize.refuse = 0;
  settings.resize.partly = 1;
  EXPECT_TRUE(rows_of(small_resizing_workload(), settings)
                  .starts_with("8,8,1,malleable,2,2,4,3,hand-out,,partly,0\n"));
}

// The job ends at 20 s, before its answer comes.
TEST(ResizesCsv, OneWhoseJobEndsFirstHasNoAnswer) {
  SimulationSettings settings = resizing_settings();
  settings.resize.lose = 1;
  settings.resize.timeout = whole_seconds(1'000);
  EXPECT_EQ(rows_of(small_resizing_workload(), settings),
            "8,,1,malleable,2,2,4,2,hand-out,,lost,\n");
}

TEST(ResizesCsv, HasARowForNodesThatFail) {
  Workload workload = small_resizing_workload();
  workload.jobs.resize(1);
  SimulationSettings settings = small_settings();
  settings.node_events = {
      {.at = Time{whole_seconds(5)}, .nodes = NodeSet{{{1, 1}}}, .health = Health::down}};
  settings.on_failure = SimulationSettings::OnFailure::shrink;
  EXPECT_EQ(rows_of(workload, settings), "5,5,1,malleable,2,2,1,1,node-failure,,done,\n");
}

// Neither refused nor partly done: what is left lies between the sizes by accident.
TEST(ResizesCsv, NodesThatFailMeanwhileAreNoAnswer) {
  SimulationSettings settings = resizing_settings();
  settings.on_failure = SimulationSettings::OnFailure::shrink;
  settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(2), {}};
  settings.node_events = {
      {.at = Time{whole_seconds(9)}, .nodes = NodeSet{{{3, 3}}}, .health = Health::down}};
  const std::string grows = rows_of(small_resizing_workload(), settings);
  EXPECT_TRUE(grows.starts_with("8,,1,malleable,2,2,4,2,hand-out,,lost,\n")) << grows;

  settings.policy = make_policy("easy");
  settings.orders = {{Time{whole_seconds(8)}, JobId{0}, OperatorOrder::Resize{2}}};
  Workload workload = small_resizing_workload();
  workload.jobs.resize(1);
  workload.jobs[0].nodes = 4;
  const std::string shrinks = rows_of(workload, settings);
  EXPECT_TRUE(
      shrinks.starts_with("8,,1,malleable,4,4,2,4,ordered,,lost,\n"
                          "9,9,1,malleable,4,4,3,3,node-failure,,done,\n"))
      << shrinks;
}

TEST(ResizesCsv, IsReadAsItWasWritten) {
  Workload workload = small_resizing_workload();
  workload.adaptive[0].cost.fixed_s = 0.5;
  rows_of(workload, resizing_settings());
  const auto rows = read_resizes(path_of_rows());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at, Time{whole_seconds(8)});
  EXPECT_EQ(rows[0].until, Time{Duration{8'500'000}});
  EXPECT_EQ(rows[0].job, 1U);
  EXPECT_EQ(rows[0].type, JobType::malleable);
  EXPECT_EQ(rows[0].first_size, 2U);
  EXPECT_EQ(rows[0].before, 2U);
  EXPECT_EQ(rows[0].ordered, 4U);
  EXPECT_EQ(rows[0].after, 4U);
  EXPECT_EQ(rows[0].reason, "hand-out");
  EXPECT_FALSE(rows[0].for_job);
  EXPECT_EQ(rows[0].outcome, ResizeOutcome::done);
  EXPECT_EQ(rows[0].cost, whole_seconds(2));
}

TEST(ResizesCsv, OneThatIsDamagedIsRefusedAndSaysWhere) {
  const auto error_of = [](const std::string& row) {
    std::ofstream(path_of_rows()) << kHeader << row << '\n';
    try {
      read_resizes(path_of_rows());
    } catch (const InputError& error) {
      const std::string what = error.what();
      const std::size_t begin = path_of_rows().string().size();
      return what.substr(begin, what.find(';') - begin);
    }
    return std::string();
  };
  EXPECT_EQ(error_of("8,8,1,malleable,2,2,4,4,hand-out,,done,0"), "");
  EXPECT_EQ(error_of("8,7,1,malleable,2,2,4,4,hand-out,,done,0"), ":2: until: is before the order");
  EXPECT_EQ(error_of("8,8,1,soft,2,2,4,4,hand-out,,done,0"),
            ":2: type: is none of rigid, moldable, malleable, evolving, adaptive");
  EXPECT_EQ(error_of("8,8,1,malleable,2,2,4,4,,,done,0"), ":2: reason: is missing");
  EXPECT_EQ(error_of("8,8,1,malleable,2,2,4,4,hand-out,,gone,0"),
            ":2: outcome: is none of done, partly, refused, lost");
  EXPECT_EQ(error_of("8,8,1,malleable,2,2,4,4,hand-out,,done,-1"), ":2: cost_node_s: is below 0");
  EXPECT_EQ(error_of("8,8,1,malleable,2,2,x,4,hand-out,,done,0"),
            ":2: ordered: is no number, or none that fits here");
}

}  // namespace
}  // namespace ductile
