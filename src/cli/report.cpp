#include "cli/report.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "cli/figure_options.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"
#include "report/page.hpp"
#include "report/resize_table.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> folders;
  std::string html;
  bool json = false;
  bool resizes = false, csv = false;
  FigureOptions figures{};
};

// A run, and where its files are.
struct Found {
  fs::path folder;
  Summary summary;
};

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

std::vector<Found> find_runs(const Options& options) {
  std::vector<Found> runs;
  for (const std::string& folder : options.folders) {
    for (ReadSummary& run : read_summaries((fs::path(folder) / "summary.json").string())) {
      if (!run.folder.empty()) add_measurements(run.summary, fs::path(folder) / run.folder);
      // Runs of different folders may differ in anything: they stay apart.
      if (options.folders.size() > 1 && !options.json) {
        run.summary.policy = (fs::path(folder) / run.summary.policy).string();
      }
      runs.push_back({fs::path(folder) / run.folder, std::move(run.summary)});
    }
  }
  if (runs.empty()) throw InputError("there are no runs in these folders", "simulate first");
  return runs;
}

void write_page(const std::string& path, const std::vector<Found>& runs) {
  const fs::path beside = fs::absolute(path).parent_path();
  std::vector<RunPage> pages;
  for (const Found& run : runs) {
    const fs::path folder = fs::absolute(run.folder).lexically_normal();
    pages.push_back({.folder = folder.lexically_relative(beside).string(),
                     .path = run.folder,
                     .summary = run.summary});
  }
  OutputFile file(path);
  file.text() = html_page(pages);
  file.commit();
}

std::vector<RunPage> pages_of(const std::vector<Found>& runs) {
  std::vector<RunPage> pages;
  for (const Found& run : runs) {
    pages.push_back({.folder = "", .path = run.folder, .summary = run.summary});
  }
  return pages;
}

void print_resizes(const Options& options, const std::vector<Found>& runs) {
  const ResizeFormat format = options.json  ? ResizeFormat::json
                              : options.csv ? ResizeFormat::csv
                                            : ResizeFormat::text;
  std::cout << resize_tables(pages_of(runs), format);
}

void report(const Options& options) {
  if (options.csv && !options.resizes) {
    throw InputError({.field = "--csv"}, "is a form of the tables of --resizes",
                     "give --resizes too; runs.csv of the folder has the figures of its runs");
  }
  const std::vector<Found> runs = find_runs(options);
  std::vector<Summary> summaries;
  for (const Found& run : runs) summaries.push_back(run.summary);
  if (!options.html.empty()) write_page(options.html, runs);
  if (!options.figures.folder.empty()) {
    write_figures(options.figures.folder, pages_of(runs), look_of(options.figures));
  }
  if (options.resizes) return print_resizes(options, runs);
  if (options.json) {
    for (const Summary& summary : summaries) std::cout << to_json(summary) << '\n';
  } else {
    std::cout << summary_table(summaries);
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("report", "compare runs that were written with --out");
  const auto options = std::make_shared<Options>();
  command.add_option("folders", options->folders, "what 'simulate --out' wrote")->required();
  command.add_option("--html", options->html, "write one page with tables and curves to this file");
  command.add_flag("--json", options->json, "print one JSON object per run, one per line");
  add_figure_options(command, options->figures);
  command.add_flag("--resizes", options->resizes,
                   "print tables of the resizes: by reason, type and size, and who gave to whom");
  command.add_flag("--csv", options->csv, "with --resizes: print them as CSV")
      ->excludes(command.get_option("--json"));
  command.callback([options] { report(*options); });
}

}  // namespace ductile
