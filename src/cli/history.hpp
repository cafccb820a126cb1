// ductile history
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it asks the controller and prints, or writes a page, when `app` is parsed. It
/// throws InputError and RunError. The registry outlives the app.
void add_history_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
