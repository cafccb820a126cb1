// ductile-slurm watch
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it watches until it is told to end when `app` is parsed.
void add_watch_command(CLI::App& app);

}  // namespace ductile
