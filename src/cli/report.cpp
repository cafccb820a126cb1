#include "cli/report.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/figure_options.hpp"
#include "cli/found_runs.hpp"
#include "report/comparison.hpp"
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
  std::string against;
  std::string html;
  bool json = false, csv = false, resizes = false;
  FigureOptions figures{};
};

std::vector<std::string> names_of(const std::vector<RunPage>& pages) {
  std::vector<Summary> summaries;
  for (const RunPage& page : pages) summaries.push_back(page.summary);
  std::vector<std::string> names;
  for (const PolicyRuns& group : by_policy(summaries)) names.push_back(group.policy);
  return names;
}

// The names that `against` may mean: that very one, or of each folder and variant the policy of
// this name.
std::vector<std::string> baselines(const std::vector<FoundRun>& runs, const std::string& against) {
  std::vector<std::string> exact, policies, ends;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const FoundRun& run : runs) {
    const std::string name = run.name();
    if (name == against) add(exact, name);
    if (run.summary.policy == against) add(policies, name);
    if (name.ends_with("/" + against)) add(ends, name);
  }
  if (!exact.empty()) return exact;
  if (!policies.empty()) return policies;
  if (!ends.empty()) return ends;
  std::vector<std::string> names;
  for (const FoundRun& run : runs) add(names, run.name());
  throw InputError("--against: there are no runs of '" + against + "'",
                   "name one of " + listed(names));
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

// The place of the one baseline that the page and the pictures have.
std::size_t baseline_of(const Options& options, const std::vector<FoundRun>& runs,
                        const std::vector<RunPage>& pages) {
  if (options.against.empty()) return 0;
  const std::vector<std::string> found = baselines(runs, options.against);
  if (found.size() > 1) {
    throw InputError("--against: a page and pictures have one baseline, and " + options.against +
                         " stands for several",
                     "name one of " + listed(found));
  }
  return place_of(names_of(pages), found.front());
}

void write_page(const Options& options, const std::vector<FoundRun>& runs) {
  const fs::path beside = fs::absolute(options.html).parent_path();
  if (!fs::is_directory(beside) || fs::is_directory(options.html)) {
    throw InputError({.field = "--html"}, options.html + " can be no file",
                     "name a file in a folder that is there");
  }
  const std::vector<RunPage> pages = pages_of(runs, beside);
  const std::size_t baseline = baseline_of(options, runs, pages);
  write_file(fs::path(options.html), html_page(pages, baseline));
}

void print_resizes(const Options& options, const std::vector<FoundRun>& runs) {
  const ResizeFormat format = options.json  ? ResizeFormat::json
                              : options.csv ? ResizeFormat::csv
                                            : ResizeFormat::text;
  std::cout << resize_tables(pages_of(runs, {}), format);
}

void print_comparisons(const Options& options, const std::vector<FoundRun>& runs) {
  const std::vector<std::string> found = baselines(runs, options.against);
  // A policy of several variants is the baseline of each of them.
  struct Table {
    std::vector<RunPage> pages;
    std::vector<std::string> names;
    std::size_t baseline = 0;
  };
  std::vector<Table> tables;
  for (const std::string& baseline : found) {
    std::vector<FoundRun> among = runs;
    if (found.size() > 1) {
      const auto own = std::ranges::find(runs, baseline, &FoundRun::name);
      std::erase_if(among, [&](const FoundRun& run) { return run.within != own->within; });
    }
    Table table{.pages = pages_of(among, {}), .names = {}};
    table.names = names_of(table.pages);
    table.baseline = place_of(table.names, baseline);
    // Of several: one that has nothing beside it.
    if (table.names.size() > 1) tables.push_back(std::move(table));
  }
  std::vector<Compared> compared;
  for (const Table& table : tables) compared.push_back({table.pages, table.baseline});
  const std::vector<Comparison> comparisons = compare(compared);
  if (options.csv) std::cout << comparison_csv_header();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (options.json) {
      std::cout << comparison_json(comparisons[i], tables[i].names);
    } else if (options.csv) {
      std::cout << comparison_csv(comparisons[i], tables[i].names);
    } else {
      std::cout << '\n' << comparison_text(comparisons[i], tables[i].names);
    }
  }
}

// A line for each run.
void print_csv(const std::vector<RunPage>& pages, const std::vector<Summary>& summaries) {
  const std::vector<Column> columns = columns_for(summaries);
  std::string text = "folder,policy,seed";
  for (const Column& column : columns) text.append(",").append(column.key);
  text += '\n';
  for (const RunPage& page : pages) {
    append_field(text, page.path.string());
    append_field(text += ',', page.summary.policy);
    text += ',' + std::to_string(page.summary.seed);
    for (const Column& column : columns) {
      const std::string value = number_text(column.value(page.summary) * base_unit(column).factor);
      text += ',' + (value == "null" ? "" : value);
    }
    text += '\n';
  }
  std::cout << text;
}

// What --against names has to be there before anything is printed or written.
void check_baseline(const Options& options, const std::vector<FoundRun>& runs) {
  if (options.against.empty()) return;
  const std::vector<std::string> found = baselines(runs, options.against);
  // Of several each is compared with what is in its own folder and variant.
  const bool has_other = std::ranges::any_of(runs, [&](const FoundRun& run) {
    return std::ranges::find(found, run.name()) == found.end();
  });
  if (!has_other && (found.size() > 1 || names_of(pages_of(runs, {})).size() < 2)) {
    throw InputError("--against: there is nothing beside " + listed(found) + " to compare",
                     found.size() == 1 ? "give folders with runs of other policies, too"
                                       : "name one of them in full to compare it with the others");
  }
}

void report(const Options& options) {
  const std::vector<FoundRun> runs = find_runs(options.folders);
  check_baseline(options, runs);
  if (!options.html.empty()) write_page(options, runs);
  if (!options.figures.folder.empty()) {
    const std::vector<RunPage> drawn = pages_of(runs, {});
    write_figures(options.figures.folder, drawn, look_of(options.figures),
                  baseline_of(options, runs, drawn));
  }
  const bool compares = !options.against.empty();
  if (compares && (options.json || options.csv)) return print_comparisons(options, runs);
  if (options.resizes) return print_resizes(options, runs);
  if (options.json) {
    for (const FoundRun& run : runs) std::cout << to_json(run.summary) << '\n';
    return;
  }
  const std::vector<RunPage> pages = pages_of(runs, {});
  std::vector<Summary> summaries;
  for (const RunPage& page : pages) summaries.push_back(page.summary);
  if (options.csv) return print_csv(pages, summaries);
  std::cout << summary_table(summaries);
  if (compares) print_comparisons(options, runs);
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("report", "compare runs that were written with --out");
  const auto options = std::make_shared<Options>();
  command.add_option("folders", options->folders, "what 'simulate --out' wrote")->required();
  command
      .add_option("--against", options->against,
                  "compare with this policy: by how much others differ, and how sure that is")
      ->type_name("POLICY|VARIANT/POLICY");
  command.add_option("--html", options->html, "write one page with tables and curves to this file");
  add_figure_options(command, options->figures);
  command
      .add_flag("--resizes", options->resizes,
                "print tables of the resizes: by reason, type and size, and who gave to whom")
      ->excludes("--against");
  CLI::Option* json =
      command.add_flag("--json", options->json, "print one JSON object per run, one per line");
  command
      .add_flag(
          "--csv", options->csv,
          "print a line for each run; with --against, for each difference; with --resizes, for "
          "each number")
      ->excludes(json);
  command.callback([options] { report(*options); });
}

}  // namespace ductile
