// Experiment files: what to simulate, and what a paper says comes out (docs/formats/experiment.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ductile {

/// An option of `simulate` by its long name without the dashes, with its values; none: a flag.
struct OptionSetting {
  std::string name;
  std::vector<std::string> values;
  std::uint64_t line = 0;

  bool operator==(const OptionSetting&) const = default;
};

/// One matrix of runs; its options stand before those of the whole file.
struct Variant {
  std::string name{};
  std::vector<OptionSetting> options{};
  std::string side{};  // the other side of a choice that it is on; empty: as the file has it
};

/// The other side of a choice: what is changed in some variants, to see what depends on it.
struct Otherwise {
  std::string name{}, note{};
};

/// Runs of one policy in one variant.
struct RunsOf {
  std::string variant, policy;

  bool operator==(const RunsOf&) const = default;
};

/// One statement about two policies (or the same one in two variants): `runs` are better than
/// `against` in `figure`, by so many percent where the paper says how many. Or one about several:
/// `runs` are the best or the worst of them, or from the best to the worst it is so many percent.
/// Or about several pairs: the highest of their improvements is so many percent.
/// Or the figure of `runs` is a number itself, or on one side of it.
struct Statement {
  enum class Direction : std::uint8_t { better, worse, equal, not_better };
  enum class Kind : std::uint8_t { pair, best, worst, spread, highest, is, at_most, at_least };

  std::string id{};              // as the source numbers it
  std::string figure{};          // a field of Summary, or a share of events
  std::string against_figure{};  // of a pair, if it is another one
  Kind kind = Kind::pair;
  RunsOf runs{};                       // not of a spread
  RunsOf against{};                    // of a pair
  std::vector<RunsOf> among{};         // all others: `runs` are one of them
  std::vector<RunsOf> against_each{};  // of the highest: with whom each of `among` is compared
  Direction direction = Direction::better;
  std::optional<double> percent{};
  double value = 0;  // of a number: in the unit of the figure
  std::string note{};
  std::string side{};    // the other side of a choice on which it is looked at,
  std::size_t base = 0;  // and which statement it is without that
  std::uint64_t line = 0;

  /// Is it about a figure itself, not about a difference?
  bool is_of_value() const { return kind >= Kind::is; }
};

/// A parameter of a policy, and its levels: the first one is what the others are compared with.
struct Factor {
  std::string name{}, parameter{};
  std::vector<std::string> levels{};
};

/// All combinations of the levels are run, as policies of the experiment.
struct Factorial {
  std::string policy{};
  std::vector<std::string> figures{};
  std::vector<Factor> factors{};
};

struct Experiment {
  std::string file;
  std::string title, source, note;
  std::vector<OptionSetting> options;  // of all variants
  // At least one; unnamed if the file has none. Those of [[otherwise]] come last, as do statements.
  std::vector<Variant> variants;
  std::vector<Statement> statements;
  std::vector<Otherwise> otherwise;
  std::optional<Factorial> factorial{};
};

/// Throws InputError with file, line and field. Whether an option exists, only `simulate` knows.
Experiment read_experiment(const std::string& path);

/// What of an experiment a page needs: these statements, on all sides, and the runs that they are
/// of.
Experiment with_statements(const Experiment& experiment,
                           const std::function<bool(const Statement&)>& is_wanted);
/// All runs that a statement is about.
std::vector<RunsOf> runs_of(const Statement& statement);

/// Does an option take the place of another one: the same, or one that excludes it?
bool replaces(std::string_view option, std::string_view other);

/// The options of one variant: its own, and those of the whole file that these do not replace.
std::vector<OptionSetting> options_of(const Experiment& experiment, const Variant& variant);

}  // namespace ductile
