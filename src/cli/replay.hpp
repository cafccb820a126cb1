// ductile replay LOG
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError for a log that was cut or altered and RunError where this build decides otherwise.
void add_replay_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
