// Any bytes, read as what a scheduler for ElastiSim answers: it is an answer, or an InputError.
//
// Readers: src/elastisim/protocol.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "elastisim/protocol.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

constexpr Nodes kNodes = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::uint32_t jobs = data[0];
  try {
    std::set<std::uint32_t> seen;
    for (const ElastisimOrder& order : parse_elastisim_reply(bytes, "fuzz", jobs, kNodes)) {
      require(order.job < jobs && seen.insert(order.job).second);
      const std::set<std::uint32_t> nodes(order.nodes.begin(), order.nodes.end());
      require(nodes.size() == order.nodes.size());
      require(nodes.empty() || *nodes.rbegin() < kNodes);
    }
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  return 0;
}
