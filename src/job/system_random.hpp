// Random bytes of the system, which nobody can foretell: for keys, tokens and names. In the header,
// since the runtime library is linked without this floor.
#pragma once

#include <cstddef>
#include <span>

#include <sys/random.h>

#include "base/error.hpp"

namespace ductile {

/// At most 256 at once. Throws RunError if there are none.
inline void fill_with_random(std::span<std::byte> bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw RunError("the system has no random numbers");
  }
}

}  // namespace ductile
