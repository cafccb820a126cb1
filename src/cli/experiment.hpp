// An experiment file as a series of calls of `simulate`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/results.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Runs all variants of the file and prints its statements beside what came out. `given` is the
/// command as it was parsed: its options go before those of the file. `simulate` runs one matrix
/// from options as "--name=value", prints its table and returns its summaries, which have the name
/// of the variant, all policies of a seed together; `results`: where its results are kept. Throws
/// InputError with the file's place.
void run_experiment(const std::string& file, const CLI::App& given, bool json,
                    const std::function<std::vector<Summary>(
                        const std::vector<std::string>& options, const std::string& variant,
                        const ResultsPlace& results)>& simulate);

/// Calls `visit` for all variants as `run_experiment` calls `simulate`, and prints nothing.
void each_variant(
    const std::string& file, const CLI::App& given,
    const std::function<void(const std::vector<std::string>& options, const std::string& variant,
                             const ResultsPlace& results)>& visit);

}  // namespace ductile
