// The options of a simulation that say how jobs share nodes.
#pragma once

#include <CLI/CLI.hpp>

#include "simulation/simulation.hpp"

namespace ductile {

/// Adds --sockets-per-node, --ranks-per-node, --share-model, --believed-share-model, --contention,
/// --believed-contention and --share-cores. They are written to `settings`, which must live until
/// the command line is parsed.
void add_sharing_options(CLI::App& command, SimulationSettings& settings);

/// What they say fits the machine: whole sockets; and if a policy shares nodes, not too many cores.
void check_sharing(const SimulationSettings& settings, bool shares);

}  // namespace ductile
