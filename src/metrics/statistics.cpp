#include "metrics/statistics.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/random.hpp"

namespace ductile {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The continued fraction of the incomplete beta function (Numerical Recipes 6.4; Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto kept = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    const double step = d * c;
    result *= step;
    if (std::abs(step - 1) < 1e-15) break;
  }
  return result;
}

// std::lgamma writes a global variable.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// The regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// What all methods say of the pairs.
PairedComparison described(std::span<const double> baseline, std::span<const double> values) {
  PairedComparison result;
  result.pairs = values.size();
  if (values.empty()) return result;
  result.baseline = mean(baseline);
  result.value = mean(values);
  result.difference = result.value - result.baseline;
  result.ratio = result.baseline == 0 ? kNone : result.value / result.baseline;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = values[i] - baseline[i];
    if (difference * result.difference > 0 || (difference == 0 && result.difference == 0)) {
      ++result.agree;
    }
  }
  return result;
}

// Fieller: all ratios r for which the mean of value - r * baseline may be 0.
Interval95 ratio_interval(std::span<const double> baseline, std::span<const double> values,
                          const PairedComparison& its, double t) {
  const auto n = static_cast<double>(values.size());
  const double a = its.value, b = its.baseline;
  double aa = 0, ab = 0, bb = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double da = values[i] - a, db = baseline[i] - b;
    aa += da * da;
    ab += da * db;
    bb += db * db;
  }
  const double scale = t * t / (n * (n - 1));
  const double square = b * b - scale * bb, half = a * b - scale * ab, rest = a * a - scale * aa;
  if (square <= 0) return {};
  const double root = std::sqrt(std::max(half * half - square * rest, 0.0));
  return {(half - root) / square, (half + root) / square};
}

// The sum of r(k) over all lags k, weighted by a flat top, r the autocovariances: n times the
// variance of the mean, and with the weights |k| what the rule for the length of blocks needs.
struct Dependence {
  double variance = 0;  // r(0)
  double long_run = 0;  // sum of r(k)
  double weighted = 0;  // sum of |k| r(k)
};

// The bandwidth is chosen as Politis (2003) says: twice the lag behind which no correlation stands
// out.
Dependence dependence(std::span<const double> values) {
  const std::size_t n = values.size();
  const double center = mean(values);
  std::vector<double> off(values.begin(), values.end());
  for (double& value : off) value -= center;
  const auto covariance = [&](std::size_t lag) {
    std::array<double, 4> sums{};  // apart, so that none waits for the one before
    for (std::size_t i = lag; i < n; ++i) sums[i % 4] += off[i] * off[i - lag];
    return (sums[0] + sums[1] + sums[2] + sums[3]) / static_cast<double>(n);
  };
  Dependence result;
  result.variance = covariance(0);
  result.long_run = result.variance;
  if (!(result.variance > 0)) return result;
  const double log_n = std::log10(static_cast<double>(n));
  const auto in_a_row = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(log_n))));
  const double bound = 2 * std::sqrt(log_n / static_cast<double>(n));
  const auto most =
      std::min(n / 4, static_cast<std::size_t>(5 * std::sqrt(static_cast<double>(n))));
  std::vector<double> r{result.variance};
  std::size_t last = 0;  // lag that stands out
  for (std::size_t lag = 1; lag <= most && lag <= last + in_a_row; ++lag) {
    r.push_back(covariance(lag));
    if (std::abs(r.back()) > bound * result.variance) last = lag;
  }
  const std::size_t bandwidth = std::min(2 * std::max<std::size_t>(last, 1), most);
  while (r.size() <= bandwidth) r.push_back(covariance(r.size()));
  for (std::size_t lag = 1; lag <= bandwidth; ++lag) {
    const double share = static_cast<double>(lag) / static_cast<double>(bandwidth);
    const double weight = share <= 0.5 ? 1 : 2 * (1 - share);
    result.long_run += 2 * weight * r[lag];
    result.weighted += 2 * weight * static_cast<double>(lag) * r[lag];
  }
  return result;
}

std::size_t length_for(const Dependence& its, std::size_t n) {
  const auto most = std::max<std::size_t>(n / 10, 1);
  if (!(its.variance > 0)) return 1;
  // What is drawn in blocks of one shall not be taken for constant.
  const double long_run = std::max(its.long_run, its.variance * 1e-3);
  // Twice as long as is best for the variance: intervals hold more often what they should where
  // the dependence is long (tests/property/coverage_test.cpp), as is known of bandwidths (Sun,
  // Phillips and Jin 2008).
  const double wanted = 2 * std::cbrt(1.5 * its.weighted * its.weighted / (long_run * long_run) *
                                      static_cast<double>(n));
  return static_cast<std::size_t>(std::clamp(std::ceil(wanted), 1.0, static_cast<double>(most)));
}

