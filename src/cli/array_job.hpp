// A matrix of runs as an array job of Slurm.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "experiment/run.hpp"

namespace ductile {

/// Submits `tasks` calls of `command` as it was parsed, as `simulate --on task`, by `sbatch`, and
/// waits for their end; `out` has their script and what they say. Throws InputError if there is no
/// sbatch, Stopped if the user has asked to stop; how they end does not matter here.
void run_array_job(const CLI::App& command, const std::filesystem::path& out, unsigned tasks,
                   bool quiet);

/// Takes the results that tasks have of runs of this matrix into its own. How many are not over.
std::size_t take_results_of_tasks(const Matrix& matrix);

/// Tells tasks which runs of this matrix are over, and which are not.
void ready_claims(const Matrix& matrix);

/// Removes what tasks have left.
void remove_tasks(const std::filesystem::path& out);

/// The name of this task of an array job, as nobody else has it. Throws InputError if this is none.
std::string task_name();

/// Where a task writes and claims, within the folder of the results.
std::filesystem::path folder_of_task(const std::filesystem::path& out, const std::string& task);
std::filesystem::path folder_of_claims(const std::filesystem::path& out);

}  // namespace ductile
