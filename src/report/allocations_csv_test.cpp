#include "report/allocations_csv.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

std::string rows_of(const Workload& workload, const SimulationSettings& settings) {
  const auto path = std::filesystem::path(testing::TempDir()) / "allocations.csv";
  AllocationsCsv rows(path, workload);
  small_run(workload, settings, {&rows});
  rows.commit();
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string header = "job,from,until,size,nodes,cores\n";
  EXPECT_TRUE(text.starts_with(header)) << text;
  return text.substr(std::min(text.size(), header.size()));
}

TEST(AllocationsCsv, HasARowForWhatAJobHeld) {
  EXPECT_EQ(rows_of(small_workload(), small_settings()),
            "1,0,10,3,0-2,3\n3,2,10,1,3,1\n2,10,15,4,0-3,4\n");
}

// As in docs/formats/allocations.csv.md.
TEST(AllocationsCsv, HasARowForEachSize) {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  EXPECT_EQ(rows_of(small_resizing_workload(), settings),
            "2,4,8,2,2-3,2\n1,0,8,2,0-1,2\n1,8,14,4,0-3,4\n");
}

TEST(AllocationsCsv, OfSharedNodesHasTheCores) {
  EXPECT_EQ(rows_of(small_sharing_workload(), small_sharing_settings()),
            "1,0,10,2,0-1,16\n2,10,14,2,0-1,8\n1,10,14,2,0-1,8\n1,14,102,2,0-1,16\n");
}

TEST(AllocationsCsv, WhereOnlyNumbersOfNodesAreKnownHasNoNodes) {
  SimulationSettings settings = small_settings();
  settings.rules.identities = false;
  EXPECT_EQ(rows_of(small_workload(), settings), "1,0,10,3,,3\n3,2,10,1,,1\n2,10,15,4,,4\n");
}

TEST(AllocationsCsv, NodesOfDifferentClassesHaveTheirOwnCores) {
  SimulationSettings settings = small_settings();
  settings.platform.classes = {{.name = "small", .nodes = NodeSet{{{0, 1}}}, .has = {.cores = 2}},
                               {.name = "large", .nodes = NodeSet{{{2, 3}}}, .has = {.cores = 8}}};
  EXPECT_EQ(rows_of(small_workload(), settings),
            "1,0,10,3,0-2,12\n3,2,10,1,3,8\n2,10,15,4,0-3,20\n");
}

// A start takes a second and fails; it is tried again after three.
TEST(AllocationsCsv, AStartThatFailsHasHeldItsNodes) {
  Workload workload = small_workload();
  workload.jobs.resize(1);
  SimulationSettings settings = small_settings();
  settings.start_delay = {RandomDuration::Kind::fixed, whole_seconds(1), {}};
  settings.start_failure = 0.99;
  settings.start_retry = whole_seconds(3);
  const std::string rows = rows_of(workload, settings);
  EXPECT_TRUE(rows.starts_with("1,0,1,3,0-2,3\n1,4,5,3,0-2,3\n")) << rows;
}

}  // namespace
}  // namespace ductile
