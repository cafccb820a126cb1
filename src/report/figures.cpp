#include "report/figures.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "report/allocations_csv.hpp"
#include "report/corridor_csv.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Jobs that began where others were, and when.
std::set<std::pair<std::uint64_t, Time>> starts_of_guests(const fs::path& folder) {
  std::set<std::pair<std::uint64_t, Time>> starts;
  if (!is_there(folder / "allocations.csv")) return starts;
  for (const Allocation& row : read_allocations(folder / "allocations.csv")) {
    if (!row.guest_nodes.empty()) starts.emplace(row.job, Time{row.from});
  }
  return starts;
}

}  // namespace

double slowdown_of(const FigureJob& job) {
  return bounded_slowdown(seconds(job.turnaround_s), seconds(job.run_s));
}

std::span<const FigureQuantity> figure_quantities() {
  using Unit = FigureQuantity::Unit;
  static constexpr std::array<FigureQuantity, 5> kQuantities{
      {{"wait", "mean_wait_s", "wait", Unit::seconds,
        [](const Summary& s) { return s.mean_wait_s; },
        [](const FigureJob& job) { return job.wait_s; }},
       {"turnaround", "mean_turnaround_s", "turnaround", Unit::seconds,
        [](const Summary& s) { return s.mean_turnaround_s; },
        [](const FigureJob& job) { return job.turnaround_s; }},
       {"slowdown", "mean_bounded_slowdown", "bounded slowdown", Unit::none,
        [](const Summary& s) { return s.mean_bounded_slowdown; }, slowdown_of},
       {"utilization", "utilization", "utilization", Unit::percent,
        [](const Summary& s) { return 100 * s.utilization; }, nullptr},
       {"makespan", "makespan_s", "makespan", Unit::seconds,
        [](const Summary& s) { return s.makespan_s; }, nullptr}}};
  return kQuantities;
}

std::string title_of_run(const FigureQuantity& quantity) {
  return (quantity.of_job ? "mean " : "") + std::string(quantity.title);
}

std::vector<PolicyFiles> read_policies(std::span<const RunPage> runs, JobsFiles& files) {
  std::vector<PolicyFiles> policies;
  for (const RunPage& run : runs) {
    const auto same = std::ranges::find(policies, run.summary.policy, &PolicyFiles::policy);
    PolicyFiles& its = same == policies.end() ? policies.emplace_back() : *same;
    its.policy = run.summary.policy;
    its.summaries.push_back(run.summary);
    if (!is_there(run.path / "jobs.csv")) continue;
    const bool is_first = its.first.empty();
    if (is_first) {
      its.first = run.path;
      if (is_there(run.path / "series.csv")) its.series = read_series(run.path / "series.csv");
      const fs::path corridor = run.path / "corridor.csv";
      if (is_there(corridor)) its.corridor = read_corridor_csv(corridor);
    }
    std::set<std::pair<std::uint64_t, Time>> guests;
    if (is_first && run.summary.guests > 0) guests = starts_of_guests(run.path);
    // Those that the tables are of; of a run that was stopped nobody knows what its jobs would be.
    if (run.summary.stopped) continue;
    for (const JobsCsvRow& row : measured_jobs(*files.of(run.path / "jobs.csv"), run.summary)) {
      if (!row.end) continue;
      if (is_first) ++its.first_jobs;
      its.jobs.push_back({.size = static_cast<double>(row.size),
                          .run_s = to_seconds(class_runtime(row)),
                          .wait_s = to_seconds(row.waited),
                          .turnaround_s = to_seconds(row.turnaround),
                          .start_s = to_seconds(*row.start),
                          .is_guest = guests.contains({row.job, *row.start})});
    }
    const fs::path resizes = run.path / "resizes.csv";
    if (!is_there(resizes)) continue;  // of an older version
    std::ranges::move(read_resizes(resizes), std::back_inserter(its.resizes));
  }
  return policies;
}

JobClasses classes_of(const PolicyFiles& policy) {
  std::vector<Duration> runtimes;
  for (const FigureJob& job : policy.jobs) runtimes.push_back(seconds(job.run_s));
  return {size_classes(policy.summaries.front().nodes), runtime_classes(std::move(runtimes))};
}

std::vector<Figure> all_figures(std::span<const PolicyFiles> policies, const Comparison& comparison,
                                const Look& look) {
  std::vector<Figure> all;
  const auto add = [&all](std::vector<Figure> some) {
    std::ranges::move(some, std::back_inserter(all));
  };
  add(main_figures(policies, look));
  add(comparison_figures(comparison, policies, look));
  add(series_figures(policies, look));
  add(distribution_figures(policies, comparison.baseline, look));
  add(ratio_figures(policies, comparison.baseline, look));
  add(day_figures(policies, look));
  add(resize_figures(policies, look));
  add(gantt_figures(policies, look));
  return all;
}

std::size_t write_figures(const fs::path& folder, std::span<const RunPage> runs, const Look& look,
                          std::size_t baseline) {
  JobsFiles files;
  const std::vector<PolicyFiles> policies = read_policies(runs, files);
  if (std::ranges::all_of(policies, [](const PolicyFiles& its) { return its.first.empty(); })) {
    throw InputError("there are no jobs.csv in the folders of these runs",
                     "write the runs anew, with --out");
  }
  std::vector<Figure> figures = all_figures(policies, compare(runs, baseline, files), look);
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
