// Experiment files: what to simulate, and what a paper says comes out (docs/formats/experiment.md).
#pragma once

#include <cstddef>
#include <cstdint>
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
/// Or the figure of `runs` is a number itself, or on one side of it.
struct Statement {
  enum class Direction : std::uint8_t { better, worse, equal };
  enum class Kind : std::uint8_t { pair, best, worst, spread, is, at_most, at_least };

  std::string id{};      // as the source numbers it
  std::string figure{};  // a field of Summary
  Kind kind = Kind::pair;
  RunsOf runs{};                // not of a spread
  RunsOf against{};             // of a pair
  std::vector<RunsOf> among{};  // all others: `runs` are one of them
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

struct Experiment {
  std::string file;
  std::string title, source, note;
  std::vector<OptionSetting> options;  // of all variants
  // At least one; unnamed if the file has none. Those of [[otherwise]] come last, as do statements.
  std::vector<Variant> variants;
  std::vector<Statement> statements;
  std::vector<Otherwise> otherwise;
};

/// Throws InputError with file, line and field. Whether an option exists, only `simulate` knows.
Experiment read_experiment(const std::string& path);

/// Does an option take the place of another one: the same, or one that excludes it?
bool replaces(std::string_view option, std::string_view other);

/// The options of one variant: its own, and those of the whole file that these do not replace.
std::vector<OptionSetting> options_of(const Experiment& experiment, const Variant& variant);

}  // namespace ductile
