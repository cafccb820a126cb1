// Any bytes, read as what sacct prints: they are lines of a log that can be written and read, or an
// InputError.
//
// Readers: src/workload/sacct.cpp src/base/date.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "workload/sacct.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

void check(const SacctInput& input, const SacctRules& rules) {
  Duration last{};
  std::uint64_t number = 0;
  for (const SwfLine& line : input.lines) {
    require(line.number == ++number);
    require(line.submit >= last);
    last = line.submit;
    require(!line.wait || *line.wait >= Duration{});
    require(!line.runtime || *line.runtime >= Duration{});
    require(!line.requested_time || *line.requested_time >= Duration{});
  }
  require(!rules.anonymise || input.header.names.empty());
  std::ostringstream log;
  write_swf_lines(log, input.lines, input.header);
  const Workload again = parse_swf(log.view(), "again", {});
  require(again.jobs.size() + again.skipped.total() == input.lines.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  SacctRules rules;
  if ((data[0] & 1) != 0) rules.count = SacctRules::Count::nodes;
  if ((data[0] & 2) != 0) rules.cores_per_node = 48;
  rules.from_eligible = (data[0] & 4) != 0;
  rules.anonymise = (data[0] & 8) != 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<SacctInput> input;
  try {
    input = parse_sacct(bytes, "fuzz", rules);
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  if (input) check(*input, rules);
  if ((data[0] & 16) != 0) {
    const MemoryFile file(bytes);
    try {
      require(read_sacct(file.path(), rules).lines.size() == input.value().lines.size());
    } catch (const InputError&) {
      require(!input);
    }
  }
  return 0;
}
