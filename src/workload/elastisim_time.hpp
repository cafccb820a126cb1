// How long the phases of ElastiSim's applications take, on a machine that they have for themselves,
// and what they send over links that other jobs use as well.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "workload/elastisim_model.hpp"
#include "workload/formula.hpp"
#include "workload/simgrid.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A job as its tasks see it.
struct ElastisimShape {
  Nodes nodes = 1;
  std::uint32_t gpus = 0;  // of each node
  Variables variables;     // the job's arguments; num_nodes and the like are added
  /// Tasks seen that want what other jobs want as well: the file system or the backbone, where it
  /// is narrower than the nodes' links together.
  std::set<const ElastisimTask*> contended;
  /// What an iteration of the phase that was timed last sends there (`shared_links`), if that is
  /// to be known.
  std::vector<Stretch> stretches;
  bool shares_links = false;
};

/// Bytes/s of the links that jobs share: the backbone, then the ways from and to each host of the
/// file system.
std::vector<double> shared_links(const SimgridMachine& machine);

/// How often a phase is repeated.
std::uint64_t iterations_of(const ElastisimPhase& phase, const Variables& variables);

/// How long an iteration of the phase takes, in seconds, if nobody else uses the machine. It sets
/// the variables that say how large the job is: num_nodes, num_gpus_per_node, num_gpus; and adds to
/// `contended`. What goes on beside other things of the job is sent as slowly as is in time.
/// Throws InputError: a formula has no possible value, the machine lacks what the task
/// needs.
double time_of(const ElastisimPhase& phase, ElastisimShape& shape, const SimgridMachine& machine);

}  // namespace ductile
