// Any bytes, read as a summary.json: summaries that are written and read again as the same, or an
// InputError.
//
// Readers: src/report/text.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<ReadSummary> read(std::string_view text) { return parse_summaries(text, "fuzz"); }

void check(const Summary& summary) {
  const std::string text = to_json(summary);
  const std::vector<ReadSummary> again = read(text);
  require(again.size() == 1 && again.front().folder.empty());
  require(to_json(again.front().summary) == text);
  // What measures the machine may be left out.
  const std::string figures = figures_json(summary);
  require(figures_json(read(figures).at(0).summary) == figures);
}

}  // namespace
}  // namespace ductile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ductile;
  std::vector<ReadSummary> found;
  try {
    found = read({reinterpret_cast<const char*>(data), size});
  } catch (const InputError&) {
    return 0;
  }
  for (const ReadSummary& each : found) check(each.summary);
  return 0;
}
