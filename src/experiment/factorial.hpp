// Which of several ideas carries a gain: all combinations of them are run, and what each changes is
// taken over all combinations of the others (Fisher 1935).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "experiment/experiment_file.hpp"
#include "experiment/statement.hpp"
#include "metrics/statistics.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// The policies of all combinations of levels, the last factor changing first.
std::vector<std::string> factorial_policies(const Factorial& factorial);

/// A factor at one of its levels but the first, which it is compared with.
struct FactorLevel {
  std::size_t factor = 0, level = 0;
  bool operator==(const FactorLevel&) const = default;
};

/// What one factor changes, over all combinations of the others; or two together, besides what each
/// changes by itself.
struct Effect {
  std::vector<FactorLevel> of;  // one or two
  /// In percent, where above 0 is better. Ratios of the figure are taken: of their logarithms are
  /// means and, over the seeds, intervals, so that effects multiply.
  double percent = 0;
  Interval95 percent_95{};
};

/// Of a figure. `runs`: of each combination, in the order of `factorial_policies`, the summaries of
/// the same seeds in the same order. Main effects first, then the interactions of pairs. What has
/// no value, or 0, is not a number.
std::vector<Effect> effects_of(const Factorial& factorial,
                               std::span<const std::span<const Summary>> runs,
                               std::string_view figure);

/// The page in Markdown, and its effects as CSV: of each variant and figure.
struct FactorialPage {
  std::string markdown, csv;
};
using SummariesOf = std::function<std::span<const Summary>(const RunsOf& runs)>;
FactorialPage factorial_page(const Experiment& experiment, const SummariesOf& summaries,
                             const std::string& command, const std::string& sum);

}  // namespace ductile
