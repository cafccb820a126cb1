#include "scheduling/sorted_blocks.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

/// Small blocks, so that they are split and joined often. The summary is the sum of the rows.
class SmallBlock {
 public:
  using Key = int;
  using Row = int;
  using Summary = int;
  struct Entry {
    Key key;
    Row row;
  };
  static constexpr std::uint32_t kCapacity = 8;

  std::uint32_t size() const { return size_; }
  const int& key(std::uint32_t i) const { return keys_[i]; }
  int row(std::uint32_t i) const { return rows_[i]; }
  void insert(std::uint32_t at, int key, int row) {
    std::copy_backward(&keys_[at], &keys_[size_], &keys_[size_ + 1]);
    std::copy_backward(&rows_[at], &rows_[size_], &rows_[size_ + 1]);
    keys_[at] = key;
    rows_[at] = row;
    ++size_;
  }
  void erase(std::uint32_t at) {
    std::copy(&keys_[at + 1], &keys_[size_], &keys_[at]);
    std::copy(&rows_[at + 1], &rows_[size_], &rows_[at]);
    --size_;
  }
  void move_tail(std::uint32_t from, SmallBlock& other) {
    for (std::uint32_t i = from; i < size_; ++i) other.insert(other.size_, keys_[i], rows_[i]);
    size_ = from;
  }
  Entry entry(std::uint32_t i) const { return {keys_[i], rows_[i]}; }
  void put(std::uint32_t at, const Entry& entry) {
    keys_[at] = entry.key;
    rows_[at] = entry.row;
  }
  void summarize() {}
  int summary() const {
    int sum = 0;
    for (std::uint32_t i = 0; i < size_; ++i) sum += rows_[i];
    return sum;
  }

 private:
  std::uint32_t size_ = 0;
  std::array<int, kCapacity + 1> keys_{};
  std::array<int, kCapacity + 1> rows_{};
};

using Blocks = SortedBlocks<SmallBlock>;

/// The same rows in the same order, and true summaries.
void expect_equal(const Blocks& blocks, const std::map<int, int>& map) {
  ASSERT_EQ(blocks.size(), map.size());
  ASSERT_EQ(blocks.empty(), map.empty());
  auto expected = map.begin();
  for (const auto& slot : blocks.slots()) {
    const SmallBlock& block = blocks.block(slot);
    ASSERT_GT(block.size(), 0u);
    ASSERT_EQ(slot.first, block.key(0));
    ASSERT_EQ(slot.summary, block.summary());
    for (std::uint32_t i = 0; i < block.size(); ++i, ++expected) {
      ASSERT_EQ(block.key(i), expected->first);
      ASSERT_EQ(block.row(i), expected->second);
    }
  }
  ASSERT_EQ(expected, map.end());
}

TEST(SortedBlocks, AreASortedMap) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draws draws(seed, Stream::test, 0);
    Blocks blocks;
    std::map<int, int> map;
    const std::uint64_t keys = seed % 2 == 0 ? 60 : 400;
    for (int n = 0; n < 600; ++n) {
      const int key = static_cast<int>(draws.below(keys));
      // First it grows, then it shrinks.
      if (!map.contains(key) && draws.chance(n < 300 ? 0.8 : 0.2)) {
        blocks.insert(key, n);
        map[key] = n;
      } else if (map.contains(key)) {
        blocks.erase(key);
        map.erase(key);
      }
      if (n % 10 == 0) expect_equal(blocks, map);
      const int probe = static_cast<int>(draws.below(keys + 2)) - 1;
      const Blocks::Place place = blocks.lower_bound(probe);
      const auto expected = map.lower_bound(probe);
      ASSERT_EQ(blocks.at_end(place), expected == map.end()) << "seed " << seed;
      if (expected == map.end()) continue;
      ASSERT_EQ(blocks.block(place).key(place.row), expected->first);
      const Blocks::Place next = blocks.next(place);
      const auto after = std::next(expected);
      ASSERT_EQ(blocks.at_end(next), after == map.end());
      if (after != map.end()) {
        ASSERT_EQ(blocks.block(next).key(next.row), after->first);
      }
    }
    const Blocks copy = blocks;
    blocks.clear();
    expect_equal(blocks, {});
    expect_equal(copy, map);
  }
}

TEST(SortedBlocks, CanHaveOtherKeys) {
  int kept = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed, Stream::test, 1);
    Blocks blocks;
    std::map<int, int> map;
    for (int n = 0; n < 100; ++n) {
      const int key = 1000 * n + static_cast<int>(draws.below(1000));
      blocks.insert(key, n);
      map[key] = n;
    }
    // Up by a little, or by so much that some, or all, change places; the row says whose key it is.
    const std::uint64_t most = seed % 4 == 0 ? 1 : seed % 4 == 1 ? 2000 : 1'000'000;
    std::map<int, int> others, now;
    for (const auto& [key, row] : map) {
      int other = key + static_cast<int>(draws.below(most));
      while (now.contains(other)) ++other;
      others[key] = other;
      now[other] = row;
    }
    const bool any = blocks.rekey([&](int key) { return others[key]; });
    expect_equal(blocks, now);
    ASSERT_EQ(any, !std::ranges::equal(
                       map, now, {}, [](const auto& a) { return a.second; },
                       [](const auto& a) { return a.second; }));
    ++(any ? moved : kept);
  }
  EXPECT_GE(kept, 50);
  EXPECT_GE(moved, 100);
}

TEST(SortedBlocks, FilledFromTheBackHaveFullBlocks) {
  Blocks blocks;
  for (int key = 0; key < 80; ++key) blocks.insert(key, 1);
  EXPECT_EQ(blocks.slots().size(), 10u);
}

TEST(SortedBlocks, ReuseTheirBlocks) {
  Blocks blocks;
  for (int key = 0; key < 800; ++key) {
    blocks.insert(key, 1);
    if (key >= 16) blocks.erase(key - 16);
  }
  EXPECT_LE(blocks.slots().size(), 4u);
  EXPECT_EQ(blocks.size(), 16u);
}

}  // namespace
}  // namespace ductile
