// Any bytes, read as a workload of Batsim: they are jobs that can be written and read again, or an
// InputError.
//
// Readers: src/workload/batsim.cpp
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "workload/batsim.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

// Up to here a number of JSON tells microseconds apart.
bool is_exact(const WorkloadJob& job) {
  constexpr Duration kLongest = whole_seconds(4'000'000'000);
  return job.submit.time_since_epoch() < kLongest && job.runtime < kLongest &&
         job.walltime < kLongest;
}

void check(const Workload& workload, BatsimVersion version) {
  Time last{};
  for (const WorkloadJob& job : workload.jobs) {
    require(job.submit >= last);
    last = job.submit;
    require(job.nodes > 0 && job.runtime > Duration{} && job.walltime >= Duration{});
  }
  std::ostringstream out;
  write_batsim(out, workload, 7, version);
  const BatsimInput again = parse_batsim(out.view(), "again", {});
  require(again.nodes == 7);
  if (std::ranges::all_of(workload.jobs, is_exact)) require(again.workload.jobs == workload.jobs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  BatsimRules rules;
  if ((data[0] & 1) != 0) rules.machine = {.flops_per_s = 1e9, .link_bytes_per_s = 1e9};
  if ((data[0] & 2) != 0) rules.machine.backbone_bytes_per_s = 3e9;
  rules.skip_unsupported = (data[0] & 4) != 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<BatsimInput> input;
  try {
    input = parse_batsim(bytes, "fuzz", rules);
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  if (input) {
    check(input->workload, (data[0] & 8) != 0 ? BatsimVersion::v5 : BatsimVersion::v4);
  }
  if ((data[0] & 16) != 0) {
    const MemoryFile file(bytes);
    try {
      const BatsimInput from_file = read_batsim(file.path(), rules);
      require(from_file.workload.jobs == input.value().workload.jobs);
    } catch (const InputError&) {
      require(!input);
    }
  }
  return 0;
}
