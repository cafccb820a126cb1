// Reads the CSV files that runs write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "base/time.hpp"

namespace ductile {

/// The rows of a file, whose columns are found by their names. Fields may be in quotes (RFC 4180),
/// with no line ends in them. Throws InputError, with file, line and column, where the file is not
/// as it should be.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path);

  /// The place of a column. It has to be there.
  std::size_t column(std::string_view name) const;
  std::optional<std::size_t> find_column(std::string_view name) const;

  /// Goes on to the next row; false behind the last one.
  bool next();
  std::string_view text(std::size_t column) const { return fields_[column]; }
  template <class Number>
  Number number(std::size_t column) const {
    const auto value = parse_number<Number>(fields_[column]);
    if (!value) fail(column, "is no number, or none that fits here");
    return *value;
  }
  /// Seconds, exact to the microsecond.
  Time time(std::size_t column) const;
  /// Empty: none.
  std::optional<Time> find_time(std::size_t column) const;

  /// The field is not what it should be: "is no set of nodes".
  [[noreturn]] void fail(std::size_t column, const std::string& what) const;

 private:
  bool read_line();

  std::string path_;
  std::ifstream file_;
  std::uint64_t line_ = 0;
  std::string text_, unquoted_;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;  // of `text_` and `unquoted_`
};

}  // namespace ductile
