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
/// Its number; none, if it has no value there.
std::optional<double> figure_of(const Summary& summary, std::string_view name);
/// Of all others less is better. Of counts neither is: positive differences mean more of them.
bool more_is_better(std::string_view figure);

/// What came out for one statement.
struct Finding {
  /// By how many percent `runs` are better than `against`, each seed for itself: positive means
  /// better, whether high or low values of the figure are. Of a statement about a figure itself:
  /// that.
  MeanInterval improvement;
  std::vector<double> by_seed;
  double runs = 0, against = 0;  // means of the figure
  // Of statements about several: who is best or worst by the mean, as `statement.among`.
  std::size_t best = 0, worst = 0;

  /// A number of the paper: met if it lies in the confidence interval, or the mean is off by 10 %
  /// of it at most; open if that is so in an interval of more than a quarter of it to either side,
  /// which says nothing. A direction: met if all of the interval is on its side of 0, not met if
  /// all is on the other one, or within 5 percent. "Not better": met where "better" is not met, and
  /// the other way round. "Equal": met if all of the interval is within 5
  /// percent, not met if nothing is. A bound: met if all of the interval is on its side of it, not
  /// met if nothing is. All others are open, and so is what has no interval that it would need.
  enum class Verdict { met, not_met, open };
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

/// Of the highest of several improvements: of each of `statement.among` over its `against_each`. It
/// is that of `best`, in each seed.
Finding examine_highest(const Statement& statement, std::span<const std::span<const Summary>> runs,
                        std::span<const std::span<const Summary>> against);

/// Words for a page: met, not met, open.
std::string_view verdict_word(Finding::Verdict verdict);
/// What the paper says of it: "40 %", "better", "more", "at most 0.91".
std::string said_text(const Statement& statement);
/// What was measured: "26.3 ± 4.9 %"; "-" if it has no value.
std::string measured_text(const Statement& statement, const Finding& finding);
/// Whose runs they are: "variant, policy".
std::string runs_text(const RunsOf& runs);

/// One line of a table for each statement, for a terminal: what the paper says, what was measured,
/// and whether they agree.
std::string findings_table(std::span<const Statement> statements,
                           std::span<const Finding> findings);

/// One JSON object for each, one per line.
std::string findings_json(std::span<const Statement> statements, std::span<const Finding> findings);

}  // namespace ductile
