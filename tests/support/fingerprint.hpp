// The whole state of a core as text or as one number, to compare two cores or one core before and
// after a call.
#pragma once

#include <cstdint>
#include <string>

#include "scheduling/state.hpp"

namespace ductile::testing {

enum class Scope : std::uint8_t {
  all,    // every field
  facts,  // without the clock, the count of stale events, and what the last close handed out
};

/// Equal states give equal numbers; different ones, different numbers but for one case in 2^64.
std::uint64_t fingerprint(const State& state, Scope scope = Scope::all);

/// One line per row of the state, for messages: where two states differ, their texts do.
std::string describe(const State& state, Scope scope = Scope::all);

/// The first line in which the two differ; empty if they are equal.
std::string difference_of(const State& a, const State& b, Scope scope = Scope::all);

}  // namespace ductile::testing
