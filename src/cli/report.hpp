// ductile report DIR...
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError and RunError.
void add_report_command(CLI::App& app);

}  // namespace ductile
