#include "solver/corridor_sizes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;

CorridorSizes sizes_of(Nodes n, SizeRange range, const std::string& constraint, Nodes nodes = 100) {
  return CorridorSizes({.n = n, .range = range, .constraint = parse_constraint(constraint)}, nodes);
}

std::vector<Nodes> all_of(const CorridorSizes& sizes) {
  std::vector<Nodes> all;
  sizes.append_nearest(sizes.min(), 1000, all);
  return all;
}

TEST(CorridorSizes, AreTheAllowedOnesAndTheOneItHas) {
  EXPECT_THAT(all_of(sizes_of(2, {1, 5}, "any")), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(all_of(sizes_of(6, {1, 20}, "pof2")), ElementsAre(1, 2, 4, 6, 8, 16));
  EXPECT_THAT(all_of(sizes_of(9, {3, 7}, "even")), ElementsAre(4, 6, 9));
  EXPECT_THAT(all_of(sizes_of(1, {4, 8}, "odd")), ElementsAre(1, 5, 7));
  EXPECT_THAT(all_of(sizes_of(8, {1, 64}, "cubic", 30)), ElementsAre(1, 8, 27));
  EXPECT_THAT(all_of(sizes_of(5, {10, 15}, "pof2")), ElementsAre(5));  // there are none
}

TEST(CorridorSizes, OfARigidJobThereIsOne) {
  const CorridorSizes sizes({.n = 5, .range = {1, 9}, .rigid = true}, 100);
  EXPECT_TRUE(sizes.is_fixed());
  for (const Nodes n : {0u, 1u, 5u, 9u}) {
    EXPECT_EQ(sizes.at_most(n), 5u);
    EXPECT_EQ(sizes.at_least(n), 5u);
    EXPECT_EQ(sizes.has(n), n == 5);
  }
}

TEST(CorridorSizes, NeighboursAreThoseOfTheList) {
  for (const char* constraint : {"any", "pof2", "even", "odd", "cubic"}) {
    for (Nodes n = 1; n <= 20; ++n) {
      const CorridorSizes sizes = sizes_of(n, {3, 17}, constraint);
      const std::vector<Nodes> all = all_of(sizes);
      EXPECT_EQ(sizes.min(), all.front());
      EXPECT_EQ(sizes.max(), all.back());
      for (Nodes size = 0; size <= 25; ++size) {
        const auto above = std::upper_bound(all.begin(), all.end(), size);
        EXPECT_EQ(sizes.at_most(size), above == all.begin() ? all.front() : *(above - 1));
        const auto from = std::lower_bound(all.begin(), all.end(), size);
        EXPECT_EQ(sizes.at_least(size), from == all.end() ? all.back() : *from);
        EXPECT_EQ(sizes.has(size), std::binary_search(all.begin(), all.end(), size));
      }
    }
  }
}

TEST(CorridorSizes, NearestOnesAreOnBothSidesAndTheOneItHas) {
  std::vector<Nodes> near;
  sizes_of(30, {1, 50}, "even").append_nearest(11, 4, near);
  EXPECT_THAT(near, ElementsAre(8, 10, 12, 14, 30));
}

TEST(CorridorLimits, AreWhatWaitingJobsLeave) {
  const CorridorProblem problem{.nodes = 14, .idle_mw = 71, .lower_mw = 1700, .upper_mw = 2500};
  const std::vector<WaitingForCorridor> waiting{{.n = 3, .p_min_mw = 200, .p_max_mw = 250}};
  const CorridorLimits limits = corridor_limits(problem, waiting);
  EXPECT_EQ(limits.nodes, 11);
  EXPECT_EQ(limits.most, 2500 - 14 * 71 - 3 * (250 - 71));
  EXPECT_EQ(limits.least, 1700 - 14 * 71 - 3 * (200 - 71));
  EXPECT_LT(corridor_limits(problem, std::vector<WaitingForCorridor>(5, waiting[0])).nodes, 0);
}

}  // namespace
}  // namespace ductile
