#include "model/contention.hpp"

#include <algorithm>
#include <optional>

#include "base/decimal.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::string_view kNone = "off", kPairs = "pairs";

// Thousandths of a number above 0 and up to 1; nothing if it is none, or is finer.
std::optional<std::uint16_t> per_mille_of(std::string_view text) {
  const auto number = Decimal::parse(text);
  if (!number || !(Decimal(0) < *number && *number <= Decimal(1))) return std::nullopt;
  const Wide thousandths = number->floor_of(kPerMille);
  if (thousandths == 0 || thousandths != number->ceil_of(kPerMille)) return std::nullopt;
  return static_cast<std::uint16_t>(thousandths);
}

}  // namespace

Contention contention_of(std::uint16_t per_mille) {
  Contention same;
  for (Contention::Row& row : same.per_mille) row.fill(per_mille);
  return same;
}

Contention contention_of_pairs() {
  // Beside         compute memory mixed
  return {{{{1000, 950, 1000},    // a job bound by compute
            {950, 650, 800},      //   by memory
            {1000, 800, 900}}}};  //   by both
}

std::string to_text(const Contention& contention) {
  if (contention.is_off()) return std::string(kNone);
  std::string text;
  const auto append = [&](std::uint16_t per_mille) {
    if (!text.empty()) text += ':';
    append_number(text, static_cast<double>(per_mille) / kPerMille);
  };
  const std::uint16_t first = contention.per_mille[0][0];
  if (contention == contention_of(first)) {
    append(first);
    return text;
  }
  for (const Contention::Row& row : contention.per_mille) std::ranges::for_each(row, append);
  return text;
}

Contention parse_contention(std::string_view text, const Place& place) {
  if (text == kNone) return {};
  if (text == kPairs) return contention_of_pairs();
  const auto number = [&](std::string_view word) {
    const auto its = per_mille_of(word);
    if (its) return *its;
    throw InputError(
        place,
        "'" + std::string(word) + "' is no number above 0 and up to 1 of three decimals at most",
        "write off, as 0.9, pairs, or nine numbers with : between them");
  };
  if (text.find(':') == std::string_view::npos) return contention_of(number(text));
  Contention table;
  std::string_view rest = text;
  const auto wrong_count = [&] {
    return InputError(place, "'" + std::string(text) + "' has not nine numbers",
                      "write what is left of compute beside compute, memory and mixed, then of "
                      "memory, then of mixed");
  };
  for (Contention::Row& row : table.per_mille) {
    for (std::uint16_t& each : row) {
      if (rest.empty()) throw wrong_count();
      each = number(next_part(rest, ':'));
    }
  }
  if (!rest.empty() || text.ends_with(':')) throw wrong_count();
  return table;
}

}  // namespace ductile
