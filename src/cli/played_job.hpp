// Jobs of a workload as `ductile workload play` submits them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "job/launcher.hpp"
#include "live/submission.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What the jobs of a workload run.
struct PlayedPrograms {
  /// By type, what users give, called from here; none: a program that takes the job's time.
  std::array<std::optional<Submission>, kJobTypeWords.size()> commands{};
  /// The same for the jobs that have none, without a program.
  Submission caller{};
  std::string timed{};  // examples/timed of this MPI; needed for jobs that are resized
  Mpi mpi = Mpi::none;
};

/// Makes of a workload that `check_can_be_played` what is played: all times, those between
/// submissions and those of jobs, are `speed` times shorter, and then `extra` is added to what is
/// requested. The first job comes at 0; no job can grow beyond the nodes. All are of one user, as
/// when they are submitted, and there are no barriers: returns how many jobs had one.
std::size_t prepare_to_play(Workload& workload, Nodes nodes, double speed, Duration extra);

/// Throws InputError if some of the jobs cannot be played on so many nodes, which says how many and
/// the first of them.
void check_can_be_played(const Workload& workload, Nodes nodes);

/// The job as it is submitted. One that is resized, or chooses its size at its start, takes as long
/// as the workload says that it truly takes at each size; phases with different models count as at
/// a size that stays. A command of a user finds the job's number in the workload, its size and its
/// run time (s) there in PLAY_JOB, PLAY_NODES and PLAY_RUNTIME_S. Throws InputError.
Submission played(const Workload& workload, const WorkloadJob& job, const PlayedPrograms& programs);

/// The call of `ductile submit` that does the same but for the environment; its time is rounded up
/// to whole seconds.
std::string submit_line(const Submission& submission);

}  // namespace ductile
