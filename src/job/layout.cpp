#include "job/layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/wide.hpp"

namespace ductile {
namespace {

// Of block numbers k = seat.rank + i * seat.size, i >= 0, there are this many below `blocks`.
std::int64_t dealt(std::int64_t blocks, Seat seat) {
  return (blocks - seat.rank + seat.size - 1) / seat.size;
}

Overlap whole(std::int64_t elements) {
  return {.length = elements, .count = elements > 0 ? 1 : 0, .total = elements};
}

Overlap overlap_of_blocks(std::int64_t elements, Seat from, Seat to) {
  const std::int64_t begin = std::max(block_begin(elements, from), block_begin(elements, to));
  const std::int64_t end = std::min(block_begin(elements, {from.rank + 1, from.size}),
                                    block_begin(elements, {to.rank + 1, to.size}));
  if (begin >= end) return {};
  return {.begin = begin, .length = end - begin, .count = 1, .total = end - begin};
}

Overlap overlap_of_deals(const Layout& layout, Seat from, Seat to) {
  const std::int64_t blocks = (layout.elements + layout.block - 1) / layout.block;
  // The first block that both hold, if there is one: they meet again after the least common
  // multiple of the sizes.
  const std::int64_t step = std::lcm(from.size, to.size);
  std::int64_t first = from.rank;
  while (first % to.size != to.rank && first < step) first += from.size;
  if (first >= std::min(step, blocks)) return {};
  Overlap result{.begin = first * layout.block,
                 .length = layout.block,
                 .step = step * layout.block,
                 .count = (blocks - first + step - 1) / step};
  const std::int64_t last = result.begin + (result.count - 1) * result.step;
  result.total = (result.count - 1) * layout.block + std::min(layout.block, layout.elements - last);
  return result;
}

}  // namespace

std::int64_t block_begin(std::int64_t elements, Seat seat) {
  return static_cast<std::int64_t>(Wide{elements} * seat.rank / seat.size);
}

std::int64_t held(const Layout& layout, Seat seat) {
  switch (layout.spread) {
    case LayoutSpread::replicated:
      return layout.elements;
    case LayoutSpread::block:
      return block_begin(layout.elements, {seat.rank + 1, seat.size}) -
             block_begin(layout.elements, seat);
    case LayoutSpread::cyclic: {
      const std::int64_t blocks = (layout.elements + layout.block - 1) / layout.block;
      const std::int64_t mine = dealt(blocks, seat);
      if (mine <= 0) return 0;
      const bool last_is_mine = (blocks - 1) % seat.size == seat.rank;
      return mine * layout.block - (last_is_mine ? blocks * layout.block - layout.elements : 0);
    }
    case LayoutSpread::packed:
      break;
  }
  return 0;
}

std::int64_t local_index(const Layout& layout, Seat seat, std::int64_t element) {
  switch (layout.spread) {
    case LayoutSpread::block:
      return element - block_begin(layout.elements, seat);
    case LayoutSpread::cyclic:
      return element / layout.block / seat.size * layout.block + element % layout.block;
    case LayoutSpread::replicated:
    case LayoutSpread::packed:
      break;
  }
  return element;
}

Overlap overlap(const Layout& layout, Seat from, Seat to) {
  switch (layout.spread) {
    case LayoutSpread::replicated:
      return to.rank % from.size == from.rank ? whole(layout.elements) : Overlap{};
    case LayoutSpread::block:
      return overlap_of_blocks(layout.elements, from, to);
    case LayoutSpread::cyclic:
      return overlap_of_deals(layout, from, to);
    case LayoutSpread::packed:
      break;
  }
  return {};
}

}  // namespace ductile
