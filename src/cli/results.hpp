// The folders of --out, which hold what was run besides its results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "experiment/run.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Throws InputError, which says what differs, if the folder of the matrix holds results that are
/// none of its own. What is of the same runs may be there: it is written again.
void need_room_for_results(const Matrix& matrix);

/// Removes all results in the folder of the matrix, with the folders of their runs. Throws
/// InputError, and removes nothing, if anything else is there.
void clear_results(const Matrix& matrix);

/// Runs what wrote the folder again, or of an experiment what wrote each folder in it, and prints
/// whether all files are the same, without what measures the machine, else which are not. Returns
/// that. `simulate` runs a matrix from options as "--name=value", the variant beside them; `given`
/// is the command as it was parsed, in which only some options have a meaning. Throws InputError if
/// the folder does not say what was run, or an input is not what it was.
bool run_again(const std::string& folder, const CLI::App& given,
               const std::function<std::vector<Summary>(const std::vector<std::string>& options,
                                                        const std::string& variant)>& simulate);

}  // namespace ductile
