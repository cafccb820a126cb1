#include "workload/line_reader.hpp"

#include <cstring>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {

bool LineReader::next(std::string_view& line) {
  ++number_;
  const char* end_of_line = find_end(0);
  while (end_of_line == nullptr && !at_end_) {
    const std::size_t searched = size_;
    if (searched > longest_) fail_too_long();
    refill();
    end_of_line = find_end(searched);
  }
  if (end_of_line == nullptr && size_ == 0) return false;
  const std::size_t length =
      end_of_line == nullptr ? size_ : static_cast<std::size_t>(end_of_line - begin_);
  if (length > longest_) fail_too_long();
  line = {begin_, length};
  const std::size_t used = end_of_line == nullptr ? length : length + 1;
  begin_ += used;
  size_ -= used;
  return true;
}

const char* LineReader::find_end(std::size_t from) const {
  if (from == size_) return nullptr;
  return static_cast<const char*>(std::memchr(begin_ + from, '\n', size_ - from));
}

void LineReader::refill() {
  std::memmove(buffer_.data(), begin_, size_);
  begin_ = buffer_.data();
  const std::size_t more = file_.read(buffer_.data() + size_, buffer_.size() - size_);
  if (more == 0) at_end_ = true;
  size_ += more;
  if (progress_ != nullptr && *progress_) (*progress_)(file_.consumed(), file_.total());
}

void LineReader::fail_too_long() const {
  throw InputError({.file = name_, .line = number_},
                   fmt::format("the line is longer than {} KiB", longest_ >> 10), advice_);
}

}  // namespace ductile
