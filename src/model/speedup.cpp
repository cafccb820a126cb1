#include "model/speedup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ductile {
namespace {

__extension__ using Wide = __int128;

// Nodes at which the linear model would be as fast as this one is at n.
double effective_nodes(const Speedup& speedup, Nodes preferred, Nodes n) {
  return preferred / speedup.relative_time(n, preferred);
}

// To the nearest whole number, or the largest one there is.
Work rounded(double value) {
  constexpr auto kMost = std::numeric_limits<Work>::max();
  return value < static_cast<double>(kMost) ? std::llround(value) : kMost;
}

}  // namespace

double Speedup::relative_time(Nodes n, Nodes reference) const {
  const double ratio = static_cast<double>(reference) / n;
  switch (kind) {
    case Kind::linear:
      return ratio;
    case Kind::powerlaw:
      return std::pow(ratio, 1 - parameter);
    case Kind::amdahl:
      return (parameter + (1 - parameter) / n) / (parameter + (1 - parameter) / reference);
    case Kind::overhead:
      return (1 - parameter) * ratio + parameter / ratio;
  }
  return ratio;
}

Work total_work(Nodes preferred, Duration runtime) {
  Work work = 0;
  const bool fits = !__builtin_mul_overflow(static_cast<Work>(preferred), runtime.count(), &work);
  return fits ? work : std::numeric_limits<Work>::max();
}

Work work_done(const Speedup& speedup, Nodes preferred, Nodes n, Duration time) {
  if (speedup.kind == Speedup::Kind::linear || n == preferred) return total_work(n, time);
  return rounded(effective_nodes(speedup, preferred, n) * static_cast<double>(time.count()));
}

Duration time_for(const Speedup& speedup, Nodes preferred, Nodes n, Work left) {
  left = std::max<Work>(left, 0);
  const auto exact = [&] { return static_cast<Work>((Wide{2} * left + n) / (Wide{2} * n)); };
  const bool linear = speedup.kind == Speedup::Kind::linear || n == preferred;
  const Work ticks =
      linear ? exact()
             : rounded(static_cast<double>(left) / effective_nodes(speedup, preferred, n));
  return std::max(Duration{ticks}, kTick);
}

}  // namespace ductile
