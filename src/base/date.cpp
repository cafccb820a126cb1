#include "base/date.hpp"

#include <chrono>
#include <cstddef>

namespace ductile {
namespace {

// The number that all of `text` is, if it is digits and nothing else.
std::optional<unsigned> digits(std::string_view text) {
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00";
  if (text.size() != 10 && text.size() != 16 && text.size() != kPattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char is = text[i], must = kPattern[i];
    if (must == '0' || is == must || (must == 'T' && is == ' ')) continue;
    return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) {
    return at < text.size() ? digits(text.substr(at, size)) : 0;
  };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2);
  const auto hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  // A leap second is told as the sixtieth.
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

std::optional<std::int64_t> seconds_from(std::optional<std::int64_t> start, std::int64_t date) {
  if (!start || *start > kFarthestStart || *start < -kFarthestStart) return std::nullopt;
  return date - *start;
}

}  // namespace ductile
