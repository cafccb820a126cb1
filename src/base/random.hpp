// Random numbers without a generator's state: a number is a function of what it is for.
//
// Every draw is keyed by (seed, stream, who, how many-th). So two policies meet the same jobs, a
// copied core draws what the original draws, and no draw moves another one.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/ids.hpp"
#include "base/wide.hpp"

namespace ductile {

/// What a random number is for. One stream never moves another.
enum class Stream : std::uint64_t {
  policy = 1,
  workload,
  adaptive,
  evolving,
  resize_delay,
  resize_refusal,
  resize_loss,
  resize_repeat,
  failure,
  start_failure,
  start_delay,
  estimates,
  test,
  mtct,
  mtct_drift,
  bounds,
  shuffle,
  resampling,
};

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection that mixes all bits.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The random number of (seed, stream, who, draw), uniform over 64 bits.
constexpr std::uint64_t random_bits(std::uint64_t seed, Stream stream, std::uint64_t who,
                                    std::uint64_t draw) {
  return mixed(mixed(mixed(mixed(seed) ^ static_cast<std::uint64_t>(stream)) ^ who) ^ draw);
}

/// Uniform in [0, 1) with 53 bits.
constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

/// A sequence of draws for one (seed, stream, who). Cheap to make; make it where it is needed.
class Draws {
 public:
  constexpr Draws(std::uint64_t seed, Stream stream, std::uint64_t who)
      : key_(mixed(mixed(mixed(seed) ^ static_cast<std::uint64_t>(stream)) ^ who)) {}

  constexpr std::uint64_t bits() { return mixed(key_ ^ draw_++); }
  /// Uniform in [0, 1).
  constexpr double uniform() { return unit(bits()); }
  /// Uniform in [low, high).
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform over the whole numbers 0 .. n-1; n > 0. The bias is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((UnsignedWide{bits()} * n) >> 64);
  }
  constexpr bool chance(double probability) { return uniform() < probability; }
  /// Exponential with the given mean.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  /// Standard normal (Box and Muller 1958; one of the pair).
  double normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }
  /// Gamma with the given shape >= 1 and scale; the mean is their product (Marsaglia and Tsang
  /// 2000).
  double gamma(double shape, double scale) {
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log1p(-uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return d * v * scale;
    }
  }

 private:
  std::uint64_t key_;
  std::uint64_t draw_ = 0;
};

}  // namespace ductile
