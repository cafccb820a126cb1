#include "workload/marginal.hpp"

#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {

double Marginal::draw(Draws& draws) const {
  switch (kind) {
    case Kind::fixed:
      return first;
    case Kind::uniform:
      return draws.uniform(first, second);
    case Kind::loguniform:
      return first * std::pow(second / first, draws.uniform());
    case Kind::exponential:
      return draws.exponential(first);
    case Kind::lognormal:
      return first * std::exp(second * draws.normal());
  }
  return first;
}

double Marginal::mean() const {
  switch (kind) {
    case Kind::fixed:
    case Kind::exponential:
      return first;
    case Kind::uniform:
      return (first + second) / 2;
    case Kind::loguniform:
      return first == second ? first : (second - first) / std::log(second / first);
    case Kind::lognormal:
      return first * std::exp(second * second / 2);
  }
  return first;
}

double Marginal::share_up_to(double value) const {
  switch (kind) {
    case Kind::fixed:
      break;
    case Kind::exponential:
      return value <= 0 ? 0 : -std::expm1(-value / first);
    case Kind::uniform:
    case Kind::loguniform:
      if (value < first) return 0;
      if (value >= second) return 1;
      return kind == Kind::uniform ? (value - first) / (second - first)
                                   : std::log(value / first) / std::log(second / first);
    case Kind::lognormal:
      if (value <= 0) return 0;
      if (second == 0) break;
      return 0.5 * std::erfc(-std::log(value / first) / second / std::numbers::sqrt2);
  }
  return value < first ? 0 : 1;
}

Marginal parse_marginal(std::string_view field, std::string_view text, double min, double max) {
  using Kind = Marginal::Kind;
  const Place place{.field = std::string(field)};
  const auto wrong = [&](std::string_view why) {
    return InputError(place, fmt::format("'{}' {}", text, why),
                      "write V, uniform:A..B, loguniform:A..B, exponential:MEAN or "
                      "lognormal:MEDIAN:SIGMA");
  };
  const auto number = [&](std::string_view part, double least, double most) {
    const auto value = parse_number<double>(part);
    if (!value || !(least <= *value && *value <= most)) {
      throw wrong(fmt::format("has '{}' where a number from {} to {} belongs", part, least, most));
    }
    return *value;
  };
  if (text.find(':') == std::string_view::npos) return {Kind::fixed, number(text, min, max), 0};
  std::string_view rest = text;
  const auto kind = from_word<Kind>(kMarginalWords, next_part(rest, ':'));
  if (!kind) throw wrong("is no distribution");
  Marginal marginal{.kind = *kind};
  if (*kind == Kind::uniform || *kind == Kind::loguniform) {
    const std::size_t dots = rest.find("..");
    if (dots == std::string_view::npos) throw wrong("has no range");
    marginal.first = number(rest.substr(0, dots), min, max);
    marginal.second = number(rest.substr(dots + 2), min, max);
    if (marginal.second < marginal.first) throw wrong("has an empty range");
    if (*kind == Kind::loguniform && marginal.first <= 0) throw wrong("begins at 0");
    return marginal;
  }
  marginal.first = number(*kind == Kind::lognormal ? next_part(rest, ':') : rest, min, max);
  if (*kind == Kind::lognormal) marginal.second = number(rest, 0, 10);
  if (*kind != Kind::fixed && marginal.first <= 0) throw wrong("is of 0");
  return marginal;
}

}  // namespace ductile