// n times the variance of the mean, from all blocks that there are.
double block_variance(std::span<const double> sums, std::size_t block, double center) {
  double squares = 0;
  for (const double sum : sums) {
    const double off = sum / static_cast<double>(block) - center;
    squares += off * off;
  }
  return squares / static_cast<double>(sums.size()) * static_cast<double>(block);
}

// The sums of all blocks of neighbours.
std::vector<double> block_sums(std::span<const double> values, std::size_t block) {
  std::vector<double> sums;
  sums.reserve(values.size() - block + 1);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if (i >= block) sum -= values[i - block];
    if (i + 1 >= block) sums.push_back(sum);
  }
  return sums;
}

// Where 95 % of the replicates are, as many above as below, and how rare `at` is among them.
struct Tails {
  Interval95 quantiles{};
  double p = 1;
};
Tails tails_of(std::vector<double>& replicates, double at) {
  const auto above = std::ranges::count_if(replicates, [&](double its) { return its >= at; });
  const auto below = std::ranges::count_if(replicates, [&](double its) { return its <= at; });
  std::ranges::sort(replicates);
  const std::size_t last = replicates.size() - 1;
  const auto place = static_cast<std::size_t>(std::ceil(0.975 * static_cast<double>(last + 2))) - 1;
  const std::size_t high = std::min(place, last);
  return {{replicates[last - high], replicates[high]},
          std::min(1.0, 2 * static_cast<double>(std::min(above, below) + 1) /
                            static_cast<double>(last + 2))};
}

}  // namespace

double student_t_p(double t, double degrees) {
  if (std::isnan(t)) return kNone;
  if (std::isinf(t)) return 0;
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

PairedComparison compare_pairs(std::span<const double> baseline, std::span<const double> values) {
  PairedComparison result = described(baseline, values);
  if (result.pairs < 2) return result;
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - baseline[i]);
  const double half = mean_interval(differences).half_width;
  const double t = student_t_975(result.pairs - 1);
  result.difference_95 = {result.difference - half, result.difference + half};
  if (result.baseline != 0) result.ratio_95 = ratio_interval(baseline, values, result, t);
  result.p =
      half > 0 ? student_t_p(result.difference / (half / t), static_cast<double>(result.pairs - 1))
      : result.difference == 0 ? kNone
                               : 0;
  return result;
}

std::size_t block_length(std::span<const double> values) {
  return length_for(dependence(values), values.size());
}

