// Which elements of a distributed array a process holds, and what goes from an old process to a new
// one when their number changes.
#pragma once

#include <cstdint>

namespace ductile {

/// How an array is spread over the processes of a generation. Part of the runtime protocol and of
/// include/ductile/app.h: the numbers stay.
enum class LayoutSpread : std::uint32_t {
  /// Every process holds all of it.
  replicated = 0,
  /// One contiguous part each: process r of n holds [N*r/n, N*(r+1)/n).
  block = 1,
  /// Blocks of a fixed size dealt out in turn: process r holds blocks r, r+n, r+2n, ...
  cyclic = 2,
  /// The program packs and unpacks it.
  packed = 3,
};

struct Layout {
  LayoutSpread spread = LayoutSpread::block;
  std::int64_t elements = 0;
  /// Elements per block, at least 1; of `cyclic` only.
  std::int64_t block = 1;
};

/// Process `rank` of `size`.
struct Seat {
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

/// Begin of the contiguous part of a block-distributed array; the end is the next one's begin.
std::int64_t block_begin(std::int64_t elements, Seat seat);

/// How many elements this process holds.
std::int64_t held(const Layout& layout, Seat seat);

/// Where a process that holds the element keeps it, counted in elements.
std::int64_t local_index(const Layout& layout, Seat seat, std::int64_t element);

/// What two processes of different generations share of an array: `count` pieces of `length`
/// elements that begin `step` apart; the last one ends with the array at the latest.
struct Overlap {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  /// Elements in all pieces.
  std::int64_t total = 0;
};

/// What `from` has to give to `to`. Replicated data goes to each new process from the old one whose
/// rank is the new rank modulo the old size, so that no process has to feed all. Of `packed` data
/// nothing is known.
Overlap overlap(const Layout& layout, Seat from, Seat to);

}  // namespace ductile
