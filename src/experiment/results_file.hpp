// What is kept of the runs of a folder, so that an interrupted matrix goes on where it was. One
// SQLite file, results.db; format: docs/formats/results.db.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "metrics/summary.hpp"

struct sqlite3;

namespace ductile {

/// One run of a matrix as the file knows it, over or not.
struct PlannedRun {
  std::string folder{};      // within that of the results; empty: that itself
  std::string matrix{};      // the folder of the whole matrix there,
  std::uint64_t number = 0;  // and its place in the matrix
  std::string variant{};     // of an experiment
  std::string policy{};
  std::uint64_t seed = 0;
  std::string identity{};  // all that its results depend on
  bool is_over = false;    // its results are there
};

/// The file is damaged, or none of ductile's at all. (What is another program's database is not.)
class DamagedResults : public InputError {
 public:
  using InputError::InputError;
};

/// The results of a folder. Each change is durable when its call returns, and whoever is killed
/// leaves the file as it was before or after one. Throws RunError, which says so, where the system
/// refuses; InputError where the file is no results of ductile, is damaged, or is used by another
/// process.
class ResultsFile {
 public:
  static constexpr const char* kName = "results.db";

  /// Opens or makes results.db in this folder, which is made, and keeps other processes from it.
  explicit ResultsFile(const std::filesystem::path& folder);
  /// Opens one that is there to be read, whoever else has it.
  struct ToRead {};
  ResultsFile(const std::filesystem::path& folder, ToRead);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  /// The experiment that they are of: the name of its file; empty: options alone. None: of nothing
  /// yet.
  std::optional<std::string> experiment() const;
  void set_experiment(const std::string& name);

  /// Calls `see` for each run, by folder: of a matrix, or of all.
  void each_run(const std::optional<std::string>& matrix,
                const std::function<void(const PlannedRun&)>& see) const;
  /// The matrices that have runs, in the order of the experiment: their folders within that of the
  /// results.
  std::vector<std::string> matrices() const;
  /// The order of the experiment.
  void set_order(const std::vector<std::string>& matrices);
  bool is_over(const std::string& folder) const;
  /// Is any run over?
  bool has_any() const;

  /// What is to be: `count` runs, in order. What is over and has the same identity stays
  /// so; all others are not over. Those that are no longer in the matrix are
  /// not over, either, and stay until they are forgotten. All at once.
  void plan(const std::string& matrix, std::size_t count,
            const std::function<PlannedRun(std::size_t)>& planned);
  /// The folders of runs that were planned once and no longer are.
  std::vector<std::string> gone(const std::string& matrix) const;
  bool is_all_gone(const std::string& matrix) const;
  void forget_gone(const std::string& matrix);
  /// All runs of a matrix are gone.
  void drop(const std::string& matrix);

  /// A run is over, whether it was planned here or not.
  void add(const PlannedRun& run, const Summary& summary);
  /// The same with the results that another file has of it.
  void add(const PlannedRun& run, const ResultsFile& other);
  /// Its results are not there, whatever was thought.
  void undo(const std::string& folder);
  /// The figures of a run that is over, without what measures the machine.
  Summary summary(const std::string& folder) const;

 private:
  class Statement;
  class Transaction;
  struct Lock {
    int descriptor = -1;
    ~Lock();
  };
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void open(bool writes);
  void make_tables();
  void run_sql(const char* sql) const;
  [[noreturn]] void fail() const;
  [[noreturn]] void damaged(const std::string& what) const;
  void write(const PlannedRun& run, const std::optional<std::string>& summary);
  std::string summary_text(const std::string& folder) const;

  std::filesystem::path folder_, path_;
  Lock lock_{};  // is let go after the database, whose own locks would go with it
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace ductile
