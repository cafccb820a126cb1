// ductile policies [NAME]
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError.
void add_policies_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
