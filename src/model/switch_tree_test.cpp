#include "model/switch_tree.hpp"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/switches.hpp"

namespace ductile {
namespace {

using testing::with_switches;

TEST(EvenSwitches, FillLeavesAndLevelsInOrder) {
  const auto all =
      with_switches(10, {3, 2}).switches;  // leaves 0-2 3-5 6-8 9, two of them a switch
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[3].name, "0.3");
  EXPECT_EQ(to_string(all[3].nodes), "9");
  EXPECT_EQ(all[1].above, 4u);
  EXPECT_EQ(all[3].above, 5u);
  EXPECT_EQ(all[5].above, kNoSwitch);
  EXPECT_TRUE(is_tree(all, 10));
}

TEST(SwitchTree, PutsNodesOfNoSwitchOnALeafAndRootsUnderARoot) {
  Platform platform{.nodes = 6};
  platform.switches = {{"a", {{{0, 1}}}}, {"b", {{{4, 4}}}}};
  const SwitchTree tree(platform);
  ASSERT_EQ(tree.size(), 4u);
  EXPECT_EQ(to_string(tree.nodes(2)), "2-3 5");
  EXPECT_EQ(tree.above(0), 3u);
  EXPECT_EQ(tree.above(3), kNoSwitch);
  EXPECT_EQ(tree.level(3), 1u);
  EXPECT_EQ(tree.lowest_above({{{2, 3}, {5, 5}}}), 2u);
  EXPECT_EQ(tree.lowest_above({{{1, 2}}}), 3u);
}

TEST(SwitchTree, IsOneLeafWhereNothingIsSaid) {
  const SwitchTree tree(Platform{.nodes = 4});
  ASSERT_EQ(tree.size(), 1u);
  EXPECT_EQ(to_string(tree.nodes(0)), "0-3");
  EXPECT_EQ(tree.mean_hops({{{0, 3}}}), 0);
}

TEST(SwitchTree, CountsLinksBetweenSwitches) {
  const SwitchTree tree(
      with_switches(8, {2, 2}));  // two switches of two leaves of two nodes, a root
  EXPECT_EQ(tree.mean_hops({{{0, 0}}}), 0);
  EXPECT_EQ(tree.mean_hops({{{0, 1}}}), 0);
  EXPECT_EQ(tree.mean_hops({{{1, 2}}}), 2);
  EXPECT_EQ(tree.mean_hops({{{3, 4}}}), 4);
  EXPECT_DOUBLE_EQ(tree.mean_hops({{{0, 2}}}), 4.0 / 3);
}

TEST(IsTree, RefusesWhatIsNone) {
  const NodeSet two{{{0, 1}}};
  EXPECT_TRUE(is_tree(std::array{Switch{"a", two, 1}, Switch{"b", {}}}, 2));
  EXPECT_FALSE(is_tree(std::array{Switch{"a", two}}, 1));                    // no such node
  EXPECT_FALSE(is_tree(std::array{Switch{"a", two}, Switch{"b", two}}, 2));  // on two
  EXPECT_FALSE(is_tree(std::array{Switch{"a", two, 0}}, 2));                 // below itself
  EXPECT_FALSE(is_tree(std::array{Switch{"a", two, 7}}, 2));                 // below none there is
  EXPECT_FALSE(
      is_tree(std::array{Switch{"a", {}, 1}, Switch{"b", two}}, 2));  // no leaf has switches
}

// A tree of any shape, with nodes that are on no switch.
Platform random_tree(Draws& draws) {
  Platform platform{.nodes = static_cast<Nodes>(2 + draws.below(20))};
  const auto leaves = static_cast<std::uint32_t>(1 + draws.below(6));
  const auto inner = static_cast<std::uint32_t>(draws.below(4));
  platform.switches.resize(leaves + inner);
  for (std::uint32_t node = 0; node < platform.nodes; ++node) {
    if (draws.chance(0.9)) platform.switches[draws.below(leaves)].nodes.insert(node, node);
  }
  for (std::uint32_t i = 0; i < leaves + inner; ++i) {
    const std::uint32_t first = std::max(i + 1, leaves);
    if (first < leaves + inner && draws.chance(0.8)) {
      platform.switches[i].above =
          first + static_cast<std::uint32_t>(draws.below(leaves + inner - first));
    }
  }
  return platform;
}

TEST(SwitchTree, AgreesWithALookAtAllPairs) {
  Draws draws(1, Stream::test, 1);
  for (int run = 0; run < 2000; ++run) {
    const Platform platform = random_tree(draws);
    ASSERT_TRUE(is_tree(platform.switches, platform.nodes));
    const SwitchTree tree(platform);
    std::vector<std::vector<std::uint32_t>> ways;  // of each node, up to the root
    NodeSet set;
    for (std::uint32_t node = 0; node < platform.nodes; ++node) {
      if (!draws.chance(0.6)) continue;
      set.insert(node, node);
      auto& way = ways.emplace_back();
      for (std::uint32_t i = 0; i < tree.size(); ++i) {
        if (!tree.nodes(i).contains(node)) continue;
        for (std::uint32_t at = i; at != kNoSwitch; at = tree.above(at)) way.push_back(at);
      }
      ASSERT_FALSE(way.empty());
    }
    double sum = 0, pairs = 0;
    for (std::size_t a = 0; a < ways.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        auto x = ways[a].rbegin(), y = ways[b].rbegin();
        for (; x != ways[a].rend() && y != ways[b].rend() && *x == *y; ++x) ++y;
        sum += static_cast<double>((ways[a].rend() - x) + (ways[b].rend() - y));
        ++pairs;
      }
    }
    ASSERT_DOUBLE_EQ(tree.mean_hops(set), pairs > 0 ? sum / pairs : 0);
  }
}

}  // namespace
}  // namespace ductile
