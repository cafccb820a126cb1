// Many runs: every policy on the workload of every seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment/claims.hpp"
#include "experiment/results_file.hpp"
#include "metrics/summary.hpp"
#include "simulation/measured.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What a run starts from.
struct Input {
  std::shared_ptr<const Workload> workload;
  std::vector<NodeEvent> node_events;
  double load_seconds = 0;  // wall clock it took to get it
  std::vector<OperatorOrder> orders = {};
};

/// Of all runs together.
struct Progress {
  // Of what is run; `jobs` is a guess while not all workloads are made.
  std::uint64_t jobs_over = 0, jobs = 0;
  std::uint64_t runs_over = 0, runs = 0;  // with those that were there
  std::uint64_t runs_there = 0;           // when this began
  std::vector<std::string> running{};     // some of those that run now, by their folders
  Time now{};                             // simulated; of the run that was heard of last
};

/// The matrix of runs. Its order is by seed, and for each by policy.
struct Matrix {
  std::vector<std::shared_ptr<const Policy>> policies;
  std::vector<std::uint64_t> seeds;
  /// Of every run. Policy, seed, node events and progress are set for each.
  SimulationSettings settings;
  MeasuredPart measured{};  // of which jobs the figures are
  std::string variant;      // of an experiment: what summaries say
  /// What summaries say a run is, as JSON; none: nothing.
  std::function<std::string(const Policy& policy, std::uint64_t seed)> identity{};
  /// Asked once for each seed, by any thread.
  std::function<Input(std::uint64_t seed)> input;
  unsigned threads = 1;
  /// Not null: of several threads each has its runs done by a copy of this process, which this
  /// makes, as fork(2), where passes of several runs in one process would take turns. There `input`
  /// is asked once for each seed by every process.
  pid_t (*fork)() = nullptr;
  /// Where the files go: of one run into the folder itself, of several into one folder for each,
  /// and a comparison beside them. Empty: no files.
  std::filesystem::path out;
  /// Nothing is written there but the results: no files of runs, no comparison.
  bool only_results = false;
  /// Where results are kept of which there are files, run by run: in the folder of those or in one
  /// above. Runs that are over there are not run again.
  ResultsFile* results = nullptr;
  /// Of a matrix that others run as well: only what can be claimed is run, and nothing is compared.
  Claims* claims = nullptr;
  /// These see the run besides, if there is only one.
  std::vector<Observer*> observers{};
  /// Told now and then; one call at a time.
  std::function<void(const Progress&)> progress;
};

/// The runs of a matrix, in its order, as its results know them.
class PlannedRuns {
 public:
  explicit PlannedRuns(const Matrix& matrix);
  std::size_t size() const { return folders_.size(); }
  PlannedRun operator[](std::size_t number) const;
  /// The folder of a run, within that of the matrix and within that of the results.
  const std::string& name_within(std::size_t number) const { return folders_[number]; }
  std::string folder(std::size_t number) const;
  /// The folder of the matrix there.
  const std::string& name() const { return name_; }

 private:
  const Matrix& matrix_;
  std::string name_;
  std::vector<std::string> folders_;
};

/// Runs the matrix; `done` gets the summaries in its order, one call at a time, whatever the number
/// of threads. What is over is kept at once; files that compare runs are made of what is kept, so
/// that they are the same however often this was interrupted. In memory there are, besides the runs
/// that go on, the figures of all. A stop
/// (`settings.stop`) ends what runs, and what did not begin is left out. When a run fails no other
/// one begins, those that run are finished, and the first error is thrown again.
void run_matrix(const Matrix& matrix, const std::function<void(const Summary&)>& done);

/// Folders for the files of the runs, in the order of the matrix: "easy-s1".
std::vector<std::string> folder_names(const Matrix& matrix);

}  // namespace ductile
