// Random runs in which all kinds of jobs meet all kinds of trouble.
#pragma once

#include <cstdint>

#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

struct Trouble {
  Workload workload;
  SimulationSettings settings;  // without a policy
};

/// Jobs of all types, in a world that delays, refuses, loses and repeats what it is told, and whose
/// nodes fail. Linear jobs that pay nothing for resizes, so that their work can be counted.
Trouble random_trouble(std::uint64_t seed);

}  // namespace ductile::testing
