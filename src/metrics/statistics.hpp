// Figures over several seeds, and how sure a difference is.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

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

/// The chance that Student's t is at least as far from 0 as `t`, to either side; `degrees` > 0.
double student_t_p(double t, double degrees);

/// From `low` to `high`; neither is a number where the interval is not known.
struct Interval95 {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// Two series of values of the same things, compared pair by pair. What is not known is not a
/// number: all of no pairs, intervals and p of one.
struct PairedComparison {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::size_t pairs = 0;
  double baseline = kNone, value = kNone;  // means
  double difference = kNone;               // value - baseline
  Interval95 difference_95{};
  double ratio = kNone;  // value / baseline
  Interval95 ratio_95{};
  double p = kNone;            // of no difference, two-sided
  std::size_t agree = 0;       // pairs whose difference has the sign of that of the means
  std::size_t block = 0;       // pairs in a block; of a bootstrap
  std::size_t replicates = 0;  // of a bootstrap

  /// No pair differs, so there is nothing whose chance could be asked for: there is no p.
  bool is_same() const { return pairs > 0 && agree == pairs && difference == 0; }
};

/// Of independent pairs whose differences are about normal, as the seeds of an experiment:
/// Student's t for the difference, and for the ratio of the means Fieller's interval (Fieller
/// 1954), which holds 1 exactly where that of the difference holds 0, and is not known where the
/// mean of the baseline itself may be 0.
PairedComparison compare_pairs(std::span<const double> baseline, std::span<const double> values);

/// How many values follow each other in a block, so that the blocks of a series say how much its
/// mean varies: twice the length of Politis and White (2004), as corrected by Patton, Politis and
/// White (2009) for blocks that overlap. At most n / 10.
std::size_t block_length(std::span<const double> values);

/// Of pairs in an order in which neighbours depend on each other, as the jobs of one log: blocks of
/// neighbours are drawn (moving blocks, Kuensch 1989), and what decides is the difference in its
/// standard errors (studentized, Goetze and Kuensch 1996), with as many replicates above the
/// interval as below it. The ratio in the same way, by its logarithm. The same arguments give the
/// same bits. Intervals are not known with fewer than 1,000 pairs, nor
/// where blocks of them are too few or too different.
PairedComparison compare_series(std::span<const double> baseline, std::span<const double> values,
                                std::uint64_t seed = 1, std::size_t replicates = 4999);

/// How many values at the beginning of a series are still under the influence of its start, by
/// MSER-5 (White, Cobb and Spratt 2000): in means of five values each, the cut after which the sum
/// of squares around the mean, by the square of how many means are left, is least. Nothing, if that
/// is in the second half, or if there are fewer than 10 means: the series is too short to tell.
std::optional<std::size_t> warm_up_length(std::span<const double> values);

/// Holm's correction (1979): p values as if each were of the only comparison made, so that the
/// chance that any of them is below 0.05 where nothing differs is at most 5 %. What is not a number
/// stays so and does not count.
std::vector<double> holm(std::span<const double> p);

}  // namespace ductile
