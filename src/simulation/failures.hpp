// When nodes fail, drain and come back: from a file, or from a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/simulation.hpp"

namespace ductile {

/// Reads lines "TIME_S down|draining|up NODES", for example "3600 down 0-3,7"; '#' begins a
/// comment. The nodes are those of a machine of `nodes`. Sorted by time; lines of one time keep
/// their order. Throws `InputError` with line and field. Format: docs/formats/failures.md.
std::vector<NodeEvent> read_failures(const std::string& path, Nodes nodes);

/// Each node fails and is repaired on its own; both times are exponential (the usual renewal
/// model).
struct FailureModel {
  Duration mtbf{};    // mean time from a repair to the next failure of a node; positive
  Duration repair{};  // mean time from a failure to the repair; positive
};

/// Failures from `begin` to `end`, and the repairs of all of them. A node's times do not depend on
/// the other nodes, nor on `end`. Throws `InputError` where more than 10^7 are to be expected.
std::vector<NodeEvent> generate_failures(const FailureModel& model, Nodes nodes, Time begin,
                                         Time end, std::uint64_t seed);

/// The same, and each node drains from `warn` before it fails, or from `begin` or its repair where
/// that is later. `events` are in order of time; so is the result. All nodes are up at `begin`.
std::vector<NodeEvent> with_warnings(std::vector<NodeEvent> events, Duration warn, Time begin);

}  // namespace ductile
