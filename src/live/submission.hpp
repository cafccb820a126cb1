// What a user wants to be run: what `ductile submit` sends and the journal keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/size_range.hpp"
#include "base/time.hpp"
#include "job/kind.hpp"
#include "job/launcher.hpp"
#include "job/resource_limits.hpp"
#include "job/script_settings.hpp"
#include "live/conditions.hpp"
#include "model/job_spec.hpp"
#include "model/platform.hpp"
#include "model/speedup.hpp"
#include "model/where.hpp"
#include "scheduling/state.hpp"

namespace ductile {

/// A job as its user wrote it. Sizes are in nodes.
struct Submission {
  std::string name{};
  JobType type = JobType::rigid;
  Nodes nodes = 1;                      // the size asked for
  Nodes min = 0, max = 0;               // 0: not given
  Duration walltime{};                  // 0: the controller's default
  std::uint32_t tasks_per_node = 0;     // processes of an MPI on each node; 0: as many as fit
  std::uint32_t cores_per_process = 0;  // which it keeps to; 0: not given, one is counted
  std::uint64_t memory = 0;             // bytes on each node; 0: the controller's default
  std::string partition{};              // any of these, "A,B"; empty: the first one
  std::string things{};                 // of each node, "gpu:2"
  std::string only{}, never{};          // nodes, "0-3,7"
  std::string features{};               // of each node, all of these: "ib,avx512"
  std::string qos{};                    // quality of service; empty: none
  std::uint64_t memory_per_core = 0;    // bytes of each core that it has; `memory` follows from it
  std::optional<std::uint32_t> user{};  // whose it is, where partitions are for some users only
  std::string reservation{};            // by its name; empty: none
  BookingId booking = BookingId::none;  // which one that was when the controller looked
  std::int32_t priority = 0;
  std::optional<std::int32_t> given_priority{};  // by an operator: its user may ask for no more
  std::string account{};                         // who pays; empty: nobody is named
  Speedup model{};
  SizeConstraint sizes{};
  double watts = 0;        // of a node of the first class, at most; 0: what its class says
  double least_watts = 0;  // and at least; 0: as much
  bool is_held = false;
  std::vector<Dependency> dependencies{};
  Time begin{};              // not before; the epoch: at once
  TaskArray array{};         // it is submitted once for each task
  bool is_requeued = false;  // when a node, or its manager, is lost
  Mpi mpi = Mpi::none;
  JobKind kind = JobKind::mpi;             // mpi: what `mpi` says; or one with a method of its own
  ScriptSettings told{};                   // of `script` and `restart`
  std::string script{};                    // its text; empty: `program` is a file
  std::vector<std::string> program{};      // with its arguments
  std::string folder{};                    // where it runs
  std::string output{}, error{};           // files, see `file_name`; no `error`: with the output
  std::string input{};                     // a file as these, which it reads; nothing if empty
  std::vector<std::string> environment{};  // "NAME=value"
  std::string called_in{};                 // the folder of the call; empty: `folder`
  std::optional<mode_t> umask{};
  ResourceLimits limits{};
  std::optional<std::vector<gid_t>> groups{};  // of its user, as the controller has seen them
  std::string impossible{};                    // why it cannot run here, or can no longer
  std::string unkept{};                        // why the world cannot run it, as that has said
  bool is_stand_in = false;  // and never will: this is what is kept of one that cannot be read

  bool has_threads() const { return kind == JobKind::threads; }
  /// Is it a script that runs once, and whose steps are resized?
  bool has_steps() const;
  /// What its manager is told.
  JobKind kind_of_run() const;
  /// How long an answer to an order for a size may take, as its user says; 0: he does not.
  Duration answers_within() const;
  /// Can it be suspended, as far as it is known?
  bool keeps_data() const;
  /// Processes on each node of this machine, or cores of a job of threads: as many as the smallest
  /// of those that it may have has room for.
  std::uint32_t processes_per_node(const Platform& platform) const;
  /// The same on nodes with so many cores.
  std::uint32_t processes_on(std::uint32_t cores) const;
};

/// The words of the fields are those of the options of `ductile submit`.
nlohmann::ordered_json to_json(const Submission& submission);
/// The nodes on which alone it may run, and those on which it may not: "0-3" and "2". Lists that
/// mean the same are equal.
struct NodeLists {
  std::string only{}, never{};
  bool empty() const { return only.empty() && never.empty(); }
  auto operator<=>(const NodeLists&) const = default;
};
NodeLists lists_of(const Submission& submission);
/// Checks all of it: who sends it may be anybody. Throws InputError, which names the field.
Submission submission_from_json(const nlohmann::ordered_json& json);

/// What is kept of one that `submission_from_json` would not take. An array of too many tasks is
/// one job.
Submission stand_in_for(const Submission& submission);

/// What the core is told of it. Throws InputError if it can never run on this platform.
JobSpec spec_of(const Submission& submission, const Platform& platform);
/// Makes memory that is asked for by the core what that is on each node: of the cores that it asks
/// for, or of those of the node with the fewest where it may run.
void count_memory_by_node(Submission& submission, const Platform& platform);
AdaptiveSpec adaptive_spec_of(const Submission& submission);
/// Where it may run on this platform. Throws InputError.
Where where_of(const Submission& submission, const Platform& platform);

/// Until when a job has what it asked for that has held so many nodes since each of these times, if
/// it depends on their number as its user has declared. 0 nodes: it waited again.
Time asked_until(const Submission& submission, std::span<const std::pair<Time, Nodes>> sizes);
/// What is left at this size of what its user asked for, of a job that has had so much at speed 1:
/// by the model that he declared, and no less than what is left of the time itself.
Duration asked_left(const Submission& submission, std::span<const TimeHad> had, Nodes size);

/// What a job is called. Tasks of an array have a number each, as all jobs; that of the first one
/// is the array's.
struct JobNames {
  std::uint64_t number = 0;
  std::string name{};
  std::uint64_t array = 0;  // 0: it belongs to none
  std::uint32_t task = 0;

  bool is_of_array() const { return array != 0; }
  /// "12", or "12_3" for a task.
  std::string text() const;
};

/// `pattern` with the job's number for %j, its name for %x, the array's number for %A (its own, if
/// it belongs to none), the task's for %a, and % for %%.
std::string file_name(std::string_view pattern, const JobNames& names);

/// What a node draws on which it computes, "250", or from least to most, "150-250". Throws
/// InputError.
struct WattRange {
  double least = 0, most = 0;  // no `least`: it is not told
};
WattRange parse_watts(std::string_view text);

/// How many nodes, as Slurm writes it: N, or MIN-MAX.
struct NodeRange {
  Nodes first = 1, last = 1;
  bool is_range = false;
};
/// Throws InputError.
NodeRange parse_nodes(std::string_view text);

/// "[D-]HH:MM:SS" or "MM:SS", as Slurm shows them; whole seconds.
std::string limit_text(Duration duration);

}  // namespace ductile
