// The options of every command that changes a workload.
#pragma once

#include <CLI/CLI.hpp>

#include "workload/transform.hpp"

namespace ductile {

/// Adds --flurry, which says what one is. It is written to `flurry`.
CLI::Option* add_flurry_option(CLI::App& command, FlurrySettings& flurry);

/// Adds --remove-flurries, --flurry, --shuffle, --load, --arrival-scale, --speed-factor,
/// --malleable, --moldable, --evolving, --reconfiguration and
/// --estimates, and --bound. They are written to `transform`, which must live until the command
/// line is parsed.
void add_transform_options(CLI::App& command, Transform& transform);

}  // namespace ductile
