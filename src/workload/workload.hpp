// A workload: the jobs of a run in order of submission, with the truth that only the world knows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/shared_list.hpp"
#include "base/time.hpp"
#include "model/dependency.hpp"
#include "model/job_spec.hpp"
#include "model/links.hpp"
#include "model/platform.hpp"
#include "model/where.hpp"

namespace ductile {

/// An evolving request to come: once `progress` of the work is done the job asks for `delta` nodes
/// more (or fewer) and takes no less than `at_least` of them.
struct EvolvingStep {
  double progress = 0;  // share of the work done, 0 .. 1
  std::int32_t delta = 0;
  Nodes at_least = 0;
  /// Instead of `delta`: the size it wants, by the size it has from the job's smallest on. It asks
  /// for nothing if it has that.
  SharedList<Nodes> wanted = {};
  /// It asks only if its last request was denied: a second attempt.
  bool if_denied = false;
  /// When this is granted and the job has its new size, so much of all its work (a share of it)
  /// need not be done any more. Negative: is to be done besides, no more than `progress`.
  double saves = 0;
  /// Above 0, instead of `progress`: when so many iterations of its phases are done. What it asks
  /// for there can be done there; if it is resized there anyway, it asks for nothing.
  std::uint64_t iterations = 0;

  bool operator==(const EvolvingStep&) const = default;
};

/// A part of an iteration, or of what a resize costs, in which the same is under way over links
/// that all jobs share (`Workload::links`).
struct Stretch {
  double until = 1;  // share of the whole time that is over at its end, 0 .. 1
  /// The most of each is how fast it is when nobody else is there. When they are slower than that,
  /// by the slowest of them, the job is.
  std::vector<Flow> flows{};

  bool operator==(const Stretch&) const = default;
};
using Stretches = SharedList<Stretch>;  // in order

/// What a change of size costs by measurement, in seconds, besides a `ReconfigurationCost`.
struct ResizeCosts {
  SharedList<double> after_s;   // by the new size, from the job's smallest on
  SharedList<double> growth_s;  // by how many nodes are new, from 1 on
  /// What is sent then, in this order; empty: nothing.
  SharedList<Stretches> after = {}, growth = {};

  bool operator==(const ResizeCosts&) const = default;
};

/// As a model: times in seconds by size, from `first` on. A model has none below a microsecond, so
/// shorter ones are that.
Speedup measured_speedup(std::span<const double> times_s, Nodes first);

/// A part of what a job does, from the end of the one before it: equal iterations of the same kind.
struct Phase {
  double until = 1;               // share of the job's work done at its end, 0 .. 1
  Speedup speedup;                // true
  std::uint32_t iterations = 1;   // at least 1
  bool scheduling_points = true;  // at the end of each iteration
  /// Measured, instead of what share and model say: how many seconds one iteration takes, by size
  /// from the job's smallest on.
  SharedList<double> times_s = {};
  /// What an iteration sends over links that are shared, by size as well; empty: nothing.
  SharedList<Stretches> stretches = {};

  /// How its time depends on the size of a job that has `least` nodes at least.
  Speedup model(Nodes least) const;

  bool operator==(const Phase&) const = default;
};

/// What a job has besides if it is not rigid, or not of the usual priority, of an account, or says
/// itself where it may run.
struct AdaptiveJob {
  JobType type = JobType::malleable;
  SizeRange size;
  std::int32_t priority = 0;        // higher goes first
  bool barrier = false;             // while it waits no job without this is started
  std::uint32_t account = 0;        // place in `Workload::accounts` plus 1; 0: none
  std::uint32_t asked = 0;          // place in `Workload::asked` plus 1; 0: it asks for nothing
  AdaptiveSpec believed;            // told to the scheduler
  Speedup speedup;                  // true, unless there are phases
  ReconfigurationCost cost;         // true,
  ResizeCosts costs;                //   and what it takes besides
  double watts = 0;                 // what a node truly draws; 0: the most that is believed
  std::vector<EvolvingStep> steps;  // in order of progress
  std::vector<Phase> phases;        // in order; the last one goes to the end

