// How the machine keeps to its power corridor: for how long, and by how much, it was outside.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.hpp"
#include "base/wide.hpp"

namespace ductile {

/// Between so many milliwatts; no upper one: any.
struct PowerBounds {
  std::int64_t low_mw = 0;
  std::optional<std::int64_t> high_mw{};
  bool operator==(const PowerBounds&) const = default;
};

/// Sums up since it began. What is drawn is constant from one `note` to the next.
class CorridorWatch {
 public:
  /// To be outside for longer than this is a violation: one tick of the policies that keep it.
  static constexpr Duration kGrace = whole_seconds(30);

  struct Figures {
    Duration outside{};
    double outside_ws = 0;  // watts beyond the nearer bound, times seconds
    std::uint64_t excursions = 0, violations = 0;
    Duration excursion{};  // that lasts
    bool is_outside = false;
  };

  /// From now on these are the bounds; an excursion ends with those before.
  void set_bounds(Time now, const std::optional<PowerBounds>& bounds);
  /// From now on so much is drawn.
  void note(Time now, std::int64_t drawn_mw);
  /// Up to now; an excursion that lasts counts, and is a violation as soon as it is too long.
  Figures at(Time now) const;
  const std::optional<PowerBounds>& bounds() const { return bounds_; }

 private:
  std::int64_t beyond_mw() const;
  void pass(Time until);
  void end_excursion();

  std::optional<PowerBounds> bounds_{};
  std::int64_t drawn_mw_ = 0;
  Time since_{};
  Figures sums_{};
  Wide outside_nj_ = 0;
};

}  // namespace ductile
