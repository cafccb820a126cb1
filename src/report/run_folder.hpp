// The files of one run.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/summary.hpp"
#include "report/allocations_csv.hpp"
#include "report/choices.hpp"
#include "report/chrome_trace.hpp"
#include "report/decisions_csv.hpp"
#include "report/jobs_csv.hpp"
#include "report/nodes_csv.hpp"
#include "report/page.hpp"
#include "report/resizes_csv.hpp"
#include "report/series.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// All files that there may be in the folder of a run.
inline constexpr std::array<std::string_view, 11> kRunFiles{
    "report.html",   "jobs.csv",     "allocations.csv", "resizes.csv",
    "decisions.csv", "choices.csv",  "nodes.csv",       "corridor.csv",
    "series.csv",    "summary.json", "trace.json"};

/// Writes jobs.csv, allocations.csv, resizes.csv, decisions.csv, series.csv, trace.json,
/// report.html and summary.json; of a portfolio that chose choices.csv, with a corridor of power
/// corridor.csv, and where nodes were not all there nodes.csv. Each appears when it is complete.
/// Throws RunError where the system refuses to write.
class RunFolder {
 public:
  /// Makes the folder; InputError if that is not possible.
  RunFolder(const std::filesystem::path& folder, const Workload& workload,
            std::vector<CorridorLine> corridor = {});

  /// What has to see the run.
  void add_observers(std::vector<Observer*>& observers);
  /// After the run: completes all but summary.json.
  void finish(const Summary& summary);
  void write_summary(const Summary& summary) const;

 private:
  std::filesystem::path folder_;
  std::vector<CorridorLine> corridor_;
  JobsCsv jobs_;
  AllocationsCsv allocations_;
  ResizesCsv resizes_;
  DecisionsCsv decisions_;
  ChromeTrace trace_;
  Series series_;
  NodesCsv nodes_;
  Choices choices_;
};

/// Writes summary.json, runs.csv and report.html of several runs into the folder above theirs.
/// Nothing in them measures the machine. `identity`: what summary.json says of the run of this
/// place; none: what its summary has.
void write_comparison(const std::filesystem::path& folder, const std::vector<RunPage>& runs,
                      const std::function<std::string(std::size_t)>& identity = {});

}  // namespace ductile
