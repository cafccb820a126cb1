// Many random runs of one test.
//
// DUCTILE_CASES: how many random runs each test makes, or as 1/N which part of the usual number.
// DUCTILE_SEED: only the run of this seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ductile::testing {

/// The random runs of one test.
struct Runs {
  std::uint64_t usual;       // how many
  std::uint64_t first = 0;   // the seed of the first one
  std::uint64_t enough = 0;  // from how many on they show what they are expected to; 0: `usual`
  std::uint64_t share = 1;   // slow ones: of the number in DUCTILE_CASES only one in so many
};

/// Only the run of one seed is wanted, to look at it.
inline bool is_one_seed() { return std::getenv("DUCTILE_SEED") != nullptr; }

/// How many there are, as the environment has it; at least one.
inline std::uint64_t count_of(const Runs& runs) {
  const char* const cases = std::getenv("DUCTILE_CASES");
  std::uint64_t count = runs.usual;
  if (is_one_seed()) {
    count = 1;
  } else if (cases != nullptr && std::string_view(cases).starts_with("1/")) {
    count /= std::stoull(cases + 2);
  } else if (cases != nullptr) {
    count = std::stoull(cases) / runs.share;
  }
  return std::max<std::uint64_t>(count, 1);
}

/// Calls `test(seed)` for each seed, until one fails. How many runs there were; 0 if one failed, or
/// if there were too few to expect of them what many show: then the test looks no further.
template <class Test>
std::uint64_t for_seeds(const Runs& runs, Test test) {
  const std::uint64_t first = is_one_seed() ? std::stoull(std::getenv("DUCTILE_SEED")) : runs.first;
  const std::uint64_t count = count_of(runs);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with DUCTILE_SEED=" + std::to_string(seed));
    EXPECT_NO_THROW(test(seed));
    if (::testing::Test::HasFailure()) return 0;
  }
  return !is_one_seed() && count >= (runs.enough > 0 ? runs.enough : runs.usual) ? count : 0;
}

template <class Test>
std::uint64_t for_seeds(std::uint64_t usual, Test test) {
  return for_seeds(Runs{.usual = usual}, test);
}

}  // namespace ductile::testing
