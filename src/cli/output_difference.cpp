#include "cli/output_difference.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A number that begins here, which is no part of a word; taken from `text` if there is one.
std::optional<double> take_number(std::string_view& text, char before) {
  if (is_digit(before) || is_letter(before) || text.empty()) return std::nullopt;
  const std::size_t sign = text.front() == '-' || text.front() == '+' ? 1 : 0;
  const std::size_t point = text.size() > sign && text[sign] == '.' ? 1 : 0;
  if (text.size() <= sign + point || !is_digit(text[sign + point])) return std::nullopt;
  const char* const begin = text.data() + (text.front() == '+' ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  // Too small or too large for an ordinary number: as near as there is one.
  if (error != std::errc{}) value = std::strtod(std::string(begin, end).c_str(), nullptr);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool is_same(std::string_view left, std::string_view right, double tolerance) {
  if (left == right) return true;
  if (tolerance == 0) return false;
  char before = '\n';
  while (!left.empty() && !right.empty()) {
    std::string_view left_rest = left;
    std::string_view right_rest = right;
    const auto one = take_number(left_rest, before);
    const auto other = take_number(right_rest, before);
    if (one && other) {
      const double difference = *one == *other ? 0 : std::abs(*one - *other);
      const double larger = std::max({std::abs(*one), std::abs(*other), 1.0});
      if (!std::isfinite(difference) || difference > tolerance * larger) return false;
      left = left_rest;
      right = right_rest;
      before = '0';
      continue;
    }
    if (left.front() != right.front()) return false;
    before = left.front();
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  return left.empty() && right.empty();
}

/// Goes from line to line of an output, past those that do not count.
class Lines {
 public:
  Lines(const std::string& text, const OutputRules& rules) : rest_(text), rules_(rules) {}

  /// With its end, if it has one; nothing behind the last one.
  std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      const std::string_view line = rest_.substr(0, rest_.find('\n'));
      const std::string_view whole = rest_.substr(0, line.size() + 1);
      rest_.remove_prefix(whole.size());
      ++number_;
      if (!rules_.ignored || !rules_.ignored->is_in(line)) return whole;
    }
    return std::nullopt;
  }
  /// Of the line that came last, from 1.
  std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  const OutputRules& rules_;
  std::size_t number_ = 0;
};

std::string shown(const std::optional<std::string_view>& line) {
  if (!line) return "(the end)";
  return std::string(line->substr(0, line->find('\n')));
}

}  // namespace

LinePattern::LinePattern(const std::string& text) {
  regex_t compiled{};
  if (const int error = regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 200> why{};
    regerror(error, &compiled, why.data(), why.size());
    throw InputError({.field = "--ignore-lines"}, "'" + text + "' is no pattern: " + why.data(),
                     "write an extended regular expression, as for grep -E");
  }
  compiled_ = {new regex_t(compiled), [](regex_t* its) {
                 regfree(its);
                 delete its;
               }};
}

bool LinePattern::is_in(std::string_view line) const {
  regmatch_t range{.rm_so = 0, .rm_eo = static_cast<regoff_t>(line.size())};
  return regexec(compiled_.get(), line.data(), 0, &range, REG_STARTEND) == 0;
}

std::optional<std::string> output_difference(const std::string& rigid, const std::string& resized,
                                             const OutputRules& rules) {
  Lines left(rigid, rules);
  Lines right(resized, rules);
  for (;;) {
    const auto one = left.next();
    const auto other = right.next();
    if (!one && !other) return std::nullopt;
    if (one && other && is_same(*one, *other, rules.tolerance)) continue;
    return fmt::format(
        "line {} of the output differs from the rigid run's:\n  rigid    {}\n  resized  {}",
        one ? left.number() : right.number(), shown(one), shown(other));
  }
}

}  // namespace ductile
