// Tables of whole numbers as a page carries them: web/src/unpack.ts reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ductile {

/// Columns of equal length. Values have 52 bits and a sign: what JavaScript knows exactly.
class Packed {
 public:
  explicit Packed(std::vector<std::string> columns);

  /// Appends a row: a value for each column.
  void add(std::initializer_list<std::int64_t> row);
  /// The number of a word in a column of words.
  std::int64_t word(const std::string& column, std::string_view word);
  std::size_t rows() const { return values_.front().size(); }

  /// `Packed` of web/src/data.ts.
  nlohmann::ordered_json json() const;

 private:
  struct Words {
    std::vector<std::string> words;
    std::map<std::string, std::int64_t, std::less<>> numbers;
  };

  std::vector<std::string> columns_;
  std::vector<std::vector<std::int64_t>> values_;  // of each column
  std::map<std::string, Words, std::less<>> words_;
};

}  // namespace ductile
