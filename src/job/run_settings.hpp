// What is said of a job when it is started.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/node_set.hpp"
#include "job/kind.hpp"
#include "job/launcher.hpp"
#include "job/resize.hpp"
#include "job/resource_limits.hpp"
#include "job/script_settings.hpp"

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

/// Of Slurm, in which a run is: its number, and where the controller is that resizes it, as
/// `connect_to_controller` takes it.
struct InJob {
  std::uint64_t number = 0;
  std::string controller{};
};

struct RunSettings {
  Launcher launcher{};
  JobKind kind = JobKind::mpi;
  /// Processes, or what the kind counts: at first, and the range of resizes.
  std::uint32_t size = 1;
  std::uint32_t min = 1;
  std::uint32_t max = wire::kMaxProcesses;
  /// A rigid job is never resized.
  bool is_rigid = false;
  /// Of threads: the size may be more than there are cores.
  bool oversubscribes = false;
  /// Of the steps of a script: their cores each.
  std::uint32_t step_cores = 0;
  /// Of a program that is told its size without a library of ours.
  ScriptSettings script{};
  /// This run is a step (step.hpp): a connection to who has its nodes; negative if there is none.
  int step_fd = -1;
  /// The job whose controller that is, and is come to again while there is no connection.
  std::optional<InJob> in_job{};
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
  /// A file that is there, into which the program's data goes when it is suspended; none if empty.
  std::string keep{};
  /// Such a file of before: the program goes on with what is in it.
  std::string go_on{};
  /// How long an old generation may take to leave, and a job to end after SIGTERM.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  /// Resource limits of the program.
  ResourceLimits resources{};
  /// How often to tell what share of its time the program spends in MPI; never if 0. The launcher
  /// has to preload libductile-measure.
  std::chrono::milliseconds measure{};
  /// How often to tell what power it draws, of any program; never if 0, but with the share.
  std::chrono::milliseconds power{};
  /// Folder of the energy counters of this host.
  std::string power_from = "/sys/class/powercap";
  /// Files of which each says what a node of the job draws (job/watt_files.hpp); none if empty.
  std::string watts_from{};
  /// Its nodes, for that: until an order says others. Empty: its hosts, or this one.
  NodeSet nodes{};
  /// File that gets one JSON object per line for everything that happens; none if empty.
  std::string report{};
  /// File that gets the timeline of all resizes, a Chrome trace; none if empty.
  std::string trace{};
  /// Keep what the job writes to stdout, besides passing it on.
  bool keep_output = false;
  bool pass_output = true;
};

}  // namespace ductile
