// On which processors processes that run already may run.
#pragma once

#include <cstddef>

#include "base/node_set.hpp"

namespace ductile {

/// The processors on which this process may run.
NodeSet own_cpus();

/// Which threads are to be set.
enum class Affinity {
  all,      // to exactly these processors
  outside,  // only those that may run on others
};

/// Sets that of all threads of all descendants of this process, and of those that they start
/// meanwhile. Returns how many processes there were.
std::size_t set_affinity_of_descendants(const NodeSet& cpus, Affinity which = Affinity::all);

}  // namespace ductile
