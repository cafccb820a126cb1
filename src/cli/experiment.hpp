// An experiment file as a series of calls of `simulate`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/results.hpp"
#include "experiment/reproduction.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Runs one matrix from options as "--name=value", and returns its summaries, which have the name
/// of the variant, all policies of a seed together; `results`: where its results are kept.
using SimulateVariant =
    std::function<std::vector<Summary>(const std::vector<std::string>& options,
                                       const std::string& variant, const ResultsPlace& results)>;

/// Runs all variants of the file and prints its statements beside what came out. `given` is the
/// command as it was parsed: its options go before those of the file. `simulate` prints the table
/// of its matrix. Throws InputError with the file's place.
void run_experiment(const std::string& file, const CLI::App& given, bool json,
                    const SimulateVariant& simulate);

/// The same, printing nothing; if it is said which statements are wanted, of the runs that these
/// are about alone.
using IsWanted = std::function<bool(const Statement&)>;
Reproduced reproduce_experiment(const std::string& file, const CLI::App& given,
                                const SimulateVariant& simulate, const IsWanted& is_wanted);

/// Calls `visit` for all variants as `run_experiment` calls `simulate`, and prints nothing.
void each_variant(
    const std::string& file, const CLI::App& given,
    const std::function<void(const std::vector<std::string>& options, const std::string& variant,
                             const ResultsPlace& results)>& visit);

}  // namespace ductile
