// ductile policy-server
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command. It throws InputError.
void add_policy_server_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
