// The sizes a job may have.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/shared_list.hpp"

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
  enum class Kind : std::uint8_t { any, power_of_two, even, odd, cubic, multiple, list };
  /// More than any machine has: there is no such size.
  static constexpr Nodes kNone = ~Nodes{0};

  Kind kind = Kind::any;
  Nodes multiple_of = 1;         // for Kind::multiple
  SharedList<Nodes> sizes = {};  // for Kind::list: ascending, each once

  bool operator==(const SizeConstraint&) const = default;

  bool allows(Nodes n) const { return n > 0 && at_most(n) == n; }
  /// The largest allowed size <= n; 0 when there is none.
  Nodes at_most(Nodes n) const { return kind == Kind::any ? n : constrained_at_most(n); }
  /// The smallest allowed size >= n, at least 1; `kNone` when there is none.
  Nodes at_least(Nodes n) const {
    n = std::max<Nodes>(n, 1);
    return kind == Kind::any ? n : constrained_at_least(n);
  }
  /// The size in `range` that a job of `n` nodes goes to so that it gives back `nodes` of them, or
  /// more: the largest that does; if none does, the smallest there is; n if none is below it.
  Nodes after_giving(Nodes n, Nodes nodes, SizeRange range) const {
    const Nodes most = n > nodes ? at_most(std::min(n - nodes, range.max)) : 0;
    return std::min(n, std::max(at_least(range.min), most));
  }
  /// The size in `range` that a job of `n` nodes goes to with up to `nodes` more: the largest; n if
  /// none is above it.
  Nodes after_getting(Nodes n, Nodes nodes, SizeRange range) const {
    const Nodes room = range.max > n ? range.max - n : 0;
    return std::max(n, at_most(n + std::min(nodes, room)));
  }

 private:
  Nodes constrained_at_most(Nodes n) const;
  Nodes constrained_at_least(Nodes n) const;
};

/// The words of the kinds, as files and commands write them.
constexpr std::array<std::string_view, 7> kConstraintWords{"any",   "pof2",     "even", "odd",
                                                           "cubic", "multiple", "list"};

/// "any", "pof2", "even", "odd", "cubic", "multiple:4", "list:1:2:6".
std::string to_text(const SizeConstraint& constraint);
/// The other way round. Throws InputError, which names `place`.
SizeConstraint parse_constraint(std::string_view text, const Place& place = {});

}  // namespace ductile
