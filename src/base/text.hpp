// Numbers and words as files and commands show them.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/time.hpp"

namespace ductile {

/// Appends a duration in seconds: exact to the microsecond, without trailing zeros. "12.5", "-3".
void append_seconds(std::string& text, Duration duration);
inline void append_seconds(std::string& text, Time time) {
  append_seconds(text, time.time_since_epoch());
}

std::string seconds_text(Duration duration);
inline std::string seconds_text(Time time) { return seconds_text(time.time_since_epoch()); }

/// Reads what `append_seconds` writes, exactly; more than six digits behind the point are refused.
std::optional<Duration> parse_seconds(std::string_view text);

/// Appends the shortest text that is read as the same number.
template <class Number>
requires std::is_arithmetic_v<Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

/// The finite number that all of `text` is; nothing if it is none or does not fit its type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || next != end) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

/// Takes what is before the next `separator`, or all, from the front of `rest`.
inline std::string_view next_part(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// The value of an enumeration that `word` stands for; `words` has one for each, in their order.
template <class Enum, std::size_t Size>
std::optional<Enum> from_word(const std::array<std::string_view, Size>& words,
                              std::string_view word) {
  const auto at = std::ranges::find(words, word);
  if (at == words.end()) return std::nullopt;
  return static_cast<Enum>(at - words.begin());
}

/// The text with what could command a terminal, or end a line, or is no UTF-8, as \xNN: for what
/// strangers wrote.
std::string printable(std::string_view text);
/// Can nothing in it command a terminal or end a line? Names that users give need not be UTF-8.
bool is_printable(std::string_view text);

/// "a, b, c"
template <class Words>
std::string listed(const Words& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace ductile
