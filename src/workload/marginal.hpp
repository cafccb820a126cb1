// Distributions of one number, as the parameters of models have them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/random.hpp"

namespace ductile {

/// `fixed` first; `uniform` and `loguniform` (uniform logarithm) from first to second;
/// `exponential` of mean first; `lognormal` of median first, the logarithm of which has the
/// standard deviation second.
struct Marginal {
  enum class Kind : std::uint8_t { fixed, uniform, loguniform, exponential, lognormal };
  Kind kind = Kind::fixed;
  double first = 0, second = 0;

  bool operator==(const Marginal&) const = default;
  double draw(Draws& draws) const;
  double mean() const;
  /// The share of values up to `value`.
  double share_up_to(double value) const;
};

constexpr std::array<std::string_view, 5> kMarginalWords{"fixed", "uniform", "loguniform",
                                                         "exponential", "lognormal"};

/// Reads "V", "fixed:V", "uniform:A..B", "loguniform:A..B", "exponential:MEAN" or
/// "lognormal:MEDIAN:SIGMA", each number from `min` to `max` but for SIGMA, from 0 to 10. Throws
/// InputError, which names `field`.
Marginal parse_marginal(std::string_view field, std::string_view text, double min, double max);

}  // namespace ductile
