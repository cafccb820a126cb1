// ductile serve
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it serves until it is told to end when `app` is parsed. It throws InputError
/// and RunError.
void add_serve_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
