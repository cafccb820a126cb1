// How the run time of an application depends on its size, and how much work it has left.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/shared_list.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"

namespace ductile {

/// A point of a measured model: the run time at a size, in any unit.
struct TimeAt {
  Nodes nodes = 0;
  double time = 0;
  bool operator==(const TimeAt&) const = default;
};

/// A performance model: the run time at a size relative to the run time at the preferred size.
///
///   linear     T(n) = T_ref n_ref / n
///   powerlaw   T(n) = T_ref (n_ref / n)^(1 - rho)                    rho in [0, 1)
///   amdahl     T(n) = T_ref (s + (1-s)/n) / (s + (1-s)/n_ref)        serial fraction s in [0, 1]
///   overhead   T(n) = T_ref ((1-x) n_ref / n + x n / n_ref)          overhead share x in [0, 1]
///   downey     T(n) = T_ref S(n_ref) / S(n)                          see `downey_speedup`
///   table      T(n) = T_ref t(n) / t(n_ref)                          t(n) as measured
///
/// A table holds at its points. Between two of them time is a power of size (a straight line where
/// both axes are logarithmic); below the first one it is as if work stayed the same (linear), and
/// above the last one more nodes change nothing: what was not measured is not promised.
struct Speedup {
  enum class Kind : std::uint8_t { linear, powerlaw, amdahl, overhead, downey, table };
  Kind kind = Kind::linear;
  double parameter = 0;           // rho, s, x, or downey's average parallelism A >= 1
  double sigma = 0;               // downey's variation of parallelism, >= 0
  SharedList<TimeAt> times = {};  // of a table: sizes ascend, times are above 0

  bool operator==(const Speedup&) const = default;

  /// T(n) / T(reference).
  double relative_time(Nodes n, Nodes reference) const {
    return kind == Kind::linear ? static_cast<double>(reference) / n
                                : curved_relative_time(n, reference);
  }

 private:
  double curved_relative_time(Nodes n, Nodes reference) const;
};

/// The words of the kinds, as files and commands write them.
constexpr std::array<std::string_view, 6> kSpeedupWords{"linear",   "powerlaw", "amdahl",
                                                        "overhead", "downey",   "table"};

/// "linear", "powerlaw:0.2", "amdahl:0.1", "overhead:0.01", "downey:64:0.5", "table:1=100:4=30".
std::string to_text(const Speedup& speedup);
/// The other way round. Throws InputError, which names `place`.
Speedup parse_speedup(std::string_view text, const Place& place = {});

/// How much faster `n` nodes are than one, for an application of average parallelism `a` >= 1 whose
/// parallelism varies by `sigma` >= 0 (Downey 1997): 0 is the ideal bound min(n, a).
double downey_speedup(double n, double a, double sigma);

/// Work is counted in node-microseconds at the preferred size: a job of `preferred` nodes and
/// `runtime` has preferred * runtime of it, and at any other size does what its model gives. Whole
/// numbers, so that the linear model is exact however often a job is resized; wide ones, for a week
/// of 2^24 nodes is more than 2^63.
using Work = Wide;

constexpr Work total_work(Nodes preferred, Duration runtime) {
  return Work{preferred} * runtime.count();
}

/// A job that shares nodes has some of the cores that it could use: as if at this share of its
/// speed. A fraction, so that work stays exact: 24 of 48 cores on each of two nodes are 48 of 96.
/// Where it loses by the others there it is of thousandths of cores: 43,200 of 96,000.
struct Pace {
  std::uint64_t has = 1, of = 1;

  double share() const { return static_cast<double>(has) / static_cast<double>(of); }
  friend bool operator==(const Pace& a, const Pace& b) {
    return Wide{a.has} * b.of == Wide{b.has} * a.of;
  }
  friend bool operator<(const Pace& a, const Pace& b) {
    return Wide{a.has} * b.of < Wide{b.has} * a.of;
  }
};

/// At which a job works: so many nodes. Where it is known how many cores it can use of each, work
/// is counted in core-microseconds, so that it is a whole number at any pace.
struct Crew {
  Nodes nodes = 0;
  std::uint32_t cores = 1;
  Pace pace{};

  Crew(Nodes n) : nodes(n) {}  // NOLINT(google-explicit-constructor): most jobs have whole nodes
  Crew(Nodes n, std::uint32_t cores_of_each, Pace its)
      : nodes(n), cores(cores_of_each), pace(its) {}
};

/// What a crew does in `time`.
Work work_done(const Speedup& speedup, Nodes preferred, const Crew& crew, Duration time);
/// How long a crew needs for `left`: rounded half up, at least one microsecond, and at most 2^62
/// of them, 146,000 years, to which other times can still be added.
Duration time_for(const Speedup& speedup, Nodes preferred, const Crew& crew, Work left);

}  // namespace ductile
