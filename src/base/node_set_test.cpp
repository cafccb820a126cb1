#include "base/node_set.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ductile {
namespace {

using Plain = std::set<std::uint32_t>;

Plain plain(const NodeSet& set) {
  Plain result;
  for (const Interval& part : set.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) result.insert(node);
  }
  return result;
}

// Sorted, disjoint, not touching, none empty.
bool is_well_formed(const NodeSet& set) {
  for (std::size_t i = 0; i < set.parts.size(); ++i) {
    if (set.parts[i].first > set.parts[i].last) return false;
    if (i > 0 && set.parts[i - 1].last + 1 >= set.parts[i].first) return false;
  }
  return true;
}

Interval any_interval() {
  const auto first = *rc::gen::inRange<std::uint32_t>(0, 60);
  return {first, first + *rc::gen::inRange<std::uint32_t>(0, 12)};
}

NodeSet any_set() {
  NodeSet set;
  const int parts = *rc::gen::inRange(0, 8);
  for (int i = 0; i < parts; ++i) {
    const Interval part = any_interval();
    set.insert(part.first, part.last);
  }
  return set;
}

RC_GTEST_PROP(NodeSet, InsertsLikeASet, ()) {
  NodeSet set;
  Plain expected;
  for (int i = 0; i < 10; ++i) {
    const Interval part = any_interval();
    set.insert(part.first, part.last);
    for (std::uint32_t node = part.first; node <= part.last; ++node) expected.insert(node);
    RC_ASSERT(is_well_formed(set));
    RC_ASSERT(plain(set) == expected);
    RC_ASSERT(set.count() == expected.size());
    RC_ASSERT(set.empty() == expected.empty());
  }
}

RC_GTEST_PROP(NodeSet, CombinesLikeASet, ()) {
  const NodeSet a = any_set(), b = any_set();
  const Plain x = plain(a), y = plain(b);
  Plain both, either, only_a;
  std::ranges::set_intersection(x, y, std::inserter(both, both.end()));
  std::ranges::set_union(x, y, std::inserter(either, either.end()));
  std::ranges::set_difference(x, y, std::inserter(only_a, only_a.end()));

  RC_ASSERT(plain(intersection(a, b)) == both);
  RC_ASSERT(plain(united(a, b)) == either);
  RC_ASSERT(plain(difference(a, b)) == only_a);
  RC_ASSERT(is_well_formed(intersection(a, b)));
  RC_ASSERT(is_well_formed(united(a, b)));
  RC_ASSERT(is_well_formed(difference(a, b)));

  NodeSet inserted = a, erased = a;
  inserted.insert(b);
  erased.erase(b);
  RC_ASSERT(inserted == united(a, b));
  RC_ASSERT(erased == difference(a, b));
  RC_ASSERT(a.intersects(b) == !both.empty());
  RC_ASSERT(a.contains(b) == std::ranges::includes(x, y));
  for (std::uint32_t node = 0; node < 75; ++node) {
    RC_ASSERT(a.contains(node) == x.contains(node));
  }
}

RC_GTEST_PROP(NodeSet, TakesFromEitherEnd, ()) {
  const NodeSet set = any_set();
  const auto n = *rc::gen::inRange<Nodes>(0, set.count() + 1);
  const Plain all = plain(set);
  const auto split = [&](Nodes low) { return std::next(all.begin(), low); };

  NodeSet left = set;
  const NodeSet lowest = left.take_lowest(n);
  RC_ASSERT(is_well_formed(left) && is_well_formed(lowest));
  RC_ASSERT(plain(lowest) == Plain(all.begin(), split(n)));
  RC_ASSERT(plain(left) == Plain(split(n), all.end()));

  left = set;
  const NodeSet highest = left.take_highest(n);
  RC_ASSERT(is_well_formed(left) && is_well_formed(highest));
  RC_ASSERT(plain(left) == Plain(all.begin(), split(set.count() - n)));
  RC_ASSERT(plain(highest) == Plain(split(set.count() - n), all.end()));
}

RC_GTEST_PROP(NodeSet, IsReadAsItIsWritten, ()) {
  const NodeSet set = any_set();
  RC_ASSERT(parse_node_set(to_string(set)) == set);
}

TEST(NodeSet, IsWrittenAsBatsimWritesIt) {
  EXPECT_EQ(to_string({}), "");
  EXPECT_EQ(to_string({{{0, 3}, {7, 7}}}), "0-3 7");
}

TEST(NodeSet, IsReadInAnyOrderAndWithCommas) {
  EXPECT_EQ(parse_node_set("7,0-1, 2-3 3"), (NodeSet{{{0, 3}, {7, 7}}}));
  EXPECT_EQ(parse_node_set(""), NodeSet{});
}

TEST(NodeSet, IsNotReadFromOtherText) {
  for (const char* text : {"a", "1-", "-1", "3-1", "1-2-3", "1;2", "1 x", "4294967295",
                           "0-4294967295", "99999999999"}) {
    EXPECT_EQ(parse_node_set(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_node_set("4294967294"), (NodeSet{{{4294967294, 4294967294}}}));
}

TEST(NodeSet, CanHoldTheLargestNumbers) {
  NodeSet set;
  set.insert(4294967290, 4294967294);
  set.insert(4294967280, 4294967289);
  EXPECT_EQ(set, (NodeSet{{{4294967280, 4294967294}}}));
  EXPECT_TRUE(set.contains(4294967294));
}

}  // namespace
}  // namespace ductile
