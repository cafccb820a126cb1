// Any log that can be read becomes one of its users in other weeks, or an InputError.
//
// Readers: src/workload/resample.cpp
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "workload/resample.hpp"
#include "workload/swf.hpp"

namespace {

using ductile::Duration;
using ductile::kWeek;
using ductile::Resampled;
using ductile::Time;
using ductile::Workload;
using ductile::WorkloadJob;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

Duration in_its_week(Time time) { return time.time_since_epoch() % kWeek; }

void check(const Workload& log, const Resampled& made, const ductile::Resampling& how) {
  const Time end{static_cast<std::int64_t>(made.weeks) * kWeek};
  Time last{};
  for (const WorkloadJob& job : made.workload.jobs) {
    require(job.submit >= last && job.submit < end);
    last = job.submit;
    require(job.has_user());
    require(std::ranges::any_of(log.jobs, [&](const WorkloadJob& original) {
      return in_its_week(original.submit) == in_its_week(job.submit) &&
             original.nodes == job.nodes && original.runtime == job.runtime;
    }));
  }
  require(!how.load || std::abs(made.load / *how.load - 1) <= ductile::kLoadTolerance);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  ductile::Resampling how{.weeks = data[0] % 16u, .nodes = 8, .long_term_weeks = 1u + data[0] / 64};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  try {
    const Workload log = ductile::parse_swf(bytes, "fuzz", {.nodes = 8});
    if (log.jobs.empty()) return 0;
    const Resampled made = ductile::resample(log, how, data[1]);
    check(log, made, how);
    how.load = made.log_load * (1 + data[1]) / 64;
    check(log, ductile::resample(log, how, data[1]), how);
  } catch (const ductile::InputError&) {
    return 0;
  }
  return 0;
}
