#include "base/quantity.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {

Duration parse_limit(std::string_view text) {
  const auto wrong = [&]() -> InputError {
    return {{.field = "time"},
            "'" + std::string(text) + "' is no time limit",
            "write minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S"};
  };
  std::string_view rest = text;
  std::optional<std::int64_t> days;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = parse_number<std::int64_t>(text.substr(0, dash));
    if (!days || *days < 0 || *days > 400) throw wrong();
    rest.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  do {
    const auto part = parse_number<std::int64_t>(next_part(rest, ':'));
    if (!part || *part < 0 || *part > 1'000'000) throw wrong();
    parts.push_back(*part);
  } while (!rest.empty());
  if (parts.size() > 3 || text.back() == ':') throw wrong();
  // With days the first one is hours; without, a single one is minutes, and the last of several
  // seconds.
  std::int64_t seconds = 0;
  if (days) {
    parts.resize(3);
    seconds = *days * 86400;
  } else {
    if (parts.size() == 1) parts.push_back(0);
    if (parts.size() == 2) parts.insert(parts.begin(), 0);
  }
  seconds += parts[0] * 3600 + parts[1] * 60 + parts[2];
  const Duration limit = whole_seconds(seconds);
  if (limit <= Duration{} || limit > kLongestLimit) throw wrong();
  return limit;
}

std::uint64_t parse_memory(std::string_view text) {
  const auto wrong = [&]() -> InputError {
    return {{.field = "mem"},
            "'" + std::string(text) + "' is no size of memory",
            "write megabytes, or a number with K, M, G or T"};
  };
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const auto number = parse_number<std::uint64_t>(
      text.substr(0, text.size() - (unit == std::string_view::npos ? 0 : 1)));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  const unsigned shift = unit == std::string_view::npos ? 20 : 10 * static_cast<unsigned>(unit + 1);
  if (!number || *number == 0 || *number > kMost >> shift) throw wrong();
  return *number << shift;
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "KMGT";
  std::size_t unit = 0;
  std::uint64_t number = bytes >> 10;
  for (; unit + 1 < kUnits.size() && number != 0 && number % 1024 == 0; ++unit) number /= 1024;
  return std::to_string(number) + kUnits[unit];
}

}  // namespace ductile
