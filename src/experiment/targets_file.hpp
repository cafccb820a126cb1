// The file of a paper's targets: what it says, and which experiments show it
// (docs/formats/targets.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ductile {

/// An experiment of a paper.
struct PaperExperiment {
  std::string file{};   // within the folder of the experiments
  std::string seeds{};  // "1..3"; fewer than it has itself
  std::uint64_t line = 0;
};

/// A log that the experiments read, or what stands in for it.
struct PaperLog {
  std::string file{}, crc64{};  // of what it unpacks to
  std::string about{};          // which one it is, and where it can be had
  std::string stand_in{};       // a model, as `workload generate` takes it; empty: there is none
  std::uint64_t line = 0;
};

/// One statement of a paper, by its number in our list.
struct Target {
  std::string id{}, says{};
  /// Ids of statements of the experiments that it consists of: all of these are so; of those of
  /// each id more than half; and these in all variants but exactly one.
  std::vector<std::string> statements{}, mostly{}, but_one{};
  std::string not_comparable{}, not_run{};  // why; empty: it is
  std::string note{};
  bool is_ours = false;  // not the paper's: stands below
  std::uint64_t line = 0;

  /// All of them.
  std::vector<std::string> ids() const;
};

/// A figure or a table of the paper, and the targets that are read from it; or why there are none.
struct PaperFigure {
  std::string name{}, none{};
  std::vector<std::string> targets{};
  // What is drawn of it: a figure of runs, of these policies in these variants; or nothing.
  std::string experiment{}, figure{};
  std::vector<std::string> variants{}, policies{};
};

/// What the paper leaves open, and how it is decided here.
struct OpenPoint {
  std::string point{}, choice{};
};

/// The file of a paper's targets.
struct PaperTargets {
  std::string file{};
  std::string title{}, source{}, setting{}, note{};
  std::vector<PaperExperiment> experiments;
  std::vector<PaperLog> logs;
  std::vector<Target> targets;
  std::vector<PaperFigure> figures;
  std::vector<OpenPoint> open;
};

/// Throws InputError with file, line and field: also if a target names a statement that no
/// experiment has, or one of these cannot be read. `folder`: that of the experiments.
PaperTargets read_targets(const std::string& path, const std::string& folder);

}  // namespace ductile
