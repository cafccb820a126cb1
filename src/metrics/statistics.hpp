// Figures over several seeds.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace ductile {

/// The 97.5 % quantile of Student's t distribution: half of the width of a two-sided 95 % interval,
/// in standard errors. To 4 decimals; `degrees` > 0.
inline double student_t_975(std::size_t degrees) {
  constexpr std::array<double, 30> table = {
      12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
      2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
      2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};
  if (degrees <= table.size()) return table[degrees - 1];
  // The expansion around the normal quantile (Abramowitz and Stegun 26.7.5).
  constexpr double z = 1.959963984540054;
  constexpr double z3 = z * z * z, z5 = z3 * z * z;
  const auto n = static_cast<double>(degrees);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

/// A mean, and half the width of its 95 % confidence interval; not a number for fewer than two
/// values.
struct MeanInterval {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double half_width = std::numeric_limits<double>::quiet_NaN();
};

/// Of independent values that are about normal (Student 1908).
inline MeanInterval mean_interval(std::span<const double> values) {
  MeanInterval result;
  if (values.empty()) return result;
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  result.mean = sum / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.half_width = student_t_975(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return result;
}

}  // namespace ductile
