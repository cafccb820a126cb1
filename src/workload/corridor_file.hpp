// Problems of power corridors as lines of JSON, and their solutions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "solver/corridor_problem.hpp"

namespace ductile {

struct CorridorInstance {
  CorridorProblem problem{};
  std::vector<WaitingForCorridor> waiting{};  // all of them are to be started
};

/// An instance from one line of JSON. Throws `InputError` with the line of `place` and the field.
/// Format: docs/formats/power-instance.md.
CorridorInstance parse_corridor_instance(std::string_view line, const Place& place);

/// The solution of a problem as one line of JSON, without its end.
std::string to_json(const CorridorProblem& problem, const CorridorSolution& solution);

}  // namespace ductile
