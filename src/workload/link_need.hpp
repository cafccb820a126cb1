// What jobs need of the links that all jobs share.
#pragma once

#include "workload/workload.hpp"

namespace ductile {

/// What a node of the job takes of the bandwidth of the links while a phase goes on: a share of
/// it, in the mean over an iteration that nobody slows down, of the link of which it takes most, at
/// the size at which that is most. So `n` nodes are believed to take no less than they do. 0: it
/// sends nothing. At most 1.
double link_need(const Workload& workload, const AdaptiveJob& job, const Phase& phase);

/// The same in the phase in which that is most.
double link_need(const Workload& workload, const AdaptiveJob& job);

/// Of a budget of bandwidth (`Budget::bandwidth`) all of it is so many "watts".
constexpr double kWattsOfLinks = 1e6;

/// Makes what jobs need of the links what they take of such a budget, which is this share of the
/// bandwidth. A job that would take more than all of it with the nodes that it asks for asks for as
/// many as are within it, and if these are fewer than it can have, takes all of it. Does any need
/// some?
bool budget_links(Workload& workload, double budget);

/// What a running job takes of that budget in this phase; above 0, for 0 is unknown.
double link_watts(const Workload& workload, const AdaptiveJob& job, const Phase& phase);

}  // namespace ductile
