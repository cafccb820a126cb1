// This process: its age, and being asked to stop.
#pragma once

#include <atomic>
#include <stdexcept>

namespace ductile {

/// The user asked to stop, and what was done so far is in order: exit code 1.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Wall clock since the process began. What passed before `main` is taken from the processor time
/// used until the first call, which is the same but for waiting: call it first thing in `main`.
double process_seconds();

/// From now on SIGINT and SIGTERM set the flag that is returned. A second one ends the process.
const std::atomic<bool>& stop_on_signal();

}  // namespace ductile
