// Text files of what happens when: a line is a time and words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"

namespace ductile {

/// Lines "TIME_S WORD ...", words separated by blanks or tabs; '#' begins a comment, and lines
/// without words are passed over.
class TimedLines {
 public:
  /// Throws InputError with what cannot be read, and what to do.
  TimedLines(const std::string& path, const char* what, const char* remedy);
  TimedLines(TimedLines&&) = delete;  // words are of the line inside

  /// Goes to the next line; false at the end. Throws InputError if it begins with no time.
  bool next();

  /// Of this line: its time, and what comes after it.
  Time time() const { return time_; }
  std::size_t size() const { return words_.size(); }
  std::string_view word(std::size_t i) const { return i < size() ? words_[i] : ""; }
  /// All words from this one on, with blanks between them.
  std::string rest(std::size_t i) const;

  Place place(const char* field) const { return {path_, number_, field}; }
  [[noreturn]] void fail(const char* field, const std::string& what, const char* remedy) const {
    throw InputError(place(field), what, remedy);
  }
  /// A field is this word, or is missing if it is empty.
  [[noreturn]] void refuse(const char* field, std::string_view word, const char* remedy) const;

 private:
  std::string path_;
  std::ifstream in_;
  std::string line_;
  std::uint64_t number_ = 0;
  Time time_{};
  std::vector<std::string_view> words_{};  // of the line
};

}  // namespace ductile
