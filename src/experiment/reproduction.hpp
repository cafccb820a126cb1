// The page of a paper: what it says beside what comes out here (docs/commands/reproduce.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "experiment/experiment_file.hpp"
#include "experiment/statement.hpp"
#include "experiment/targets_file.hpp"
#include "metrics/summary.hpp"

namespace ductile {

struct RunsOrder {
  bool operator()(const RunsOf& a, const RunsOf& b) const {
    return std::tie(a.variant, a.policy) < std::tie(b.variant, b.policy);
  }
};

/// What came out of an experiment.
struct Reproduced {
  Experiment experiment;
  std::vector<Finding> findings;  // of its statements
  std::map<RunsOf, std::vector<Summary>, RunsOrder> runs;
};

/// "met", "not met", "open", "not comparable" or "not run". It is met if all its statements are,
/// by their findings here; it is not if one is not.
std::string_view verdict_of(const Target& target, const std::vector<Finding>& findings);

/// How a page came about.
struct PageInputs {
  std::string paper{};    // "000"
  std::string command{};  // that makes it
  std::string sum{};      // of the files that it depends on
  bool is_full = false;
  struct Log {
    std::string file{}, what{};  // what was read for it
  };
  std::vector<Log> logs{};
};

/// The page in Markdown, of all experiments in the order of the targets' file.
std::string reproduction_page(const PaperTargets& paper, const std::vector<Reproduced>& all,
                              const PageInputs& inputs);

/// Means of the figures over the seeds, as CSV: a line for each policy in each variant.
std::string reproduction_csv(const PaperTargets& paper, const std::vector<Reproduced>& all);

}  // namespace ductile
