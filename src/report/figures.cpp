#include "report/figures.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "report/corridor_csv.hpp"
#include "report/jobs_csv.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

double slowdown_of(const FigureJob& job) {
  return bounded_slowdown(seconds(job.turnaround_s), seconds(job.run_s));
}

std::vector<PolicyFiles> read_policies(std::span<const RunPage> runs) {
  std::vector<PolicyFiles> policies;
  for (const RunPage& run : runs) {
    const auto same = std::ranges::find(policies, run.summary.policy, &PolicyFiles::policy);
    PolicyFiles& its = same == policies.end() ? policies.emplace_back() : *same;
    its.policy = run.summary.policy;
    its.summaries.push_back(run.summary);
    if (!is_there(run.path / "jobs.csv")) continue;
    if (its.first.empty()) {
      its.first = run.path;
      if (is_there(run.path / "series.csv")) its.series = read_series(run.path / "series.csv");
      const fs::path corridor = run.path / "corridor.csv";
      if (is_there(corridor)) its.corridor = read_corridor_csv(corridor);
    }
    for (const JobsCsvRow& row : read_jobs_csv(run.path / "jobs.csv").rows) {
      if (!row.start || !row.end) continue;
      its.jobs.push_back({.size = static_cast<double>(row.size),
                          .run_s = to_seconds(row.static_runtime.value_or(*row.end - *row.start)),
                          .wait_s = to_seconds(row.waited),
                          .turnaround_s = to_seconds(row.turnaround)});
    }
    const fs::path resizes = run.path / "resizes.csv";
    if (!is_there(resizes)) continue;  // of an older version
    std::ranges::move(read_resizes(resizes), std::back_inserter(its.resizes));
  }
  return policies;
}

std::vector<Figure> all_figures(std::span<const PolicyFiles> policies, std::size_t baseline,
                                const Look& look) {
  std::vector<Figure> all;
  const auto add = [&all](std::vector<Figure> some) {
    std::ranges::move(some, std::back_inserter(all));
  };
  add(main_figures(policies, look));
  add(series_figures(policies, look));
  add(distribution_figures(policies, look));
  add(ratio_figures(policies, baseline, look));
  add(resize_figures(policies, look));
  add(gantt_figures(policies, look));
  return all;
}

std::size_t write_figures(const fs::path& folder, std::span<const RunPage> runs, const Look& look,
                          std::size_t baseline) {
  const std::vector<PolicyFiles> policies = read_policies(runs);
  if (std::ranges::all_of(policies, [](const PolicyFiles& its) { return its.first.empty(); })) {
    throw InputError("there are no jobs.csv in the folders of these runs",
                     "write the runs anew, with --out");
  }
  std::vector<Figure> figures = all_figures(policies, baseline, look);
  // Names of policies that are not the same may be as names of files.
  std::vector<std::string> names;
  for (const Figure& figure : figures) names.push_back(figure.name);
  names = folder_names(names);
  for (std::size_t i = 0; i < names.size(); ++i) figures[i].name = names[i];
  make_folder(folder, "--figures");
  std::string captions = "# Captions\n";
  for (const Figure& figure : figures) {
    for (const bool is_pdf : {false, true}) {
      const auto canvas = is_pdf ? pdf_canvas(look.width, figure.height, figure.name)
                                 : svg_canvas(look.width, figure.height, figure.name);
      figure.draw(*canvas);
      write_file(folder / (figure.name + (is_pdf ? ".pdf" : ".svg")), canvas->finish());
    }
    write_file(folder / (figure.name + ".csv"), figure.csv);
    captions += fmt::format("\n**{}**: {}\n", figure.name, figure.caption);
  }
  write_file(folder / "captions.md", std::move(captions));
  return figures.size();
}

}  // namespace ductile
