// ductile reserve: nodes kept for maintenance or for some jobs, and power kept from all.
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it asks the controller when `app` is parsed. Throws InputError and RunError.
void add_reserve_command(CLI::App& app);

}  // namespace ductile
