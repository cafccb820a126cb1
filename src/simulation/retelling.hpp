// A recorded run told once more to observers, as if it were simulated now.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "simulation/observer.hpp"
#include "simulation/replay.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The jobs of a log, as far as it tells: a job's true run time is the one it had, from its last
/// start to its end; that of a job without an end its walltime. What it truly draws is what was
/// measured. Logs have no names of accounts.
struct LogInput {
  Workload workload{};
  std::vector<CorridorLine> corridor{};  // that its policy was to keep; others are not told of one
};
LogInput input_of_log(std::istream& in, const std::string& name);

/// What a log has to tell besides its calls.
struct Retold {
  Replayed replayed;
  SimulationCounts counts;      // what resizes cost, and whom they killed, is not known, and 0
  SimulationSettings settings;  // the platform, the rules and the policy of the beginning
};

/// Replays (see `replay`) and makes the calls that observers of the run would have had, but for
/// those of `on_event`. `workload` is that of the log.
Retold retell(std::istream& in, const std::string& name, const PolicyMaker& make,
              const Workload& workload, std::span<Observer* const> observers);

}  // namespace ductile
