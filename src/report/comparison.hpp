// Policies beside one of them: by how much they differ, and how sure that is (docs/statistics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/statistics.hpp"
#include "report/job_classes.hpp"
#include "report/jobs_csv.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace ductile {

/// One policy against the baseline in one figure, in the unit of `base_unit`.
struct Difference {
  enum class Verdict : std::uint8_t { better, worse, open, same };

  std::size_t group = 0;  // place in `by_policy`
  Column column;
  PairedComparison pairs;  // of seeds; of jobs, where there is one log; none: of means alone
  double p = PairedComparison::kNone;  // of `pairs`, corrected for the comparisons made
  Verdict verdict = Verdict::open;     // by `p`, at 5 %; same: no pair differs
};

/// The same for a part of the jobs.
struct PartEffect {
  std::size_t group = 0;
  std::string part;  // "2–4 nodes, 1 min – 1 h", or the number of a user
  std::size_t size_class = 0, runtime_class = 0;  // of a class, its places in `job_classes`
  std::uint64_t jobs = 0;                         // in both runs, of all seeds
  PairedComparison wait, turnaround;              // means, in seconds
  double total_s = 0;  // of all its jobs: turnaround less that with the baseline
};

struct Comparison {
  std::size_t baseline = 0;        // group
  std::string method;              // how intervals were made: a sentence
  std::vector<std::string> notes;  // what was left out, and why; sentences
  std::size_t made = 0;            // comparisons with a p, those that it is corrected for
  std::vector<Difference> rows;    // by group, then in the order of columns
  /// By size asked for and run time (report/job_classes.hpp), in this order; by user, those whose
  /// jobs gain or lose most together first. Only where the files of the runs are.
  std::vector<PartEffect> classes, users;
  JobClasses job_classes;  // those of `classes`, of the jobs of the baseline
};

/// Compares the runs of each other policy with those of the baseline, a place in `by_policy`. Runs
/// are paired by seed, as far as their jobs are the same. Where there is one log, because there is
/// one seed or because seeds change something else, its jobs are paired by their number: from
/// jobs.csv in the folders of the runs. Throws InputError where a file is damaged.
Comparison compare(std::span<const RunPage> runs, std::size_t baseline,
                   JobsFiles files = JobsFiles{});

/// Several such comparisons that are told together: p is corrected for all of them.
struct Compared {
  std::span<const RunPage> runs;
  std::size_t baseline = 0;
};
std::vector<Comparison> compare(std::span<const Compared> all, JobsFiles files = JobsFiles{});

/// What figures are told in, where the reader chooses the unit: seconds, not hours.
struct BaseUnit {
  std::string_view name;
  double factor = 1;  // of the column's unit
};
BaseUnit base_unit(const Column& column);

std::string_view word(Difference::Verdict verdict);
/// Of a part of the jobs: "gains", "loses" or "open", by the interval; "same" if no pair differs.
std::string_view effect_word(const PairedComparison& its);

/// The figure that decides what is better, as far as it is compared; none: nothing is.
std::optional<std::string_view> main_figure(const Comparison& comparison);

/// For a terminal: tables with a line for each difference, for each class, and for the users whose
/// jobs are affected most. `policies`: the names of the groups.
std::string comparison_text(const Comparison& comparison, std::span<const std::string> policies);
/// One JSON object for each of these, one per line: all users.
std::string comparison_json(const Comparison& comparison, std::span<const std::string> policies);
/// The same as CSV, without its header.
std::string_view comparison_csv_header();
std::string comparison_csv(const Comparison& comparison, std::span<const std::string> policies);

}  // namespace ductile
