// On which processors processes that run already may run.
#pragma once

#include <optional>
#include <string>

#include "base/node_set.hpp"

namespace ductile {

/// The processors on which this process may run.
NodeSet own_cpus();

/// Those of `cpus` on which the kernel would let this process run: not those that are offline, or
/// outside of the cpuset of its container.
NodeSet allowed_cpus(const NodeSet& cpus);

/// A library of this process uses OpenMP, which binds the process to one processor if OMP_PROC_BIND
/// asks for that. It is meant for programs that this process starts: it may run on all processors
/// again on which there are OpenMP's places.
void undo_openmp_binding();

/// Which threads are to be set.
enum class Affinity {
  all,      // to exactly these processors
  outside,  // only those that may run on others
};

/// Sets that of all threads of all descendants of this process, and of those that they start
/// meanwhile. Returns why the kernel refused it to one that still runs; nothing if it did not.
std::optional<std::string> set_affinity_of_descendants(const NodeSet& cpus,
                                                       Affinity which = Affinity::all);

}  // namespace ductile
