#include "report/allocations_csv.hpp"

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

std::string rows_of(const Workload& workload, const SimulationSettings& settings) {
  const auto path = std::filesystem::path(testing::TempDir()) / "allocations.csv";
  AllocationsCsv rows(path, workload);
  small_run(workload, settings, {&rows});
  rows.commit();
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string header = "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n";
  EXPECT_TRUE(text.starts_with(header)) << text;
  return text.substr(std::min(text.size(), header.size()));
}

TEST(AllocationsCsv, HasARowForWhatAJobHeld) {
  EXPECT_EQ(rows_of(small_workload(), small_settings()),
            "1,0,10,3,0-2,3,in-order,,,\n3,2,10,1,3,1,backfilled,,,\n"
            "2,10,15,4,0-3,4,in-order,,,\n");
}

// As in docs/formats/allocations.csv.md.
TEST(AllocationsCsv, HasARowForEachSize) {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  EXPECT_EQ(rows_of(small_resizing_workload(), settings),
            "2,4,8,2,2-3,2,in-order,,,\n1,0,8,2,0-1,2,in-order,,,\n1,8,14,4,0-3,4,hand-out,,,\n");
}

TEST(AllocationsCsv, OfSharedNodesHasTheCores) {
  EXPECT_EQ(rows_of(small_sharing_workload(), small_sharing_settings()),
            "1,0,10,2,0-1,16,in-order,,,\n2,10,14,2,0-1,8,guest,,0-1:4,0-1\n"
            "1,10,14,2,0-1,8,guest,2,0-1:4,\n1,14,102,2,0-1,16,guest,,,\n");
}

TEST(AllocationsCsv, WhereOnlyNumbersOfNodesAreKnownHasNoNodes) {
  SimulationSettings settings = small_settings();
  settings.rules.identities = false;
  EXPECT_EQ(rows_of(small_workload(), settings),
            "1,0,10,3,,3,in-order,,,\n3,2,10,1,,1,backfilled,,,\n2,10,15,4,,4,in-order,,,\n");
}

TEST(AllocationsCsv, NodesOfDifferentClassesHaveTheirOwnCores) {
  SimulationSettings settings = small_settings();
  settings.platform.classes = {{.name = "small", .nodes = NodeSet{{{0, 1}}}, .has = {.cores = 2}},
                               {.name = "large", .nodes = NodeSet{{{2, 3}}}, .has = {.cores = 8}}};
  EXPECT_EQ(
      rows_of(small_workload(), settings),
      "1,0,10,3,0-2,12,in-order,,,\n3,2,10,1,3,8,backfilled,,,\n2,10,15,4,0-3,20,in-order,,,\n");
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
  EXPECT_TRUE(rows.starts_with("1,0,1,3,0-2,3,in-order,,,\n1,4,5,3,0-2,3,in-order,,,\n")) << rows;
}

TEST(AllocationsCsv, IsReadAsItWasWritten) {
  rows_of(small_sharing_workload(), small_sharing_settings());
  const auto rows = read_allocations(std::filesystem::path(testing::TempDir()) / "allocations.csv");
  ASSERT_EQ(rows.size(), 4U);
  const Allocation& guest = rows[1];
  EXPECT_EQ(guest.job, 2U);
  EXPECT_EQ(guest.from, Time{whole_seconds(10)});
  EXPECT_EQ(guest.until, Time{whole_seconds(14)});
  EXPECT_EQ(guest.size, 2U);
  EXPECT_EQ(to_string(guest.nodes), "0-1");
  EXPECT_EQ(guest.cores, 8U);
  EXPECT_EQ(guest.reason, "guest");
  EXPECT_FALSE(guest.for_job);
  ASSERT_EQ(guest.shared.size(), 1U);
  EXPECT_EQ(to_string(guest.shared[0].nodes), "0-1");
  EXPECT_EQ(guest.shared[0].cores, 4U);
  EXPECT_EQ(to_string(guest.guest_nodes), "0-1");
  EXPECT_EQ(rows[2].for_job, 2U);
}

TEST(AllocationsCsv, OneThatIsDamagedIsRefused) {
  const auto path = std::filesystem::path(testing::TempDir()) / "damaged.csv";
  for (const char* const row :
       {"1,5,4,2,0-1,2,in-order,,,", "1,0,4,2,1-0,2,in-order,,,", "1,0,4,2,0-1,2,guest,x,,",
        "1,0,4,2,0-1,2,guest,,0-1,", "1,0,4,2,0-1,2,guest,,0-1:y,", "1,0,4,2,0-1,2,guest,,:4,",
        "1,0,4,2,0-1,2", "1,0,4,2,0-1,z,in-order,,,"}) {
    std::ofstream(path) << "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n"
                        << row << '\n';
    EXPECT_THROW(read_allocations(path), InputError) << row;
  }
}

}  // namespace
}  // namespace ductile
