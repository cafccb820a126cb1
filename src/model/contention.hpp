// What two jobs on a node lose by each other: they share its memory, however many cores each has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ductile {

/// What a job waits for most of its time: its cores, the memory, or now this and now that.
enum class Bound : std::uint8_t { compute, memory, mixed };
constexpr std::array<std::string_view, 3> kBoundWords{"compute", "memory", "mixed"};

/// Shares of a whole number are whole numbers of thousandths, so that work stays exact.
constexpr std::uint16_t kPerMille = 1000;

/// How much of its work per core a job still does on a node that it shares, by what it is bound by
/// and by what the other job there is: from 1 to 1000 thousandths. All of it where nothing is said.
struct Contention {
  using Row = std::array<std::uint16_t, kBoundWords.size()>;
  static constexpr Row kNothing{kPerMille, kPerMille, kPerMille};
  std::array<Row, kBoundWords.size()> per_mille{kNothing, kNothing, kNothing};

  std::uint16_t of(Bound job, Bound beside) const {
    return per_mille[static_cast<std::size_t>(job)][static_cast<std::size_t>(beside)];
  }
  /// Does nobody lose anything?
  bool is_off() const { return *this == Contention{}; }
  bool operator==(const Contention&) const = default;
};

/// The same for all.
Contention contention_of(std::uint16_t per_mille);
/// By classes, as measured: docs/policies.md says by whom, and which numbers are inferred.
Contention contention_of_pairs();

/// "off", "0.9", or all nine numbers, "1:0.95:1:...": compute beside compute, memory and mixed,
/// then memory, then mixed.
std::string to_text(const Contention& contention);
/// The other way round; and "pairs". Throws InputError, which names `place`.
Contention parse_contention(std::string_view text, const Place& place = {});

}  // namespace ductile
