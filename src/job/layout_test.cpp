#include "job/layout.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ductile {
namespace {

bool holds(const Layout& layout, Seat seat, std::int64_t element) {
  if (layout.spread == LayoutSpread::cyclic) return element / layout.block % seat.size == seat.rank;
  return block_begin(layout.elements, seat) <= element &&
         element < block_begin(layout.elements, {seat.rank + 1, seat.size});
}

std::vector<std::int64_t> elements_of(const Overlap& shared, std::int64_t elements) {
  std::vector<std::int64_t> all;
  for (std::int64_t piece = 0; piece < shared.count; ++piece) {
    const std::int64_t begin = shared.begin + piece * shared.step;
    for (std::int64_t i = begin; i < begin + shared.length && i < elements; ++i) all.push_back(i);
  }
  return all;
}

// Whatever the layout and the sizes: each element goes from the one that holds it to the one that
// will, and has a place of its own there.
RC_GTEST_PROP(Layout, EveryElementGoesOnce, ()) {
  const Layout layout{.spread = *rc::gen::element(LayoutSpread::block, LayoutSpread::cyclic),
                      .elements = *rc::gen::inRange<std::int64_t>(0, 200),
                      .block = *rc::gen::inRange<std::int64_t>(1, 9)};
  const auto old_size = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto new_size = *rc::gen::inRange<std::int64_t>(1, 12);
  std::vector<int> arrived(static_cast<std::size_t>(layout.elements));
  for (std::int64_t to = 0; to < new_size; ++to) {
    const Seat there{to, new_size};
    std::vector<int> place(static_cast<std::size_t>(held(layout, there)));
    for (std::int64_t from = 0; from < old_size; ++from) {
      const Overlap shared = overlap(layout, {from, old_size}, there);
      const std::vector<std::int64_t> elements = elements_of(shared, layout.elements);
      RC_ASSERT(static_cast<std::int64_t>(elements.size()) == shared.total);
      for (const std::int64_t element : elements) {
        RC_ASSERT(holds(layout, {from, old_size}, element));
        RC_ASSERT(holds(layout, there, element));
        ++arrived[static_cast<std::size_t>(element)];
        ++place.at(static_cast<std::size_t>(local_index(layout, there, element)));
      }
    }
    for (const int times : place) RC_ASSERT(times == 1);
  }
  for (const int times : arrived) RC_ASSERT(times == 1);
}

TEST(Layout, BlocksOfHugeArraysDoNotOverflow) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(block_begin(huge, {4, 4}), huge);
  EXPECT_EQ(block_begin(huge, {1, 4}), huge / 4);
}

TEST(Layout, ReplicatedDataComesFromEveryOldProcess) {
  const Layout layout{.spread = LayoutSpread::replicated, .elements = 7};
  EXPECT_EQ(overlap(layout, {1, 3}, {4, 6}).total, 7);
  EXPECT_EQ(overlap(layout, {0, 3}, {4, 6}).total, 0);
  EXPECT_EQ(held(layout, {2, 6}), 7);
}

}  // namespace
}  // namespace ductile
