// ductile reproduce
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError, RunError and Stopped.
void add_reproduce_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
