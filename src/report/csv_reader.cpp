#include "report/csv_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {
namespace {

constexpr const char* kRemedy = "give what `simulate --out` or `replay --out` wrote, as it was";

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path)
    : path_(path.string()), file_(path, std::ios::binary) {
  if (!file_) throw InputError({.file = path_}, std::strerror(errno), kRemedy);
  if (!read_line()) throw InputError({.file = path_}, "is empty", kRemedy);
  names_.assign(fields_.begin(), fields_.end());
}

std::optional<std::size_t> CsvReader::find_column(std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names_.begin());
}

std::size_t CsvReader::column(std::string_view name) const {
  const auto found = find_column(name);
  if (!found) throw InputError({path_, 1, std::string(name)}, "there is no such column", kRemedy);
  return *found;
}

bool CsvReader::next() {
  if (!read_line()) return false;
  if (fields_.size() != names_.size()) {
    throw InputError(
        {path_, line_, ""},
        fmt::format("has {} fields, and there are {} columns", fields_.size(), names_.size()),
        kRemedy);
  }
  return true;
}

// Fields in quotes are put together in `unquoted_`, which has room for all of the line, so that
// what points into it stays valid.
bool CsvReader::read_line() {
  if (!std::getline(file_, text_)) return false;
  ++line_;
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(text_.size());
  const std::string_view all = text_;
  std::size_t at = 0;
  for (;;) {
    if (at < all.size() && all[at] == '"') {
      const std::size_t begin = unquoted_.size();
      for (++at;; ++at) {
        if (at == all.size()) throw InputError({path_, line_, ""}, "ends in quotes", kRemedy);
        if (all[at] == '"') {
          if (at + 1 == all.size() || all[at + 1] != '"') break;
          ++at;
        }
        unquoted_ += all[at];
      }
      ++at;
      fields_.push_back(std::string_view(unquoted_).substr(begin));
      if (at < all.size() && all[at] != ',') {
        throw InputError({path_, line_, ""}, "goes on behind quotes", kRemedy);
      }
    } else {
      const std::size_t end = std::min(all.find(',', at), all.size());
      fields_.push_back(all.substr(at, end - at));
      at = end;
    }
    if (at == all.size()) return true;
    ++at;
  }
}

Time CsvReader::time(std::size_t column) const {
  const auto value = parse_seconds(fields_[column]);
  if (!value) fail(column, "is no time in seconds");
  return Time{*value};
}

std::optional<Time> CsvReader::find_time(std::size_t column) const {
  if (fields_[column].empty()) return std::nullopt;
  return time(column);
}

void CsvReader::fail(std::size_t column, const std::string& what) const {
  throw InputError({path_, line_, names_[column]}, what, kRemedy);
}

}  // namespace ductile
