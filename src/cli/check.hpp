// ductile check
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it reads the folder of a controller's state and prints when `app` is parsed.
/// It throws InputError, and RunError if something is damaged.
void add_check_command(CLI::App& app);

}  // namespace ductile
