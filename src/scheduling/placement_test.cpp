#include "scheduling/placement.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "scheduling/idle_nodes.hpp"
#include "support/switches.hpp"

namespace ductile {
namespace {

using testing::with_switches;

NodeSet nodes(const char* text) { return *parse_node_set(text); }

std::string taken(Placement how, const Platform& platform, const char* from, Nodes n,
                  const char* beside = "") {
  NodeSet set = nodes(from);
  return to_string(Placer(how, platform).take(set, n, nodes(beside)));
}

TEST(Placement, FirstTakesTheLowest) {
  EXPECT_EQ(taken(Placement::first, with_switches(8, {2}), "1 3-7", 3), "1 3-4");
}

TEST(Placement, ContiguousTakesTheShortestRunThatDoes) {
  const Platform platform{.nodes = 20};
  EXPECT_EQ(taken(Placement::contiguous, platform, "0-4 6-8 10-14", 3), "6-8");
  EXPECT_EQ(taken(Placement::contiguous, platform, "0-4 6-8 10-13", 4), "10-13");
  EXPECT_EQ(taken(Placement::contiguous, platform, "0-4 6-8 10-11", 7), "0-4 10-11");
}

TEST(Placement, ContiguousGrowsAtTheEndsOfItsRuns) {
  const Platform platform{.nodes = 20};
  EXPECT_EQ(taken(Placement::contiguous, platform, "0-2 6-7 9", 3, "3-5"), "2 6-7");
  EXPECT_EQ(taken(Placement::contiguous, platform, "0 6-7", 1, "1-2"), "0");
  EXPECT_EQ(taken(Placement::contiguous, platform, "0 6-7", 3, "9"), "0 6-7");
}

TEST(Placement, CompactTakesTheLowestSwitchThatHasEnough) {
  const Platform platform = with_switches(16, {4, 2});  // leaves of 4, switches of 8
  EXPECT_EQ(taken(Placement::compact, platform, "1-3 6-7 8-11", 2), "6-7");
  EXPECT_EQ(taken(Placement::compact, platform, "1-3 6-7 8-11 12", 5), "1-3 6-7");
  EXPECT_EQ(taken(Placement::compact, platform, "1-3 6-7 8-11 12", 7), "6-12");
}

TEST(Placement, CompactGrowsNearWhatItHas) {
  const Platform platform = with_switches(16, {4, 2});
  EXPECT_EQ(taken(Placement::compact, platform, "2-3 4-5 8-9", 2, "0"), "2-3");
  EXPECT_EQ(taken(Placement::compact, platform, "3 4-7 8-9", 3, "0-2"), "3-5");
  EXPECT_EQ(taken(Placement::compact, platform, "8-11 12-13", 2, "0-7"), "12-13");
}

TEST(Placement, SpreadTakesOfAllSwitchesEvenly) {
  const Platform platform = with_switches(12, {4});
  EXPECT_EQ(taken(Placement::spread, platform, "0-11", 6), "0-1 4-5 8-9");
  EXPECT_EQ(taken(Placement::spread, platform, "0 4-11", 7), "0 4-6 8-10");
  EXPECT_EQ(taken(Placement::spread, platform, "0-1 4-6 8-11", 2), "4 8");  // where most are
  EXPECT_EQ(taken(Placement::spread, platform, "2-3 4-7 8-11", 4, "0-1"), "4-5 8-9");
}

TEST(Placement, AShrinkKeepsWhatAJobWouldGet) {
  const Platform platform = with_switches(12, {4});
  const auto given = [&](Placement how, const char* from, Nodes n) {
    NodeSet set = nodes(from);
    return to_string(Placer(how, platform).give_back(set, n));
  };
  EXPECT_EQ(given(Placement::first, "0-3 8", 2), "3 8");
  EXPECT_EQ(given(Placement::contiguous, "0 4-7 9", 2), "0 9");
  EXPECT_EQ(given(Placement::compact, "0-1 4-6", 2), "0-1");
  EXPECT_EQ(given(Placement::spread, "0-3 8", 2), "2-3");
}

// ---- Beside all choices that there are ----------------------------------------------------------

struct Bits {
  std::uint32_t all;
  NodeSet set() const {
    NodeSet found;
    for (std::uint32_t node = 0; node < 32; ++node) {
      if ((all >> node & 1) != 0) found.insert(node, node);
    }
    return found;
  }
};

std::map<std::uint32_t, Nodes> by_leaf(const SwitchTree& tree, const NodeSet& set) {
  std::map<std::uint32_t, Nodes> found;
  tree.for_each_part(set,
                     [&](auto leaf, auto first, auto last) { found[leaf] += last - first + 1; });
  return found;
}

// Less is better. Of runs: how many. Of switches: the level of the lowest one above all. Evenly:
// how many leaves lack, then the squares of their counts.
std::vector<std::uint32_t> badness(Placement how, const SwitchTree& tree, const NodeSet& from,
                                   const NodeSet& set) {
  if (how == Placement::contiguous) {
    // Runs that are taken; of what is left of the one of them that is not taken as a whole.
    std::uint32_t runs = 0, left = 0;
    for (const Interval& part : from.parts) {
      const Nodes its = intersection(set, NodeSet{{part}}).count();
      runs += its > 0 ? 1 : 0;
      if (its > 0) left += part.last - part.first + 1 - its;
    }
    return {runs, runs == 1 ? left : 0, static_cast<std::uint32_t>(set.parts.size())};
  }
  const auto leaves = by_leaf(tree, set);
  if (how == Placement::compact) {
    const std::uint32_t above = tree.lowest_above(set);
    Nodes there = 0;  // below that switch
    for (const auto& [leaf, count] : by_leaf(tree, from)) {
      std::uint32_t at = leaf;
      while (at != kNoSwitch && at != above) at = tree.above(at);
      if (at == above) there += count;
    }
    return {tree.level(above), there, static_cast<std::uint32_t>(leaves.size())};
  }
  std::uint32_t squares = 0;
  for (const auto& [leaf, count] : leaves) squares += count * count;
  return {64 - static_cast<std::uint32_t>(leaves.size()), squares};
}

TEST(Placement, NoOtherChoiceIsBetter) {
  Draws draws(1, Stream::test, 1);
  for (int run = 0; run < 3000; ++run) {
    const auto count = static_cast<Nodes>(4 + draws.below(7));
    const auto on_leaf = static_cast<std::uint32_t>(1 + draws.below(4));
    // Two levels above: under one switch there is but one way of few leaves.
    const Platform platform =
        with_switches(count, draws.chance(0.5) ? std::vector<std::uint32_t>{on_leaf, 64}
                                               : std::vector<std::uint32_t>{on_leaf, 2});
    const SwitchTree tree(platform);
    const Bits from{static_cast<std::uint32_t>(1 + draws.below((1u << count) - 1))};
    const auto n = static_cast<Nodes>(1 + draws.below(std::popcount(from.all)));
    for (const Placement how : {Placement::contiguous, Placement::compact, Placement::spread}) {
      NodeSet rest = from.set();
      const NodeSet chosen = Placer(how, platform).take(rest, n);
      ASSERT_EQ(chosen.count(), n);
      ASSERT_TRUE(from.set().contains(chosen) && united(rest, chosen) == from.set());
      auto best = badness(how, tree, from.set(), chosen);
      for (std::uint32_t other = 1; other < 1u << count; ++other) {
        if ((other & ~from.all) != 0 || static_cast<Nodes>(std::popcount(other)) != n) continue;
        const auto its = badness(how, tree, from.set(), Bits{other}.set());
        // A tree of several levels is taken level by level.
        if (how == Placement::compact && its[0] > 1) continue;
        ASSERT_LE(best, its) << to_string(from.set()) << ": " << to_string(chosen) << " or "
                             << to_string(Bits{other}.set());
      }
    }
  }
}

// ---- Kept beside made anew ----------------------------------------------------------------------

TEST(NodePool, IsTheSameKeptAsMadeAnew) {
  Draws draws(1, Stream::test, 2);
  for (int run = 0; run < 400; ++run) {
    const auto count = static_cast<Nodes>(1 + draws.below(200));
    Platform platform = with_switches(count, {static_cast<std::uint32_t>(1 + draws.below(20)),
                                              static_cast<std::uint32_t>(2 + draws.below(3))});
    const auto how = static_cast<Placement>(1 + draws.below(3));
    const Placer placer(how, platform);
    IdleNodes idle(count, true);
    idle.choose_by(placer);
    std::vector<NodeSet> jobs;
    for (int step = 0; step < 60; ++step) {
      const NodeSet before = idle.nodes();
      if (idle.count() > 0 && draws.chance(0.6)) {
        const auto n = static_cast<Nodes>(1 + draws.below(idle.count()));
        const bool grows = !jobs.empty() && draws.chance(0.5);
        NodeSet job = grows ? jobs.back() : NodeSet{};
        NodeSet from = before;
        const NodeSet expected = placer.take(from, n, job);
        const Holding got = idle.take(n, job);
        ASSERT_EQ(got.nodes, expected);
        ASSERT_EQ(idle.nodes(), from);
        if (grows) jobs.pop_back();
        job.insert(got.nodes);
        jobs.push_back(job);
      } else if (!jobs.empty()) {
        NodeSet back = jobs.back();
        jobs.pop_back();
        const NodeSet given =
            placer.give_back(back, static_cast<Nodes>(draws.below(back.count() + 1)));
        idle.give({given.count(), given});
        if (!back.empty()) jobs.push_back(back);
      }
      IdleNodes anew(count, true);
      const NodeSet held = difference(anew.nodes(), idle.nodes());
      anew.choose_by(placer);
      anew.take({held.count(), held});
      ASSERT_TRUE(anew.pools() == idle.pools());
    }
  }
}

}  // namespace
}  // namespace ductile
