#include "scheduling/idle_nodes.hpp"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

NodeSet set_of(const std::set<std::uint32_t>& nodes) {
  NodeSet result;
  for (const std::uint32_t node : nodes) result.insert(node, node);
  return result;
}

void check_against_a_set(Nodes total, std::uint64_t seed) {
  Draws draws(seed, Stream::test, total);
  IdleNodes idle(total, true);
  const auto by_node = std::make_shared<std::vector<std::uint8_t>>(total);
  for (std::uint8_t& cell : *by_node) cell = static_cast<std::uint8_t>(draws.below(3));
  if (draws.chance(0.5)) idle.tell_apart(by_node, 3);
  std::set<std::uint32_t> naive;
  for (std::uint32_t node = 0; node < total; ++node) naive.insert(node);
  for (int n = 0; n < 60; ++n) {
    ASSERT_EQ(idle.count(), naive.size());
    if (n == 30) idle.tell_apart(by_node, 3);
    for (std::uint8_t cell = 0; cell < 3 && n > 30; ++cell) {
      const auto those = std::ranges::count_if(
          naive, [&](std::uint32_t node) { return (*by_node)[node] == cell; });
      ASSERT_EQ(idle.of(cell), those);
    }
    if (draws.chance(0.4)) {
      const auto count =
          static_cast<Nodes>(draws.below(std::min<std::size_t>(naive.size(), 500) + 1));
      std::set<std::uint32_t> lowest;
      for (Nodes i = 0; i < count; ++i) lowest.insert(naive.extract(naive.begin()));
      const Holding taken = idle.take(count);
      ASSERT_EQ(taken.count, count);
      ASSERT_EQ(taken.nodes, set_of(lowest));
    } else {
      // Some interval: what is idle of it is taken, or all of it given.
      const auto first = static_cast<std::uint32_t>(draws.below(total));
      const auto last =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(total - 1, first + draws.below(300)));
      const NodeSet interval{{{first, last}}};
      NodeSet expected;
      for (std::uint32_t node = first; node <= last; ++node) {
        ASSERT_EQ(idle.contains(node), naive.contains(node));
        if (naive.contains(node)) expected.insert(node, node);
      }
      const NodeSet found = idle.among(interval);
      ASSERT_EQ(found, expected);
      NodeSet lower = expected;
      const auto few = static_cast<Nodes>(draws.below(expected.count() + 5));
      NodeSet lowest;
      idle.add_lowest(few, interval, lowest);
      ASSERT_EQ(lowest, lower.take_lowest(std::min(few, expected.count())));
      const NodeSet gone = difference(interval, found);
      if (draws.chance(0.5)) {
        idle.take({found.count(), found});
        for (std::uint32_t node = first; node <= last; ++node) naive.erase(node);
      } else {
        idle.give({gone.count(), gone});
        for (std::uint32_t node = first; node <= last; ++node) naive.insert(node);
      }
    }
  }
  ASSERT_EQ(idle.nodes(), set_of(naive));
}

TEST(IdleNodes, AreASet) {
  for (const Nodes total : {1u, 5u, 63u, 64u, 65u, 500u, 4096u, 4097u, 9000u}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      ASSERT_NO_FATAL_FAILURE(check_against_a_set(total, seed)) << total << " nodes, seed " << seed;
    }
  }
}

TEST(IdleNodes, OfThreeLevels) {
  constexpr Nodes kMany = 300'000;
  IdleNodes idle(kMany, true);
  EXPECT_EQ(idle.take(kMany - 1).nodes, (NodeSet{{{0, kMany - 2}}}));
  EXPECT_EQ(idle.nodes(), (NodeSet{{{kMany - 1, kMany - 1}}}));
  idle.give({1, NodeSet{{{123'456, 123'456}}}});
  EXPECT_EQ(idle.take(2).nodes, (NodeSet{{{123'456, 123'456}, {kMany - 1, kMany - 1}}}));
  EXPECT_EQ(idle.count(), 0u);
  EXPECT_TRUE(idle.nodes().empty());
}

TEST(IdleNodes, WithoutIdentitiesAreACount) {
  IdleNodes idle(10, false);
  const Holding taken = idle.take(4);
  EXPECT_EQ(taken.count, 4u);
  EXPECT_TRUE(taken.nodes.empty());
  EXPECT_EQ(idle.count(), 6u);
  idle.give(taken);
  idle.take(Holding{3, {}});
  EXPECT_EQ(idle.count(), 7u);
  EXPECT_TRUE(idle.nodes().empty());
}

}  // namespace
}  // namespace ductile
