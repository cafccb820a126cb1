// Many random runs of one test.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace ductile::testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::stoull(text) : fallback;
}

/// Calls `test(seed)` for `count` seeds, until one fails.
template <class Test>
void for_seeds(std::uint64_t count, Test test) {
  std::uint64_t first = 0;
  count = from_environment("DUCTILE_CASES", count);
  if (std::getenv("DUCTILE_SEED")) {
    first = from_environment("DUCTILE_SEED", 0);
    count = 1;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with DUCTILE_SEED=" + std::to_string(seed));
    ASSERT_NO_THROW(test(seed));
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace ductile::testing
