// The plain model: Poisson arrivals, and sizes and run times that know nothing of each other.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "workload/generate.hpp"
#include "workload/marginal.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct PoissonModel {
  std::uint64_t jobs = 10'000;
  Nodes nodes = 500;                                 // of the machine
  double load = 0.7;                                 // offered
  Marginal size{Marginal::Kind::loguniform, 1, 64};  // nodes
  Marginal runtime_s{Marginal::Kind::lognormal, 3600, 1};
  double max_runtime_s = 604'800;
};

/// Sizes are rounded to the nearest one of 1 to `nodes`, run times to the nearest second of 1 to
/// the longest. Gaps are exponential; the load is that of these very jobs, to one second. No times
/// are requested: the walltime is the run time. What a job is depends on the seed and its number
/// alone. Throws InputError for values that make no workload.
Workload generate_poisson(const PoissonModel& model, std::uint64_t seed);

WorkloadModel poisson_model();

}  // namespace ductile
