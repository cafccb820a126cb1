// `ductile-slurm serve`: the controller with a partition of Slurm as its world.
#pragma once

#include <functional>

#include "live/serve.hpp"
#include "policies/registry.hpp"
#include "slurm/slurm.hpp"

namespace ductile {

/// As `serve` of live/serve.hpp.
void serve_slurm(const ServeSettings& settings, const Registry& registry,
                 const std::function<ServeSettings()>& reload, Slurm& slurm);

}  // namespace ductile
