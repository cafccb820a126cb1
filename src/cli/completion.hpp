// `ductile completion`: what a shell needs to complete our commands and options.
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// After all others: it tells of those.
void add_completion_command(CLI::App& app, const Registry& registry);

}  // namespace ductile
