// The clock of a machine since its start. It goes on while the machine sleeps, all processes of the
// machine read the same one, and setting the clock on the wall does not move it.
#pragma once

#include <chrono>
#include <string>

namespace ductile {

/// Since the machine was started.
std::chrono::microseconds boot_time();
/// Which of its starts that was; empty where the system does not tell.
std::string boot_id();
/// Since the epoch, by the clock on the wall. For people alone: it may be set at any moment.
std::chrono::microseconds wall_time();

}  // namespace ductile
