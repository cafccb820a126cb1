// ductile power solve: sizes of running jobs that keep the power in a corridor.
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command to `power`; it solves when it is parsed. Throws InputError and RunError.
void add_power_solve_command(CLI::App& power);

}  // namespace ductile
