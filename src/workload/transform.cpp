#include "workload/transform.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {

void scale_arrivals(Workload& workload, double factor) {
  if (workload.jobs.empty()) return;
  const Time first = workload.jobs.front().submit;
  // Far from the end of time, so that whatever is added to a submission still fits.
  constexpr double latest_us = 0x1p61;
  for (WorkloadJob& job : workload.jobs) {
    const double gap_us = static_cast<double>((job.submit - first).count()) * factor;
    if (gap_us > latest_us) {
      throw InputError({.field = "arrival scale"}, fmt::format("{} is too large", factor),
                       "use a smaller one");
    }
    job.submit = first + Duration{std::llround(gap_us)};
  }
}

void perfect_estimates(Workload& workload) {
  for (WorkloadJob& job : workload.jobs) job.walltime = job.runtime;
}

}  // namespace ductile
