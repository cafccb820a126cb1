// How the run time of an application depends on its size, and how much work it has left.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace ductile {

/// A performance model: the run time at a size relative to the run time at the preferred size.
///
///   linear     T(n) = T_ref n_ref / n
///   powerlaw   T(n) = T_ref (n_ref / n)^(1 - rho)                    parameter rho in [0, 1)
///   amdahl     T(n) = T_ref (s + (1-s)/n) / (s + (1-s)/n_ref)        serial fraction s in [0, 1]
///   overhead   T(n) = T_ref ((1-x) n_ref / n + x n / n_ref)          overhead share x in [0, 1]
struct Speedup {
  enum class Kind : std::uint8_t { linear, powerlaw, amdahl, overhead };
  Kind kind = Kind::linear;
  double parameter = 0;

  bool operator==(const Speedup&) const = default;

  /// T(n) / T(reference).
  double relative_time(Nodes n, Nodes reference) const;
};

/// Work is counted in node-microseconds at the preferred size: a job of `preferred` nodes and
/// `runtime` has preferred * runtime of it, and at any other size does what its model gives. Whole
/// numbers, so that the linear model is exact however often a job is resized.
using Work = std::int64_t;

/// The largest number there is where the product would be larger still.
Work total_work(Nodes preferred, Duration runtime);
/// What `n` nodes do in `time`.
Work work_done(const Speedup& speedup, Nodes preferred, Nodes n, Duration time);
/// How long `n` nodes need for `left`: rounded half up, at least one microsecond.
Duration time_for(const Speedup& speedup, Nodes preferred, Nodes n, Work left);

}  // namespace ductile
