// A run that is a step of something larger: of a script, whose manager has the nodes
// (script_steps.hpp), or of a job of Slurm's, which a controller resizes. Who has the nodes says
// which size and which places it has, and gives orders from then on by the same connection.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "job/run_settings.hpp"

namespace ductile {

/// Where steps find the manager of their script.
inline constexpr const char* kStepsVariable = "DUCTILE_STEPS";
/// And in a job of Slurm's the controller: the path of its socket, or HOST:PORT.
inline constexpr const char* kControllerVariable = "DUCTILE_CONTROLLER";

/// Whether this process belongs to a script with steps, and has become the next one. It gives the
/// connection, sizes and places of it; RunError if it cannot be one now.
bool become_step(RunSettings& settings);

/// The run of `settings.in_job` comes to its controller, which gives the same. Empty; or why there
/// is nothing of that: the controller refuses, or is not there.
std::string join_job(RunSettings& settings);

/// What a program in a job says first, and says again to a controller that it comes to later, then
/// with its state (`Manager::status`).
nlohmann::ordered_json words_of_job(const InJob& job);

}  // namespace ductile
