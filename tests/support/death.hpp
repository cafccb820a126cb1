// A controller in this process that dies at one of the moments of live/crash.hpp: an exception,
// which leaves all that is durable as it is.
#pragma once

#include <cstdint>

#include "live/crash.hpp"

namespace ductile::testing {

/// The controller dies.
struct Death {};
inline std::uint64_t moments_left = 0;  // until it does; 0: never

/// For `set_crash`.
inline void count_moment(Moment) {
  if (moments_left > 0 && --moments_left == 0) throw Death{};
}

}  // namespace ductile::testing
