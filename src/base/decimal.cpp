#include "base/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace ductile {
namespace {

constexpr auto kPowers = [] {
  std::array<std::int64_t, Decimal::kMostDigits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();
constexpr std::int64_t kMost = kPowers.back();

bool is_digit(char c) { return '0' <= c && c <= '9'; }

struct Quotient {
  Wide whole;
  std::int64_t rest;
};

// Rounded down; `unit` > 0.
Quotient divided(Wide number, std::int64_t unit) {
  const auto narrow = static_cast<std::int64_t>(number);  // divided much faster
  Wide whole = narrow == number ? narrow / unit : number / unit;
  auto rest = static_cast<std::int64_t>(number - whole * unit);
  if (rest < 0) {
    --whole;
    rest += unit;
  }
  return {whole, rest};
}

}  // namespace

// With `cut`, digits that do not fit are rounded; else there is nothing then.
std::optional<Decimal> Decimal::read(std::string_view text, bool cut) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  // The digits from the first one that is not 0 on, and the power of ten of the last one of them.
  std::string digits;
  int power = 0;
  bool any = false, behind_point = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !behind_point)); ++at) {
    if (text[at] == '.') {
      behind_point = true;
      continue;
    }
    any = true;
    if (behind_point) --power;
    if (!digits.empty() || text[at] != '0') digits += text[at];
  }
  if (!any) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    std::string_view exponent = text.substr(at + 1);
    if (exponent.starts_with('+') && !exponent.starts_with("+-")) exponent.remove_prefix(1);
    const auto shift = parse_number<int>(exponent);
    constexpr int kMostShift = 1'000'000;
    if (!shift) return std::nullopt;
    power += std::clamp(*shift, -kMostShift, kMostShift);
  }
  while (digits.ends_with('0')) {
    digits.pop_back();
    ++power;
  }
  if (digits.empty()) return Decimal{};

  bool up = false;
  if (cut && power < -kMostDigits) {
    const std::size_t gone = static_cast<std::size_t>(-kMostDigits - power);
    if (gone > digits.size()) return Decimal{};
    up = digits[digits.size() - gone] >= '5';
    digits.erase(digits.size() - gone);
    power = -kMostDigits;
  }
  const int size = static_cast<int>(digits.size()) + std::max(power, 0);
  const bool fits =
      power >= -kMostDigits && (size <= kMostDigits || (size == kMostDigits + 1 && digits == "1"));
  if (!fits && !cut) return std::nullopt;
  Decimal result;
  if (fits) {
    for (const char digit : digits) result.numerator_ = 10 * result.numerator_ + (digit - '0');
    result.numerator_ += up ? 1 : 0;
    result.numerator_ *= kPowers[static_cast<std::size_t>(std::max(power, 0))];
    result.unit_ = kPowers[static_cast<std::size_t>(std::max(-power, 0))];
    while (result.unit_ > 1 && result.numerator_ % 10 == 0) {
      result.numerator_ /= 10;
      result.unit_ /= 10;
    }
  } else {
    result.numerator_ = kMost;
  }
  if (negative) result.numerator_ = -result.numerator_;
  return result;
}

std::optional<Decimal> Decimal::parse(std::string_view text) { return read(text, false); }

Decimal::Decimal(double value) {
  std::string text;
  append_number(text, value);
  *this = read(text, true).value();
}

Decimal::Product Decimal::product(Wide count) const {
  if (count == static_cast<std::int64_t>(count)) {
    const Quotient all = divided(count * numerator_, unit_);
    return {all.whole, all.rest};
  }
  // The multiples of the unit apart from the rest, so that neither product needs more bits than
  // there are.
  const Quotient of_count = divided(count, unit_);
  const Quotient of_rest = divided(Wide{of_count.rest} * numerator_, unit_);
  return {of_count.whole * numerator_ + of_rest.whole, of_rest.rest};
}

Decimal::operator double() const {
  const std::string text = to_text(*this);
  return parse_number<double>(text).value();
}

std::string to_text(const Decimal& decimal) {
  const Quotient parts = divided(std::abs(decimal.numerator_), decimal.unit_);
  std::string text = decimal.numerator_ < 0 ? "-" : "";
  append_number(text, static_cast<std::int64_t>(parts.whole));
  if (parts.rest == 0) return text;
  text += '.';
  std::int64_t rest = parts.rest;
  for (std::int64_t place = decimal.unit_ / 10; place > 0; place /= 10) {
    text += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return text;
}

}  // namespace ductile
