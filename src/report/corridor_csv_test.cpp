#include "report/corridor_csv.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(CorridorCsv, IsReadAsItWasWritten) {
  const auto path = std::filesystem::path(testing::TempDir()) / "corridor.csv";
  const std::vector<CorridorLine> corridor = {
      {Time{}, 1700, 2500},
      {Time{Duration{500'500'000}}, 0, std::numeric_limits<double>::infinity()}};
  write_corridor_csv(path, corridor);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "time,low_w,high_w\n0,1700,2500\n500.5,0,\n");
  const auto again = read_corridor_csv(path);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].high_w, 2500);
  EXPECT_EQ(again[1].at, corridor[1].at);
  EXPECT_EQ(again[1].high_w, corridor[1].high_w);
  std::ofstream(path) << "time,low_w,high_w\n0,x,\n";
  EXPECT_THROW(read_corridor_csv(path), InputError);
}

}  // namespace
}  // namespace ductile
