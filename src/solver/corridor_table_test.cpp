#include "solver/corridor_table.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr std::size_t kBudget = 1000;

TEST(CorridorTable, AnswersForAnyLimits) {
  const std::vector<TableJob> jobs{{.n = 2, .most = 10, .least = 10, .sizes = {1, 2, 3, 4}},
                                   {.n = 1, .most = 3, .least = 3, .sizes = {1, 2}}};
  const auto table = CorridorTable::make(jobs, {.nodes = 6}, kBudget);
  ASSERT_TRUE(table);
  EXPECT_THAT(table->best({.nodes = 6}), Optional(ElementsAre(4, 2)));
  EXPECT_THAT(table->best({.nodes = 4}), Optional(ElementsAre(2, 2)));  // not 3 and 1: smaller
  EXPECT_THAT(table->best({.nodes = 6, .most = 30}), Optional(ElementsAre(2, 2)));
  EXPECT_THAT(table->best({.nodes = 4, .least = 30}), Optional(ElementsAre(3, 1)));
  EXPECT_EQ(table->best({.nodes = 1}), std::nullopt);
  EXPECT_EQ(table->best({.nodes = 6, .most = 12}), std::nullopt);
}

TEST(CorridorTable, DropsWhatOthersBeat) {
  // Without power only the number of nodes counts: one state for each.
  const std::vector<TableJob> jobs(3, {.n = 1, .sizes = {1, 2, 3, 4}});
  const auto table = CorridorTable::make(jobs, {.nodes = 12}, kBudget);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->states(), 10u);
}

TEST(CorridorTable, GivesUpBeyondItsBudget) {
  const std::vector<TableJob> jobs(3, {.n = 1, .sizes = {1, 2, 3, 4}});
  EXPECT_FALSE(CorridorTable::make(jobs, {.nodes = 12}, 10));
}

TEST(CorridorTable, OfNoJobsHasOneAnswer) {
  const auto table = CorridorTable::make({}, {.nodes = 3}, kBudget);
  ASSERT_TRUE(table);
  EXPECT_THAT(table->best({.nodes = 3}), Optional(ElementsAre()));
  EXPECT_EQ(table->best({.nodes = 3, .least = 1}), std::nullopt);
}

}  // namespace
}  // namespace ductile
