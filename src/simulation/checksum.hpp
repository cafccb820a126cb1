// The sum by which a log, the journal and its mark notice that they are not as they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ductile {

/// CRC-64 (ECMA-182, as .xz files have it) of all bytes added, in order. It finds every error of up
/// to 64 bits in a row; it is no protection against somebody who changes the bytes on purpose.
class Checksum {
 public:
  Checksum& add(const void* bytes, std::size_t size);
  Checksum& add(std::string_view text) { return add(text.data(), text.size()); }
  std::uint64_t value() const { return value_; }
  /// As 16 hexadecimal digits.
  std::string text() const;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace ductile
