#include "cli/figure_options.hpp"

#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/text.hpp"

namespace ductile {

void add_figure_options(CLI::App& command, FigureOptions& options) {
  CLI::Option* figures = command.add_option(
      "--figures", options.folder,
      "write pictures for papers into this folder: SVG, PDF, and their data as CSV");
  command.add_option("--font-size", options.font, "of the pictures, in points (default 8)")
      ->needs(figures)
      ->check(CLI::Range(4.0, 24.0));
  command
      .add_option("--width", options.width,
                  "of the pictures: 'column' (84 mm, the default), 'page' (174 mm), or so many mm")
      ->needs(figures);
}

Look look_of(const FigureOptions& options) {
  double mm = 0;
  if (options.width == "column") {
    mm = 84;
  } else if (options.width == "page") {
    mm = 174;
  } else if (const auto value = parse_number<double>(options.width)) {
    mm = *value;
  }
  if (mm < 40 || mm > 1000) {
    throw InputError({.field = "--width"}, "'" + options.width + "' is no width",
                     "give column, page, or 40 to 1000 for so many mm");
  }
  return {.width = mm * 72 / 25.4, .font = options.font};
}

void write_figures_of(const std::string& folder, const FigureOptions& options) {
  namespace fs = std::filesystem;
  std::vector<RunPage> pages;
  for (ReadSummary& run : read_summaries((fs::path(folder) / "summary.json").string())) {
    pages.push_back({.folder = run.folder,
                     .path = fs::path(folder) / run.folder,
                     .summary = std::move(run.summary)});
  }
  write_figures(options.folder, pages, look_of(options));
}

}  // namespace ductile
