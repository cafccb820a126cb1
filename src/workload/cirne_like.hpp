// A surrogate for the model of Cirne and Berman, "A Comprehensive Model of the Supercomputer
// Workload", WWC 2001, whose coefficients are not at hand: our forms, for the workloads 1, 2 and 5
// of D'Amico et al. (paper 004). It is not that model, and results say so.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "workload/generate.hpp"
#include "workload/marginal.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct CirneLikeModel {
  std::uint64_t jobs = 5000;
  Nodes nodes = 1024;          // of the machine
  double load = 2;             // offered
  Nodes max_size = 128;        // of a job, log-uniform from 1 on
  double power_of_two = 0.75;  // share of the sizes that is rounded to one of these
  Marginal request_s{Marginal::Kind::loguniform, 60, 172'800};  // the walltime
  Marginal accuracy{Marginal::Kind::uniform, 0.05, 1};  // the run time over the walltime, at most 1
};

/// Poisson arrivals whose rate follows the day of Lublin and Feitelson's one type of jobs; time 0
/// is midnight. Times are rounded to whole seconds, at least 1 and at most
/// 10^8; the load is that of these very
/// jobs, to one second. What a job is depends on the seed and its number alone. Throws InputError
/// for values that make no workload.
Workload generate_cirne_like(const CirneLikeModel& model, std::uint64_t seed);

WorkloadModel cirne_like_model();

}  // namespace ductile
