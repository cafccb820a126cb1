// The main figures of runs as a table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/statistics.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// Which values of a figure are better, if any are.
enum class Better : std::uint8_t { less, more, neither };

/// One figure that tables show.
struct Column {
  std::string_view key;  // of summary.json; what it has not, has a name of its own
  Better better = Better::less;
  std::string_view title, unit;
  double (*value)(const Summary&);
  int decimals = 0;
  bool always = true;  // else only where some run has another value than 0
};

/// The columns of a table of these runs, in order.
std::vector<Column> columns_for(std::span<const Summary> summaries);

/// The runs of one policy: one for each seed.
struct PolicyRuns {
  std::string policy;
  std::vector<const Summary*> runs;
};

/// Runs of the same policy (and size of machine) together, in the order in which they first come.
std::vector<PolicyRuns> by_policy(std::span<const Summary> summaries);

/// A figure of these runs; over several seeds with half its 95 % confidence interval: "12.3 ± 0.4".
std::string cell_text(const Column& column, const PolicyRuns& runs);

/// Rows of cells as lines: each column as wide as its widest cell, the first `left` ones aligned to
/// the left, the others to the right.
std::string aligned_text(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1);

/// For a terminal: one line for each policy, over its seeds.
std::string summary_table(std::span<const Summary> summaries);

}  // namespace ductile
