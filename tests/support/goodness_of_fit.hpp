// How far samples are from a distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {

/// The distance of Kolmogorov and Smirnov of samples from a distribution, which may have steps:
/// `share_up_to` is that of values up to this one.
inline double ks_distance(std::vector<double> samples,
                          const std::function<double(double)>& share_up_to) {
  std::ranges::sort(samples);
  const auto all = static_cast<double>(samples.size());
  double distance = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i + 1 < samples.size() && samples[i + 1] == samples[i]) continue;
    const double expected = share_up_to(samples[i]);
    distance = std::max(distance, std::abs(static_cast<double>(i + 1) / all - expected));
  }
  return distance;
}

/// The same of two samples.
inline double ks_distance(const std::vector<double>& samples, std::vector<double> others) {
  std::ranges::sort(others);
  return ks_distance(samples, [&](double value) {
    const auto above = std::ranges::upper_bound(others, value);
    return static_cast<double>(above - others.begin()) / static_cast<double>(others.size());
  });
}

/// What the distance of `count` independent samples exceeds in one of a thousand cases.
inline double ks_limit(std::size_t count) { return 1.95 / std::sqrt(static_cast<double>(count)); }

/// Pearson's chi-square of counts against expected shares stays below what it exceeds in one of a
/// thousand cases (by Wilson and Hilferty's approximation). Bins where fewer than five are expected
/// count as one.
inline void expect_shares(const std::vector<double>& counts, const std::vector<double>& shares) {
  ASSERT_EQ(counts.size(), shares.size());
  double all = 0;
  for (const double count : counts) all += count;
  double square = 0, rest = 0, expected_rest = 0, bins = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = shares[i] * all;
    if (expected < 5) {
      rest += counts[i];
      expected_rest += expected;
      continue;
    }
    square += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++bins;
  }
  if (expected_rest >= 5) {
    square += (rest - expected_rest) * (rest - expected_rest) / expected_rest;
    ++bins;
  } else {
    EXPECT_LE(rest, expected_rest + 15);
  }
  ASSERT_GT(bins, 1);
  const double freedom = bins - 1;
  const double part = 2 / (9 * freedom);
  const double root = 1 - part + 3.09 * std::sqrt(part);
  EXPECT_LT(square, freedom * root * root * root) << bins << " bins";
}

}  // namespace ductile
