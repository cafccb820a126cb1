// A run in which a scheduler outside of this program decides: simulate --batsim-scheduler and
// --elastisim-scheduler.
#pragma once

#include <memory>
#include <string>

#include "experiment/run.hpp"
#include "outside/scheduler.hpp"
#include "workload/elastisim.hpp"

namespace ductile {

/// The text for --policy of the scheduler that is asked there, by the policy `name`; empty: where,
/// or as long, as usual. `option` is what errors name.
std::string outside_policy_text(const std::string& name, const std::string& option,
                                const std::string& endpoint, const std::string& timeout_s);

/// The scheduler that decides in the matrix, made ready for its run; null if none does. `study`:
/// whose jobs they are, if of one of ElastiSim. Throws InputError for what it cannot be told of, or
/// if it is not the only run, or of an array job.
OutsideScheduler* ready_outside(Matrix& matrix, std::shared_ptr<const ElastisimStudy> study,
                                bool is_shared, bool quiet);

/// What was left out, and how long it took; on the standard error.
void tell_outside(const OutsideScheduler& scheduler, bool quiet);

}  // namespace ductile
