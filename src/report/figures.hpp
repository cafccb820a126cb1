// The figures of papers, made of the files of runs: each as SVG and PDF, with its data beside.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/summary.hpp"
#include "report/comparison.hpp"
#include "report/job_classes.hpp"
#include "report/jobs_csv.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"
#include "report/resizes_csv.hpp"
#include "report/series.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// What figures show of a job that ran; times in seconds.
struct FigureJob {
  double size = 0;   // asked for, in nodes
  double run_s = 0;  // its static run time; where files do not say it, the one it had
  double wait_s = 0, turnaround_s = 0;
  double start_s = 0;
  bool is_guest = false;  // it began on nodes where others were; known of the first seed
};

/// max(1, turnaround / max(run time, 10 s)), as in summary.json.
double slowdown_of(const FigureJob& job);

/// What figures show: of jobs, and as a mean or otherwise of runs.
struct FigureQuantity {
  std::string_view name;  // of files
  std::string_view key;   // of `Column`
  std::string_view title;
  enum class Unit : std::uint8_t { none, seconds, percent } unit;
  double (*of_run)(const Summary&);
  double (*of_job)(const FigureJob&);  // none: it is no mean over jobs
};
std::span<const FigureQuantity> figure_quantities();
/// "mean wait"
std::string title_of_run(const FigureQuantity& quantity);

/// The runs of one policy: one for each seed.
struct PolicyFiles {
  std::string policy;
  std::vector<Summary> summaries{};
  std::vector<FigureJob> jobs{};     // that ran, of all seeds: the first one first
  std::vector<ResizeRow> resizes{};  // of all seeds; empty where there is no such file
  // Of the first seed alone:
  std::filesystem::path first{};  // its folder
  std::size_t first_jobs = 0;     // how many of `jobs`
  std::vector<Sample> series{};
  std::vector<CorridorLine> corridor{};
};

/// Reads them; runs without a jobs.csv have their main figures alone. Throws InputError where a
/// file is damaged.
std::vector<PolicyFiles> read_policies(std::span<const RunPage> runs, JobsFiles& files);
/// Those of its jobs: pictures by class have the baseline's.
JobClasses classes_of(const PolicyFiles& policy);

/// One figure that is not drawn yet.
struct Figure {
  std::string name;  // of its files
  std::string caption;
  double height = 0;  // in points
  std::string csv;    // its data
  std::function<void(Canvas&)> draw;
};

// Each of these has no figures where the runs know nothing of it.

/// How much of the machine was in use, how many jobs waited, and what was drawn, over time.
std::vector<Figure> series_figures(std::span<const PolicyFiles> policies, const Look& look);
/// How wait, turnaround and bounded slowdown are distributed, over all jobs, and by classes.
std::vector<Figure> distribution_figures(std::span<const PolicyFiles> policies,
                                         std::size_t baseline, const Look& look);
/// Against the baseline: by how much figures differ, and which users gain and lose, with 95 %
/// intervals. The policies are its groups.
std::vector<Figure> comparison_figures(const Comparison& comparison,
                                       std::span<const PolicyFiles> policies, const Look& look);
/// Where jobs share nodes, day by day: slowdown, and how many began as guests.
std::vector<Figure> day_figures(std::span<const PolicyFiles> policies, const Look& look);
/// By class of size and run time: wait and slowdown against those of the policy `baseline`.
std::vector<Figure> ratio_figures(std::span<const PolicyFiles> policies, std::size_t baseline,
                                  const Look& look);
/// Which job had which nodes when: a figure for each policy, of its first seed.
std::vector<Figure> gantt_figures(std::span<const PolicyFiles> policies, const Look& look);
/// The main figures with 95 % intervals over the seeds.
std::vector<Figure> main_figures(std::span<const PolicyFiles> policies, const Look& look);
/// Why jobs grew and shrank, and what that cost.
std::vector<Figure> resize_figures(std::span<const PolicyFiles> policies, const Look& look);

/// All of them. The policies are the groups of the comparison.
std::vector<Figure> all_figures(std::span<const PolicyFiles> policies, const Comparison& comparison,
                                const Look& look);

/// Writes all of them that the files of the runs have something for into `folder`, which it makes:
/// NAME.svg, NAME.pdf and NAME.csv of each, and captions.md (docs/commands/report.md, "Pictures for
/// papers"). `baseline`: a place in `by_policy`. The same files give the same bytes. Returns how
/// many there are. Throws InputError where a file is damaged, or none of the runs has any.
std::size_t write_figures(const std::filesystem::path& folder, std::span<const RunPage> runs,
                          const Look& look, std::size_t baseline = 0);

}  // namespace ductile
