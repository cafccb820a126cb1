// jobs.csv: what became of each job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "metrics/summary.hpp"
#include "report/output_file.hpp"
#include "simulation/observer.hpp"
#include "simulation/power_figures.hpp"

namespace ductile {

/// Batsim's columns, so that its tools read the file, and ours behind them
/// (docs/formats/jobs.csv.md). Rows come in the order in which the jobs end.
class JobsCsv final : public Observer {
 public:
  JobsCsv(const std::filesystem::path& path, const Workload& workload);

  void on_begin(const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_start_failed(Time now, JobId id, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) override;
  void on_close(Time now, const Core& core) override;

  void commit() { file_.commit(); }

 private:
  void end_line(JobId id, const WorkloadJob& job);
  /// In joules; -1 where nobody says what is drawn.
  void append_energy(JobId id);

  OutputFile file_;
  const Workload& workload_;
  std::string workload_field_;
  std::vector<std::string> partition_fields_;  // by WorkloadJob::where; empty: no partitions
  std::vector<Why> why_;                       // of the last start of each job
  JobEnergies energies_;
  std::vector<std::uint8_t> steps_;  // of frequency, of the last start of each job; if there may be
  bool is_power_known_ = false;
};

/// A row of jobs.csv, exact to the microsecond.
struct JobsCsvRow {
  std::uint64_t job = 0;
  std::string type{}, state{}, reason{};
  Time submit{};
  std::optional<Time> start{}, end{};  // none: it never ran
  // As the run counts them: jobs that wait for others wait from when these were over on. Of one
  // that ran.
  Duration waited{}, turnaround{};
  Duration walltime{};
  std::optional<Duration> static_runtime{};  // none: not known
  std::uint64_t size = 0, start_nodes = 0, end_nodes = 0;
  std::int64_t user = 0;
  bool operator==(const JobsCsvRow&) const = default;
};

struct JobsCsvRows {
  std::string workload{};  // its name
  std::vector<JobsCsvRow> rows{};
};

/// Reads such a file back, as it is sorted. Throws InputError.
JobsCsvRows read_jobs_csv(const std::filesystem::path& path);

/// Such files by number of job. The last ones are kept, up to so many rows: what draws a run and
/// each comparison with it ask for the same ones.
class JobsFiles {
 public:
  explicit JobsFiles(std::size_t most_rows = 1'000'000) : most_rows_(most_rows) {}

  /// Throws InputError.
  std::shared_ptr<const JobsCsvRows> of(const std::filesystem::path& path);
  std::size_t read() const { return read_; }  // so many files

 private:
  struct Kept {
    std::filesystem::path path;
    std::shared_ptr<const JobsCsvRows> rows;
  };

  std::size_t most_rows_, read_ = 0;
  std::vector<Kept> kept_{};  // who was asked for last at the end
};

/// Of a run the jobs that its figures are of: those that ran, and were submitted while it was
/// measured.
std::vector<JobsCsvRow> measured_jobs(const JobsCsvRows& jobs, const Summary& summary);

}  // namespace ductile
