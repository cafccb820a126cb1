// The lines of a file, one after the other, in a buffer of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/compressed_file.hpp"

namespace ductile {

/// Told from time to time while a file is read: bytes of the file as it is stored, done and in all
/// (0: not known).
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads lines that end with LF; the last one may lack it. A line that is longer than `longest` is
/// an InputError that names `name` and gives `advice`. What is passed must outlive the reader.
class LineReader {
 public:
  LineReader(CompressedFile& file, const std::string& name, const char* advice,
             const ReadProgress* progress = nullptr, std::size_t longest = 64 << 10)
      : file_(file),
        name_(name),
        advice_(advice),
        progress_(progress),
        longest_(longest),
        buffer_(4 * longest) {}

  /// The next line, without its end; it lives until the next call. False: there is none.
  bool next(std::string_view& line);

  /// Of the last line, from 1.
  std::uint64_t number() const { return number_; }

 private:
  const char* find_end(std::size_t from) const;
  void refill();
  [[noreturn]] void fail_too_long() const;

  CompressedFile& file_;
  const std::string& name_;
  const char* advice_;
  const ReadProgress* progress_;
  std::size_t longest_;
  std::vector<char> buffer_;
  const char* begin_ = buffer_.data();  // what is read and not yet given out
  std::size_t size_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace ductile
