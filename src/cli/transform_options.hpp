// The options of every command that changes a workload.
#pragma once

#include <CLI/CLI.hpp>

#include "workload/transform.hpp"

namespace ductile {

/// Adds --arrival-scale, --speed-factor, --malleable, --moldable, --evolving, --reconfiguration and
/// --estimates. They are written to `transform`, which must live until the command line is parsed.
void add_transform_options(CLI::App& command, Transform& transform);

}  // namespace ductile
