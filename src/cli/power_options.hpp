// The options of a simulation that say what nodes and jobs draw, between which bounds the machine
// shall, and what is measured of jobs.
#pragma once

#include <CLI/CLI.hpp>

#include "simulation/simulation.hpp"

namespace ductile {

/// Adds --node-power, --power-cap, --corridor, --violation-grace, --node-off-after, --power-delay,
/// --mtct,
/// --mtct-delay, --mtct-noise and --mtct-drift. They are written to `settings`, which must live
/// until the command line is parsed.
void add_power_options(CLI::App& command, SimulationSettings& settings);

}  // namespace ductile
