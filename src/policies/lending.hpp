// The terms on which this project's own policies let jobs start inside of others: where that gains
// more than it costs.
#pragma once

#include <vector>

#include "policies/registry.hpp"
#include "scheduling/mates.hpp"
#include "scheduling/timeline.hpp"

namespace ductile {

/// What a job gains or loses is the change of its believed end over its requested time to the power
/// of `weight`: at 0 that is response time, at 1 slowdown.
struct Lending {
  Sharing sharing{.factor = Decimal(0.75), .inside = false, .whole_sockets = false};
  double weight = 1;
  double margin = 1;       // the guest gains more than so many times what its mates lose
  bool free_nodes = true;  // it may have idle nodes besides those of its mates
  bool protects = true;    // no mate may be kept longer on nodes that are reserved

  /// Starts a waiting job inside of others, if that pays; `at` as in `start_as_guest`.
  bool start_inside(Pass& pass, MateFinder& finder, Timeline& plan, JobId id, Time at) const;

  bool operator==(const Lending&) const = default;
};

/// What these terms are by the parameters below.
Lending lending(const Parameters& parameters);
std::vector<ParameterInfo> lending_parameters();

}  // namespace ductile
