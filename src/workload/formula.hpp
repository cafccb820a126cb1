// Formulas in files: "flops / num_nodes^alpha".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ductile {

/// By name. One that is there and is no number, is NaN.
using Variables = std::map<std::string, double, std::less<>>;

/// An arithmetic expression over named numbers, or a number. It has the operators + - * / % ^,
/// comparisons, `and`, `or`, && and ||, c ? a : b, and the usual functions (min, max, abs, sqrt,
/// exp, log, log2, log10, floor, ceil, round, trunc, pow, ...); log is the natural one.
///
/// Copies share what was compiled: one thread at a time.
class Formula {
 public:
  /// Throws InputError if it cannot be understood.
  Formula(const std::string& text, Place place);
  explicit Formula(double number);

  bool uses(std::string_view name) const;
  /// Throws InputError if it uses a name that is not there, or is no number, or if it has no finite
  /// value.
  double value(const Variables& variables) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;  // none: a number
  double number_ = 0;
};

}  // namespace ductile
