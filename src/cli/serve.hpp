// ductile serve
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "live/serve.hpp"
#include "policies/registry.hpp"

namespace ductile {

/// What a program says that serves goes to stderr, with the time of each line. `verbosity`: 0 or
/// more.
void set_up_serve_log(int verbosity);

/// What is served.
enum class Cluster { local, slurm };
/// `serve` of live/serve.hpp, and its like for another cluster.
using Serve = std::function<void(const ServeSettings& settings, const Registry& registry,
                                 const std::function<ServeSettings()>& reload)>;

/// Adds the command; it serves until it is told to end when `app` is parsed. It throws InputError
/// and RunError.
void add_serve_command(CLI::App& app, const Registry& registry, Cluster cluster = Cluster::local,
                       Serve serve = ductile::serve);

}  // namespace ductile
