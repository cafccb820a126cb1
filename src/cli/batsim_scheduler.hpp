// A run in which a scheduler made for Batsim decides: simulate --batsim-scheduler.
#pragma once

#include <string>

#include "batsim/scheduler.hpp"
#include "experiment/run.hpp"

namespace ductile {

/// The text for --policy of the scheduler that listens there; empty: waits as long as usual.
std::string batsim_policy_text(const std::string& endpoint, const std::string& timeout_s);

/// The scheduler that decides in the matrix, made ready for its run; null if none does. Throws
/// InputError for what it cannot be told of, or if it is not the only run, or of an array job.
BatsimScheduler* ready_batsim(Matrix& matrix, bool is_shared, bool quiet);

/// What was left out, and how long it took; on the standard error.
void tell_batsim(const BatsimScheduler& scheduler, bool quiet);

}  // namespace ductile
