#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace ductile {

void append_seconds(std::string& text, Duration duration) {
  const std::int64_t count = duration.count();
  // The smallest number has no opposite.
  std::uint64_t us = static_cast<std::uint64_t>(count);
  if (count < 0) {
    text += '-';
    us = 0 - us;
  }
  std::array<char, 24> digits;
  const auto whole = std::to_chars(digits.begin(), digits.end(), us / 1'000'000);
  text.append(digits.data(), whole.ptr);
  std::uint64_t rest = us % 1'000'000;
  if (rest == 0) return;
  digits[0] = '.';
  std::size_t length = 1;
  for (std::uint64_t unit = 100'000; rest > 0; unit /= 10) {
    digits[length++] = static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  text.append(digits.data(), length);
}

std::string seconds_text(Duration duration) {
  std::string text;
  append_seconds(text, duration);
  return text;
}

}  // namespace ductile
