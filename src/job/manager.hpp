// The manager of one job: starts the program, resizes it when told to, passes on its output, its
// exit code and signals, and leaves nothing behind.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "job/run_settings.hpp"

namespace ductile {

struct RunResult {
  /// Of the program; 128 + signal if it ended by one.
  int exit_code = 0;
  std::uint32_t resizes = 0;
  /// Planned resizes that were given up.
  std::uint32_t aborted = 0;
  /// Planned resizes that the job did not live to see.
  std::uint32_t unplanned = 0;
  /// Bytes of its output that could not be written, on a full disk for example.
  std::uint64_t lost_output = 0;
  std::string output{};
};

/// The job has ended, but for processes that cannot be killed: what it has is not free.
class StillRunning : public RunError {
 public:
  using RunError::RunError;
};

/// Runs the job to its end. InputError if the settings do not fit together; RunError if the program
/// cannot be started; StillRunning.
RunResult run_job(const RunSettings& settings);

}  // namespace ductile
