#include "scheduling/spread.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Spread, CountsByCell) {
  Spread spread;
  EXPECT_TRUE(spread.empty());
  spread.add(7, 2);
  spread.add(3, 1);
  spread.add(7, 4);
  spread.add(5, 0);
  EXPECT_EQ(spread.parts, (std::vector<Spread::Part>{{3, 1}, {7, 6}}));
  EXPECT_EQ(spread.count(), 7u);
  EXPECT_EQ(spread.of(7), 6u);
  EXPECT_EQ(spread.of(5), 0u);
  EXPECT_EQ(spread.cells(), Cells{1} << 3 | Cells{1} << 7);
  Spread other;
  other.add(0, 9);
  other.add(3, 1);
  spread.add(other);
  EXPECT_EQ(spread.parts, (std::vector<Spread::Part>{{0, 9}, {3, 2}, {7, 6}}));
}

TEST(Spread, CellsOfASet) {
  std::vector<std::uint32_t> seen;
  for_each_cell(Cells{1} | Cells{1} << 5 | Cells{1} << 63,
                [&](std::uint32_t cell) { seen.push_back(cell); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 5, 63}));
}

}  // namespace
}  // namespace ductile
