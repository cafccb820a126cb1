// The sizes a job may have.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/ids.hpp"

namespace ductile {

/// Smallest and largest size, both included.
struct SizeRange {
  Nodes min = 0, max = 0;
  bool operator==(const SizeRange&) const = default;
  constexpr bool contains(Nodes n) const { return min <= n && n <= max; }
};

constexpr SizeRange exactly(Nodes n) { return {n, n}; }

/// Which sizes inside its range an application can run at (Chadha, John and Gerndt, HiPC 2020).
struct SizeConstraint {
  enum class Kind : std::uint8_t { any, power_of_two, even, odd, cubic, multiple };
  Kind kind = Kind::any;
  Nodes multiple_of = 1;  // for Kind::multiple

  bool operator==(const SizeConstraint&) const = default;

  bool allows(Nodes n) const { return n > 0 && at_most(n) == n; }
  /// The largest allowed size <= n; 0 when there is none.
  Nodes at_most(Nodes n) const {
    switch (kind) {
      case Kind::any:
        return n;
      case Kind::power_of_two:
        return n == 0 ? 0 : Nodes{1} << (31 - __builtin_clz(n));
      case Kind::even:
        return n & ~Nodes{1};
      case Kind::odd:
        return n == 0 ? 0 : n - (n % 2 == 0 ? 1 : 0);
      case Kind::cubic:
        return cube(cube_root(n));
      case Kind::multiple:
        return n - n % multiple_of;
    }
    return n;
  }
  /// The smallest allowed size >= n; at least 1.
  Nodes at_least(Nodes n) const {
    n = std::max<Nodes>(n, 1);
    if (allows(n)) return n;
    switch (kind) {
      case Kind::any:
        return n;
      case Kind::power_of_two:
        return at_most(n) * 2;
      case Kind::even:
      case Kind::odd:
        return n + 1;
      case Kind::cubic:
        return cube(cube_root(n) + 1);
      case Kind::multiple:
        return n - n % multiple_of + multiple_of;
    }
    return n;
  }

 private:
  static Nodes cube(Nodes k) { return k * k * k; }
  static Nodes cube_root(Nodes n) {
    auto k = static_cast<Nodes>(std::cbrt(static_cast<double>(n)));
    while (k > 0 && std::uint64_t{k} * k * k > n) --k;
    while (std::uint64_t{k + 1} * (k + 1) * (k + 1) <= n) ++k;
    return k;
  }
};

}  // namespace ductile
