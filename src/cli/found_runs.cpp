#include "cli/found_runs.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "experiment/results_file.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// What measured the machine is in the summary of each run, not in that of several.
void add_measurements(Summary& summary, const fs::path& folder) {
  const fs::path file = folder / "summary.json";
  std::error_code error;
  if (!fs::exists(file, error)) return;
  const Summary own = read_summaries(file.string()).at(0).summary;
  summary.load_seconds = own.load_seconds;
  summary.simulate_seconds = own.simulate_seconds;
  summary.look_ahead_seconds = own.look_ahead_seconds;
  summary.peak_rss_bytes = own.peak_rss_bytes;
}

// Those of an experiment: each matrix has a folder, and what is kept of all runs is above.
std::vector<FoundRun> runs_of_variants(const fs::path& folder) {
  std::vector<PlannedRun> planned;
  std::size_t missing = 0;
  const ResultsFile results(folder, ResultsFile::ToRead{});
  for (const std::string& matrix : results.matrices()) {
    const std::size_t first = planned.size();
    results.each_run(matrix, [&](const PlannedRun& run) {
      if (run.is_over) {
        planned.push_back(run);
      } else {
        ++missing;
      }
    });
    std::ranges::sort(planned.begin() + static_cast<std::ptrdiff_t>(first), planned.end(), {},
                      &PlannedRun::number);
  }
  if (planned.empty()) {
    throw InputError({.file = folder.string()}, "no run in it is over",
                     "simulate to the end first");
  }
  if (missing > 0) {
    std::cerr << fmt::format("ductile: {}: {} of {} runs are not over, and not in the report\n",
                             folder.string(), missing, planned.size() + missing);
  }
  std::vector<FoundRun> runs;
  for (const PlannedRun& run : planned) {
    FoundRun& found =
        runs.emplace_back(FoundRun{.folder = folder / run.folder,
                                   .within = run.variant.empty() ? "" : run.variant + "/",
                                   .summary = results.summary(run.folder)});
    found.summary.run = run.identity;
    add_measurements(found.summary, found.folder);
  }
  return runs;
}

std::vector<FoundRun> runs_in(const fs::path& folder) {
  std::error_code error;
  const bool has_summary = fs::exists(folder / "summary.json", error);
  if (!has_summary && fs::exists(folder / ResultsFile::kName, error)) {
    return runs_of_variants(folder);
  }
  std::vector<FoundRun> runs;
  for (ReadSummary& run : read_summaries((folder / "summary.json").string())) {
    if (!run.folder.empty()) add_measurements(run.summary, folder / run.folder);
    runs.push_back(
        {.folder = folder / run.folder, .within = "", .summary = std::move(run.summary)});
  }
  return runs;
}

}  // namespace

std::vector<FoundRun> find_runs(const std::vector<std::string>& folders) {
  std::vector<FoundRun> runs;
  std::set<fs::path> seen;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(folder, error)).second) {
      throw InputError({.file = folder}, "is given twice", "give it once");
    }
    for (FoundRun& run : runs_in(folder)) {
      // Runs of different folders may differ in anything: they stay apart.
      if (folders.size() > 1) run.within = (fs::path(folder) / run.within).string();
      if (!run.within.empty() && !run.within.ends_with('/')) run.within += '/';
      runs.push_back(std::move(run));
    }
  }
  if (runs.empty()) throw InputError("there are no runs in these folders", "simulate first");
  return runs;
}

std::vector<RunPage> pages_of(const std::vector<FoundRun>& runs, const fs::path& beside) {
  std::vector<RunPage> pages;
  for (const FoundRun& run : runs) {
    const fs::path folder = fs::absolute(run.folder).lexically_normal();
    RunPage& page = pages.emplace_back(RunPage{.folder = folder.lexically_relative(beside).string(),
                                               .path = run.folder,
                                               .summary = run.summary});
    page.summary.policy = run.name();
  }
  return pages;
}

void write_page_of_variants(const fs::path& folder) {
  const std::vector<FoundRun> runs = find_runs({folder.string()});
  const fs::path page = fs::absolute(folder / "report.html").lexically_normal();
  write_file(page, html_page(pages_of(runs, page.parent_path())));
}

}  // namespace ductile
