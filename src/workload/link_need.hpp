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
/// bandwidth. A job that would take more than that with the nodes that it asks for asks for fewer:
/// for as many as are within it. One that cannot have so few takes all of it. Walltimes go along,
/// but for those that hold whatever the size. Does any need some?
bool budget_links(Workload& workload, double budget);

/// The least that can be said of a node, for 0 is unknown.
constexpr double kLeastWatts = 1e-3;

/// What a node of a running job takes of that budget in this phase; `kLeastWatts` of nothing.
double link_watts(const Workload& workload, const AdaptiveJob& job, const Phase& phase);

}  // namespace ductile
