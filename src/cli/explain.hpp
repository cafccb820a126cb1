// ductile explain
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it asks the controller, or reads a log, and prints when `app` is parsed. It
/// throws InputError and RunError.
void add_explain_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