  /// What a change of size truly costs, with so many nodes replaced by others besides.
  Duration resize_cost(Nodes from, Nodes to, Nodes replaced = 0) const;
  /// How many nodes more (or fewer) a step asks for at a size: never out of the job's range. 0: it
  /// does not ask.
  std::int32_t delta_of(const EvolvingStep& step, Nodes has) const;

  bool operator==(const AdaptiveJob&) const = default;
};

/// One job. 56 bytes: ten million of them are half a gigabyte.
struct WorkloadJob {
  static constexpr std::uint32_t kRigid = ~0u;

  std::uint64_t name = 0;
  Time submit{};
  Duration runtime{};                 // true, at `nodes`
  Duration walltime{};                // requested
  Nodes nodes = 0;                    // the size asked for
  std::uint32_t user = 0, group = 0;  // 0: not known
  std::uint32_t adaptive = kRigid;    // row of Workload::adaptive
  std::uint32_t where = 0;            // place in Workload::where plus 1; 0: it asks for none
  std::uint16_t cores = 0;            // that it can use of each of its nodes; 0: all
  Bound bound = Bound::mixed;         // by what it loses on nodes that it shares

  /// Jobs of unknown users have nothing in common.
  bool has_user() const { return user != 0; }
  bool operator==(const WorkloadJob&) const = default;
};

/// Something that has to come before a job comes to the scheduler. All that a job waits for has to.
struct Precedence {
  /// Who says so: a line of the log, a line beside it, or the session of the job's user.
  enum class From : std::uint8_t { log, beside, session };

  std::uint32_t job = 0, on = 0;  // places in Workload::jobs: this one waits for that one
  Dependency::Kind kind = Dependency::Kind::afterany;
  From from = From::log;
  bool sets_submit = false;  // its user submits it then, whatever its submit time
  Duration think{};          // so long after the other one came so far
  std::uint64_t line = 0;    // of the file that says so

  bool operator==(const Precedence&) const = default;
};

/// Lines of the input that did not become jobs, by cause.
struct Skipped {
  std::uint64_t no_size = 0;         // neither requested nor allocated processors
  std::uint64_t no_runtime = 0;      // run time unknown, or 0 and no minimum given
  std::uint64_t never_started = 0;   // --never-started drop
  std::uint64_t too_large = 0;       // larger than the machine
  std::uint64_t other_status = 0;    // --status
  std::uint64_t above_max_size = 0;  // --max-size
  std::uint64_t not_allowed = 0;     // their partition allows no such walltime, size or user
  std::uint64_t nowhere = 0;         // no node of their partition has what they ask for
  /// Of another partition, user, group, time, run time or a smaller size than asked for; not
  /// counted in total().
  std::uint64_t filtered = 0;

  std::uint64_t total() const {
    return no_size + no_runtime + never_started + too_large + other_status + above_max_size +
           not_allowed + nowhere;
  }
};

struct Workload {
  std::string name;               // of the file or the generator
  std::vector<WorkloadJob> jobs;  // by (submit, position in the input)
  std::vector<AdaptiveJob> adaptive;
  std::vector<std::string> accounts;    // their names
  std::vector<AskedWhere> asked;        // what rows of `adaptive` ask for, in words
  std::vector<Where> where;             // what jobs ask for on the platform of the run, each once
  std::vector<Precedence> precedences;  // by job; most workloads have none
  std::vector<double> links;            // that jobs share: bytes/s of each
  /// When each job ended, as the log says, and how long users think within a session: where
  /// sessions are wanted, and until flurries are taken out; else empty.
  std::vector<Time> log_ends;
  Duration longest_think{};
  /// When users submitted their jobs, which come to the scheduler when nothing has to come before
  /// them any more (`WorkloadJob::submit`). Empty: at once. Of a run, see `Arrivals`.
  std::vector<Time> user_submits;
  Skipped skipped;
  std::uint64_t names_preceding = 0;   // jobs that name a preceding one (SWF field 17)
  std::uint64_t precedences_lost = 0;  // on jobs that are not among `jobs`: they do not count
  std::uint64_t clipped = 0;           // --clip: larger than the machine, made as large as it
  std::uint64_t walltime_raised = 0;   // requested less than it ran (overrun: extend)
  std::uint64_t walltime_unknown = 0;  // no time requested: the run time taken for it

  /// How many of the jobs are not rigid.
  std::uint64_t adapting() const;
};

}  // namespace ductile
