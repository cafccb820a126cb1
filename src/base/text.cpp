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

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    // U+0080 to U+009F are controls as well, in UTF-8 these two bytes.
    const bool is_control =
        byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
    if (is_control) {
      result.append("\\x").push_back(kDigits[byte / 16]);
      result.push_back(kDigits[byte % 16]);
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

}  // namespace ductile
