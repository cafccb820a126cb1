// What a generation has written and may not be shown yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "job/socket.hpp"

namespace ductile {

/// A queue of bytes: a little of it in memory, more in a file without a name.
class HeldOutput {
 public:
  /// False, with errno, if the file in `folder` does not take it: nothing of it is kept then.
  bool append(std::string_view text, const std::string& folder);
  struct Taken {
    std::string text{};
    std::uint64_t missing = 0;  // at its end: what the file did not give
    int error = 0;              // why
  };
  /// The first ones, so many at most; they are held no longer.
  Taken take(std::size_t most);
  void clear();

  std::uint64_t size() const { return head_.size() + (written_ - read_); }
  bool empty() const { return size() == 0; }

 private:
  std::string head_{};  // before what is in the file
  Descriptor file_{};
  std::uint64_t read_ = 0;  // of the file
  std::uint64_t written_ = 0;
};

}  // namespace ductile
