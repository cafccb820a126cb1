// Runs of the hostile world as logs.
#pragma once

#include <string>

#include "support/hostile_world.hpp"

namespace ductile::testing {

/// What the world's journal has so far, as a log without its last line (`sealed_log` adds it). Only
/// while no policy but random ones was asked: before `HostileWorld::settle`.
std::string log_lines(const HostileWorld& world);

}  // namespace ductile::testing
