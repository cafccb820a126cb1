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

std::optional<Duration> parse_seconds(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const std::string_view whole = next_part(text, '.');
  const auto seconds = parse_number<std::uint64_t>(whole);
  constexpr std::uint64_t most = 1ULL << 63;
  if (!seconds || *seconds > most / 1'000'000 || text.size() > 6) return std::nullopt;
  std::uint64_t us = *seconds * 1'000'000;
  std::uint64_t unit = 100'000;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    us += static_cast<std::uint64_t>(digit - '0') * unit;
    unit /= 10;
  }
  if (us > most - (is_negative ? 0 : 1)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(is_negative ? 0 - us : us)};
}

namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
}

bool is_control_at(std::string_view text, std::size_t i) {
  const std::uint8_t byte = byte_at(text, i), next = byte_at(text, i + 1);
  // U+0080 to U+009F are controls as well, in UTF-8 these two bytes.
  return byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

/// The bytes of the character of UTF-8 that begins here; 0 if none does.
std::size_t character_at(std::string_view text, std::size_t i) {
  const std::uint8_t first = byte_at(text, i);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 || first > 0xf4 ? 0
                           : first < 0xe0               ? 2
                           : first < 0xf0               ? 3
                                                        : 4;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte_at(text, i + k) & 0xc0) != 0x80) return 0;
  }
  // Neither longer than it need be, nor half of a pair, nor beyond U+10FFFF.
  const std::uint8_t second = byte_at(text, i + 1);
  const bool is_none = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_none ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = is_control_at(text, i) ? 0 : character_at(text, i);
    result.append(text.substr(i, size));
    i += size;
    if (size > 0) continue;
    const std::uint8_t byte = byte_at(text, i++);
    result.append("\\x").push_back(kDigits[byte / 16]);
    result.push_back(kDigits[byte % 16]);
  }
  return result;
}

bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_control_at(text, i)) return false;
  }
  return true;
}

}  // namespace ductile
