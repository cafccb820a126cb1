#include "report/nodes_csv.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

// Not before main(), which makes the folder.
std::filesystem::path csv() { return std::filesystem::path(testing::TempDir()) / "nodes.csv"; }

std::string rows_of(const SimulationSettings& settings) {
  std::filesystem::remove(csv());
  NodesCsv rows(csv());
  small_run(small_workload(), settings, {&rows});
  rows.commit();
  std::ifstream file(csv());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

NodeEvent event(int at_s, std::uint32_t first, std::uint32_t last, Health health) {
  return {Time{whole_seconds(at_s)}, NodeSet{{{first, last}}}, health};
}

TEST(NodesCsv, OfAWholeMachineThereIsNone) {
  EXPECT_EQ(rows_of(small_settings()), "");
  EXPECT_FALSE(std::filesystem::exists(csv()));
}

// Nodes 2 and 3 drain and go down one after the other; job 1 holds node 2 until 10.
TEST(NodesCsv, HasARowForAsLongAsNodesAreInAState) {
  SimulationSettings settings = small_settings();
  settings.node_events = {event(1, 2, 3, Health::draining), event(4, 3, 3, Health::down),
                          event(12, 3, 3, Health::up), event(13, 2, 2, Health::up)};
  EXPECT_EQ(rows_of(settings),
            "from,until,nodes,state,reservation\n"
            "1,4,3,draining,\n4,12,3,down,\n1,13,2,draining,\n");
  const auto rows = read_nodes(csv());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].from, Time{whole_seconds(4)});
  EXPECT_EQ(rows[1].until, Time{whole_seconds(12)});
  EXPECT_EQ(to_string(rows[1].nodes), "3");
  EXPECT_EQ(rows[1].state, "down");
}

TEST(NodesCsv, OneThatIsDamagedIsRefused) {
  for (const char* const row : {"5,4,0-1,down,", "0,4,1-0,down,", "0,4,0-1"}) {
    std::ofstream(csv()) << "from,until,nodes,state,reservation\n" << row << '\n';
    EXPECT_THROW(read_nodes(csv()), InputError) << row;
  }
}

}  // namespace
}  // namespace ductile
