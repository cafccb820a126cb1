// ductile http
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it serves until it is told to end when `app` is parsed. It throws InputError
/// and RunError.
void add_http_command(CLI::App& app);

}  // namespace ductile
