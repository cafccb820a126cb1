// The page of a paper: what it says beside what comes out here (docs/commands/reproduce.md).
#pragma once

#include <filesystem>
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

/// A statement of a target, and what came out.
struct Judged {
  std::string statement{}, variant{};  // its id, and where it is looked at
  Finding::Verdict verdict = Finding::Verdict::open;
};

/// "met", "not met", "open", "not comparable" or "not run". It is met if all that its rules ask for
/// is, not met if one of that is not.
std::string_view verdict_of(const Target& target, const std::vector<Judged>& judged);

/// How a page came about.
struct PageInputs {
  std::string paper{};    // "000"
  std::string command{};  // that makes it
  std::string sum{};      // of the files that it depends on
  bool is_full = false;
  struct Log {
    std::string file{}, what{};  // what was read for it
    bool is_stand_in = false;    // of a model: what is said of it is not comparable
  };
  std::vector<Log> logs{};
};

/// The page in Markdown, of all experiments in the order of the targets' file.
std::string reproduction_page(const PaperTargets& paper, const std::vector<Reproduced>& all,
                              const PageInputs& inputs);

/// The verdicts, as CSV: a line for each target, with what the other sides of the choices make of
/// it.
std::string verdicts_csv(const PaperTargets& paper, const std::vector<Reproduced>& all,
                         const PageInputs& inputs);

/// The papers' targets and their verdicts in one table, from such files: of each paper its name and
/// its file. Throws InputError.
struct PaperVerdicts {
  std::string paper{};
  std::filesystem::path csv{};
};
std::string verdicts_table(const std::vector<PaperVerdicts>& papers);

/// Means of the figures over the seeds, as CSV: a line for each policy in each variant.
std::string reproduction_csv(const PaperTargets& paper, const std::vector<Reproduced>& all);

}  // namespace ductile
