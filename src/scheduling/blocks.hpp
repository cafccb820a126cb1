// Building blocks that policies are composed from.
#pragma once

#include <cstdint>
#include <limits>

#include "scheduling/pass.hpp"

namespace ductile {

struct InOrder {
  bool strict =
      false;  // stop at a claim of higher priority: nothing passes a job that is due first
};

/// Starts jobs in queue order at their preferred size while the first one fits.
void start_in_order(Pass& pass, InOrder options = {});

struct Backfill {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t reservation_depth = 1;
};

/// Backfilling at preferred sizes. In queue order, a job starts if it fits now, for its whole
/// walltime, without disturbing a reservation made so far; else it is reserved at its earliest time
/// while there are fewer than `reservation_depth` reservations; after that jobs may only start now.
///
/// Depth 1 is EASY (Lifka 1995; Mu'alem and Feitelson 2001), unlimited depth conservative
/// backfilling. Cost: O(depth log R + Q / 64 per started job); unlimited: see docs/performance.md.
void backfill(Pass& pass, Backfill options);

}  // namespace ductile
