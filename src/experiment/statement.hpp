// Statements of a paper beside what was measured.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment_file.hpp"
#include "metrics/statistics.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Is there a number of this name among the figures of a summary?
bool has_figure(std::string_view name);

/// What came out for one statement.
struct Finding {
  /// By how many percent `runs` are better than `against`, each seed for itself: positive means
  /// better, whether high or low values of the figure are.
  MeanInterval improvement;
  std::vector<double> by_seed;
  double runs = 0, against = 0;  // means of the figure
  // Of statements about several: who is best or worst by the mean, as `statement.among`.
  std::size_t best = 0, worst = 0;

  /// A number of the paper: met within 10 points on the mean of at least ten seeds. A direction:
  /// met if at least 80 % of the seeds agree and the confidence interval excludes 0. "Equal": the
  /// mean differs by less than 5 points. With fewer than ten seeds a number can only look right.
  enum class Verdict { met, near, looks_right, not_met, open };
  Verdict verdict = Verdict::open;
};

/// `runs` and `against` are summaries of the same seeds in the same order.
Finding examine(const Statement& statement, std::span<const Summary> runs,
                std::span<const Summary> against);

/// Of a statement about several: the summaries of each of `statement.among`, of the same seeds in
/// the same order. Who is said to be best is compared with the best of the others in each seed, and
/// is better or not; so is the worst. The spread is (worst - best) / best of those who are so by
/// the mean over all seeds, each seed for itself.
Finding examine(const Statement& statement, std::span<const std::span<const Summary>> among);

/// One line of a table for each statement, for a terminal: what the paper says, what was measured,
/// and whether they agree.
std::string findings_table(std::span<const Statement> statements,
                           std::span<const Finding> findings);

/// One JSON object for each, one per line.
std::string findings_json(std::span<const Statement> statements, std::span<const Finding> findings);

}  // namespace ductile
