// How far a job is, the simple way: in small fixed steps of time, in seconds, with floating-point
// numbers. Written from what phases, models, scheduling points and costs mean, not from the world.
#pragma once

#include <optional>
#include <vector>

#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

/// One life of a job, as somebody who watches sees it: one that is suspended goes on in it.
struct Life {
  /// Something the scheduler or the machine did to it.
  struct Act {
    double at_s = 0;
    Nodes size = 0;     // asked for, and taken; what it has, if it lost nodes
    bool lost = false;  // nodes: at once, and a resize under way is off
    bool refused = false;
    bool grants = false;  // what the job asked for; all of its requests save the same
    bool suspends = false;
    bool goes_on = false;  // it was suspended, and is started with `size`
  };
  double start_s = 0;
  Nodes size = 0;
  std::vector<Act> acts;  // in order
  double end_s = 0;       // by whatever cause; the naive job goes on beyond it to its own end
};

/// What a job does by itself.
struct NaiveRun {
  double end_s = 0;               // of its work
  std::vector<double> asked_s;    // evolving requests
  std::vector<double> resized_s;  // what was asked for and not refused, as far as it came;
                                  // and when it was suspended
  bool is_unsure = false;  // something came so soon after a scheduling point, or before one, that
                           // it is a matter of rounding whether it came there
};

/// In steps of `step_s`; `how` has a delay of a fixed time.
NaiveRun naive_run(const WorkloadJob& job, const AdaptiveJob& more, const ResizeBehaviour& how,
                   const Life& life, double step_s);

}  // namespace ductile::testing
