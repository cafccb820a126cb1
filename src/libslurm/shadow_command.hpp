// ductile-slurm shadow, ductile-slurm shadow-report
#pragma once

#include <CLI/CLI.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// Adds both. They throw InputError and RunError.
void add_shadow_commands(CLI::App& app, const Registry& registry);

}  // namespace ductile
