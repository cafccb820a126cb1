#include "live/corridor_watch.hpp"

#include <algorithm>
#include <utility>

namespace ductile {

std::int64_t CorridorWatch::beyond_mw() const {
  if (!bounds_) return 0;
  const std::int64_t above = bounds_->high_mw ? drawn_mw_ - *bounds_->high_mw : 0;
  return std::max({bounds_->low_mw - drawn_mw_, above, std::int64_t{0}});
}

void CorridorWatch::pass(Time until) {
  const Duration length = std::max(until - since_, Duration{});
  since_ = std::max(since_, until);
  const std::int64_t beyond = beyond_mw();
  if (beyond == 0 || length == Duration{}) return;
  sums_.is_outside = true;
  sums_.excursion += length;
  sums_.outside += length;
  outside_nj_ += Wide{beyond} * length.count();
  sums_.outside_ws = static_cast<double>(outside_nj_) / 1e9;
}

void CorridorWatch::end_excursion() {
  if (!std::exchange(sums_.is_outside, false)) return;
  ++sums_.excursions;
  sums_.violations += sums_.excursion > kGrace ? 1 : 0;
  sums_.excursion = {};
}

void CorridorWatch::set_bounds(Time now, const std::optional<PowerBounds>& bounds) {
  pass(now);
  if (bounds == bounds_) return;
  bounds_ = bounds;
  end_excursion();
}

void CorridorWatch::note(Time now, std::int64_t drawn_mw) {
  pass(now);
  drawn_mw_ = drawn_mw;
  if (beyond_mw() == 0) end_excursion();
}

CorridorWatch::Figures CorridorWatch::at(Time now) const {
  CorridorWatch its = *this;
  its.pass(now);
  Figures figures = its.sums_;
  if (figures.is_outside) {
    ++figures.excursions;
    figures.violations += figures.excursion > kGrace ? 1 : 0;
  }
  figures.is_outside = beyond_mw() > 0;
  return figures;
}

}  // namespace ductile
