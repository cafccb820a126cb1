// Random runs with all kinds of jobs in a world where everything goes wrong.
#pragma once

#include <cstdint>

#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

/// The settings lack a policy.
struct Trouble {
  Workload workload;
  SimulationSettings settings;
};

/// Linear jobs that pay nothing for resizes, so that their work can be counted. Resizes are
/// delayed, refused, lost, done partly, answered twice; starts take time and fail; nodes fail. At
/// last the trouble is over.
Trouble random_trouble(std::uint64_t seed);

}  // namespace ductile::testing
