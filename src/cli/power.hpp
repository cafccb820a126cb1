// ductile power: how much the machine may draw, and who has it.
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it asks the controller when `app` is parsed. Throws InputError and RunError.
void add_power_command(CLI::App& app);

}  // namespace ductile