PairedComparison compare_series(std::span<const double> baseline, std::span<const double> values,
                                std::uint64_t seed, std::size_t replicates) {
  // With fewer, intervals hold less than they should: 88 % at 200, 82 % at 100, of skewed values
  // with a correlation of neighbours of 0.8.
  constexpr std::size_t kFewest = 1000;
  // Where a mean is farther than that from the true one, in its own standard errors, blocks are too
  // few or too different to say anything.
  constexpr double kFarthest = 12;
  PairedComparison result = described(baseline, values);
  const std::size_t n = result.pairs;
  if (n < kFewest) return result;
  std::vector<double> differences(n);
  for (std::size_t i = 0; i < n; ++i) differences[i] = values[i] - baseline[i];
  const Dependence depends = dependence(differences);
  if (!(depends.variance > 0)) {
    result.difference_95 = {result.difference, result.difference};
    if (result.baseline != 0) result.ratio_95 = {result.ratio, result.ratio};
    result.p = result.difference == 0 ? kNone : 0;
    return result;
  }
  const bool has_ratio = result.baseline > 0 && result.value > 0;
  // What the logarithm of the ratio is made of, to the first order.
  std::vector<double> logs(has_ratio ? n : 0);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = values[i] / result.value - baseline[i] / result.baseline;
  }
  const Dependence depends_log = has_ratio ? dependence(logs) : Dependence{};
  const std::size_t block =
      std::max(length_for(depends, n), has_ratio ? length_for(depends_log, n) : 1);
  const std::size_t draws = n / block;  // of blocks
  result.block = block;
  result.replicates = replicates;

  const std::vector<double> of_values = block_sums(values, block),
                            of_baseline = block_sums(baseline, block);
  const auto size = static_cast<double>(block), count = static_cast<double>(draws);
  // What blocks drawn from all places have on average: not the mean of all pairs, as those at the
  // ends are in fewer blocks.
  const double center_value = mean(of_values) / size, center_baseline = mean(of_baseline) / size;
  const double center = center_value - center_baseline;
  const double center_log = has_ratio ? std::log(center_value / center_baseline) : 0;

  // The standard errors of what was seen. Blocks say too little of how much a mean varies where
  // values depend on each other over more than a block; the flat top does not, but may be negative.
  const auto error_of = [&](std::span<const double> series, const Dependence& its) {
    const double by_blocks = block_variance(block_sums(series, block), block, mean(series));
    return std::sqrt(std::max(by_blocks, its.long_run) / static_cast<double>(n));
  };
  const double error = error_of(differences, depends);
  const double error_log = has_ratio ? error_of(logs, depends_log) : 0;

  Draws random(seed, Stream::resampling, 0);
  std::vector<double> off_errors, off_logs, drawn_values(draws), drawn_baseline(draws);
  off_errors.reserve(replicates);
  off_logs.reserve(replicates);
  const auto places = static_cast<std::uint64_t>(of_values.size());
  for (std::size_t replicate = 0; replicate < replicates; ++replicate) {
    double sum_values = 0, sum_baseline = 0;
    for (std::size_t i = 0; i < draws; ++i) {
      const auto at = static_cast<std::size_t>(random.below(places));
      sum_values += drawn_values[i] = of_values[at] / size;
      sum_baseline += drawn_baseline[i] = of_baseline[at] / size;
    }
    const double value = sum_values / count, base = sum_baseline / count;
    double squares = 0, squares_log = 0;
    for (std::size_t i = 0; i < draws; ++i) {
      const double off = drawn_values[i] - drawn_baseline[i] - (value - base);
      squares += off * off;
      if (has_ratio) {
        const double off_log = drawn_values[i] / value - drawn_baseline[i] / base;
        squares_log += off_log * off_log;
      }
    }
    const double spread = count * (count - 1);
    const double off = value - base - center;
    off_errors.push_back(off == 0 ? 0 : off / std::sqrt(squares / spread));
    if (has_ratio) {
      const double off_log = std::log(value / base) - center_log;
      off_logs.push_back(off_log == 0 ? 0 : off_log / std::sqrt(squares_log / spread));
    }
  }
  const Tails tails = tails_of(off_errors, result.difference / error);
  result.p = tails.p;
  const auto interval = [](double at, const Interval95& quantiles, double its_error) {
    const Interval95 its{at - quantiles.high * its_error, at - quantiles.low * its_error};
    const bool is_sound = std::max(-quantiles.low, quantiles.high) <= kFarthest;
    return is_sound && std::isfinite(its.low) && std::isfinite(its.high) ? its : Interval95{};
  };
  result.difference_95 = interval(result.difference, tails.quantiles, error);
  if (std::isnan(result.difference_95.low)) {
    result.p = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  if (has_ratio && std::ranges::none_of(off_logs, [](double its) { return std::isnan(its); })) {
    const Interval95 logs_95 =
        interval(std::log(result.ratio), tails_of(off_logs, 0).quantiles, error_log);
    result.ratio_95 = {std::exp(logs_95.low), std::exp(logs_95.high)};
  }
  return result;
}

std::optional<std::size_t> warm_up_length(std::span<const double> values) {
  constexpr std::size_t kBatch = 5, kFewest = 10;
  const std::size_t count = values.size() / kBatch;
  if (count < kFewest) return std::nullopt;
  // From the last one on, each further mean changes mean and squares (Welford 1962). The last few
  // are few enough to be alike by chance (White et al. leave out the last five).
  double mean_so_far = 0, squares = 0, least = std::numeric_limits<double>::infinity();
  std::size_t cut = 0;
  for (std::size_t left = 1; left <= count; ++left) {
    const std::size_t at = count - left;
    const double value = mean(values.subspan(at * kBatch, kBatch));
    const double off = value - mean_so_far;
    mean_so_far += off / static_cast<double>(left);
    squares += off * (value - mean_so_far);
    const double error = squares / (static_cast<double>(left) * static_cast<double>(left));
    if (left <= kBatch || error > least) continue;
    least = error;
    cut = at;
  }
  if (2 * cut > count) return std::nullopt;
  return cut * kBatch;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> result(p.begin(), p.end());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, p[order[i]] * static_cast<double>(order.size() - i));
    result[order[i]] = std::min(largest, 1.0);
  }
  return result;
}

}  // namespace ductile
