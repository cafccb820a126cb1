// The folders of --out, which hold what was run besides its results.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "experiment/results_file.hpp"
#include "experiment/run.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Where the results of a matrix go.
struct ResultsPlace {
  std::filesystem::path folder{};  // of the file of results; empty: that of the matrix
  std::string experiment{};        // the name of its file; empty: of options alone
  /// The folders of all matrices that it has, within that of the file.
  std::vector<std::string> matrices = {""};
};

/// The files of results of a command, each open from its first matrix to the end of the command.
/// One in which no run is over then is removed.
class OpenResults {
 public:
  OpenResults() = default;
  OpenResults(const OpenResults&) = delete;
  OpenResults& operator=(const OpenResults&) = delete;
  ~OpenResults();

  /// Opens one, or gives what is open. Runs of matrices that are not there any more are removed.
  /// With `force` what is damaged is made anew. Throws InputError if the results are those of
  /// another experiment.
  ResultsFile& at(const ResultsPlace& place, bool force);

 private:
  std::map<std::filesystem::path, std::unique_ptr<ResultsFile>> files_;
  std::set<std::filesystem::path> made_;  // folders
};

/// Makes the folder and the results of the matrix ready for its runs. What is over and would be the
/// same again stays; what has changed, or is no longer in the matrix, is removed. Throws
/// InputError, which says what differs, and changes nothing, if the folder holds anything else: the
/// results of a matrix that has no run in common with this one, unless both are of the same
/// experiment; or results of which nothing is known.
void ready_results(const Matrix& matrix);

/// Removes all results in the folder of the matrix, with the folders of their runs. Throws
/// InputError, and removes nothing, if anything else is there.
void clear_results(const Matrix& matrix);

/// Is there what a run of this identity came to, complete?
bool has_its_summary(const std::filesystem::path& folder, const std::string& identity);

/// Gives the files of a run another folder, in place of results that are there. Throws RunError.
void move_results(const std::filesystem::path& from, const std::filesystem::path& to);

/// Runs what wrote the folder again, or of an experiment what wrote each folder in it, and prints
/// whether all files are the same, without what measures the machine, else which are not. Returns
/// that. `simulate` runs a matrix from options as "--name=value", the variant beside them; `given`
/// is the command as it was parsed, in which only some options have a meaning. Throws InputError if
/// the folder does not say what was run, or an input is not what it was.
bool run_again(const std::string& folder, const CLI::App& given,
               const std::function<std::vector<Summary>(const std::vector<std::string>& options,
                                                        const std::string& variant)>& simulate);

}  // namespace ductile
