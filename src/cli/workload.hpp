// ductile workload info|generate
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError and RunError.
void add_workload_command(CLI::App& app);

}  // namespace ductile
