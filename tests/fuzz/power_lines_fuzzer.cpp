// Files of power corridors and of measured time in MPI: each is lines that hold what the readers
// promise, or is refused with words.
//
// Readers: src/simulation/corridor.cpp src/simulation/timed_lines.cpp src/simulation/mpi_time.cpp
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "simulation/corridor.hpp"
#include "simulation/mpi_time.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

void check(const std::vector<CorridorLine>& lines) {
  require(!lines.empty() && lines.front().at == Time{});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    require(lines[i].low_w >= 0 && lines[i].low_w <= lines[i].high_w);
    require(i == 0 || lines[i - 1].at < lines[i].at);
  }
  require(coming_bounds(lines, 0).size() == std::min<std::size_t>(lines.size(), 16));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  try {
    check(read_corridor(file.path()));
  } catch (const InputError&) {
  }
  try {
    const std::string range(bytes);
    if (!names_file_of_corridor(range)) check(read_corridor(range));
  } catch (const InputError&) {
  }
  try {
    for (const auto& [job_and_size, millionths] : read_mtct(file.path())) {
      require(job_and_size.second > 0 && millionths > 0);
    }
  } catch (const InputError&) {
  }
  return 0;
}
