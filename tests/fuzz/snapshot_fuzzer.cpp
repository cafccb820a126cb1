// Snapshots from anywhere: they are refused with words, or the state keeps its invariants, is
// written again as what it was read from.
//
// Readers: src/scheduling/snapshot.cpp src/scheduling/words.cpp
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "scheduling/snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<ductile::State> state;
  try {
    state = ductile::load(text);
  } catch (const ductile::InputError&) {
    return 0;
  }
  const std::string written = ductile::save(*state);
  if (ductile::save(ductile::load(written)) != written) {
    std::fprintf(stderr, "it is written as something else\n");
    std::abort();
  }
  return 0;
}
