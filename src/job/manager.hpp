// The manager of one job: starts the program, resizes it when told to, passes on its output, its
// exit code and signals, and leaves nothing behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "job/launcher.hpp"
#include "job/resize.hpp"
#include "job/resource_limits.hpp"

namespace ductile {

/// A resize that is to come by itself.
struct PlannedResize {
  /// Since the job began or, with `after_previous`, since the resize before this one was over.
  std::chrono::milliseconds time{};
  std::uint32_t size = 1;
  bool after_previous = false;
};

/// A start that somebody waits for and that takes longer is told.
inline constexpr std::chrono::seconds kSlowStart{5};

/// Who answers when a program asks for another size: somebody at the control socket, or nobody.
enum class Evolving { grant, deny, ask };

struct RunSettings {
  Launcher launcher{};
  /// Processes: at first, and the range of resizes.
  std::uint32_t size = 1;
  std::uint32_t min = 1;
  std::uint32_t max = wire::kMaxProcesses;
  /// A rigid job is never resized.
  bool is_rigid = false;
  /// The program is a script that is started once, not once for each process: those are for its
  /// steps, which are programs that it starts by `ductile run`, one after another. Their cores
  /// each.
  bool has_steps = false;
  std::uint32_t step_cores = 0;
  /// This run is a step: a connection to the manager of the script; negative if it is none.
  int step_fd = -1;
  /// Where its processes find the manager: a numeric address of this host.
  std::string listen = "127.0.0.1";
  /// Path of a Unix socket that takes orders; none if empty.
  std::string control{};
  /// Instead of it, one that listens already: a descriptor; none if negative.
  int control_fd = -1;
  /// Where the processes run on this host; anywhere if empty. An order may say otherwise.
  NodeSet cpus{};
  std::vector<PlannedResize> plan{};
  Evolving evolving = Evolving::grant;
  Resize::Limits limits{};
  /// How long an old generation may take to leave, and a job to end after SIGTERM.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  /// Resource limits of the program.
  ResourceLimits resources{};
  /// How often to tell what share of its time the program spends in MPI; never if 0. The launcher
  /// has to preload libductile-measure.
  std::chrono::milliseconds measure{};
  /// Folder of the energy counters of this host, told with it.
  std::string power_from = "/sys/class/powercap";
  /// File that gets one JSON object per line for everything that happens; none if empty.
  std::string report{};
  /// File that gets the timeline of all resizes, a Chrome trace; none if empty.
  std::string trace{};
  /// Keep what the job writes to stdout, besides passing it on.
  bool keep_output = false;
  bool pass_output = true;
};

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

/// Whether this process belongs to a script with steps, and has become the next one. It gives the
/// connection, sizes and places of it; RunError if it cannot be one now.
bool become_step(RunSettings& settings);

/// Sends one order, a JSON object on one line, to the socket of `ductile run --control`, and
/// returns the line that comes back. InputError if nobody listens there; RunError if the job ends
/// without an answer.
std::string ask_manager(const std::string& socket, const std::string& order);

}  // namespace ductile
