// Decimals as people write them. As a double 0.07 is not 7/100, and 0.07 of 100 nodes would be more
// than 7: a limit would be decided by the last bit of a product.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/wide.hpp"

namespace ductile {

/// An exact decimal: a whole number over a power of ten, both up to 10^18.
///
/// A count n is compared with the product of a decimal d and a count m by whole numbers:
/// n > d m if n > floor_of(m), and n >= d m if n >= ceil_of(m).
class Decimal {
 public:
  static constexpr int kMostDigits = 18;  // in all, and behind the point

  constexpr Decimal() = default;
  constexpr explicit Decimal(int whole) : numerator_(whole) {}
  /// The shortest decimal that is read as this double: of 0.07 it is 7/100. Digits beyond the
  /// eighteenth behind the point are rounded; the value is cut to 10^18.
  explicit Decimal(double value);

  /// The number that all of `text` is, as `parse_number` reads it; nothing if it is none, or has
  /// more digits than a decimal.
  static std::optional<Decimal> parse(std::string_view text);

  /// The product with a count, rounded to a whole number: down, up, or to the nearest one and half
  /// up. The product has to fit into 127 bits.
  Wide floor_of(Wide count) const { return product(count).whole; }
  Wide ceil_of(Wide count) const {
    const Product exact = product(count);
    return exact.whole + (exact.rest > 0 ? 1 : 0);
  }
  Wide round_of(Wide count) const {
    const Product exact = product(count);
    return exact.whole + (2 * exact.rest >= unit_ ? 1 : 0);
  }

  /// The nearest double.
  explicit operator double() const;
  bool is_whole() const { return unit_ == 1; }

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
    return Wide{a.numerator_} * b.unit_ <=> Wide{b.numerator_} * a.unit_;
  }
  friend std::string to_text(const Decimal& decimal);

 private:
  struct Product {
    Wide whole;
    std::int64_t rest;  // of the unit, 0 .. unit - 1
  };
  Product product(Wide count) const;
  static std::optional<Decimal> read(std::string_view text, bool cut);

  std::int64_t numerator_ = 0, unit_ = 1;  // in lowest terms, as far as tens go
};

}  // namespace ductile
