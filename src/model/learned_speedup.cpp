#include "model/learned_speedup.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ductile {
namespace {

/// A size: time of one unit, and how much it counts.
struct Point {
  double nodes, time, weight;
};

template <class Time>
double error_of(const std::vector<Point>& points, Time time) {
  double sum = 0;
  for (const Point& point : points) {
    const double relative = time(point.nodes) / point.time - 1;
    sum += point.weight * relative * relative;
  }
  return sum;
}

struct Fit {
  Speedup model{};
  double error = 0;
};

Fit fit_amdahl(const std::vector<Point>& points) {
  // s x + p y = 1 with x = 1 / t and y = 1 / (n t).
  double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;
  for (const Point& point : points) {
    const double x = 1 / point.time, y = x / point.nodes;
    xx += point.weight * x * x;
    xy += point.weight * x * y;
    yy += point.weight * y * y;
    x1 += point.weight * x;
    y1 += point.weight * y;
  }
  const double determinant = xx * yy - xy * xy;
  double s = (x1 * yy - y1 * xy) / determinant, p = (y1 * xx - x1 * xy) / determinant;
  if (s < 0) s = 0, p = y1 / yy;
  if (p < 0) p = 0, s = x1 / xx;
  const double error = error_of(points, [&](double n) { return s + p / n; });
  return {{Speedup::Kind::amdahl, s / (s + p)}, error};
}

Fit fit_power_law(const std::vector<Point>& points) {
  // A straight line through the logarithms.
  double weight = 0, x1 = 0, y1 = 0, xx = 0, xy = 0;
  for (const Point& point : points) {
    const double x = std::log(point.nodes), y = std::log(point.time);
    weight += point.weight;
    x1 += point.weight * x;
    y1 += point.weight * y;
    xx += point.weight * x * x;
    xy += point.weight * x * y;
  }
  constexpr double kMostRho = 0.999;
  const double slope =
      std::clamp((weight * xy - x1 * y1) / (weight * xx - x1 * x1), -1.0, kMostRho - 1);
  const double base = (y1 - slope * x1) / weight;
  const double error =
      error_of(points, [&](double n) { return std::exp(base + slope * std::log(n)); });
  return {{Speedup::Kind::powerlaw, 1 + slope}, error};
}

/// Observations of a size after which its curve is as uncertain as its mean time: if one is off by
/// 20 % and the best curve of two parameters by 5 %.
constexpr double kEnough = 16;

}  // namespace

void LearnedSpeedup::add(Nodes nodes, Duration time, std::uint64_t units) {
  if (nodes == 0 || time <= Duration{} || units == 0) return;
  Seen& seen = sizes_[nodes];
  seen.time += time;
  seen.units += units;
}

std::optional<Speedup> LearnedSpeedup::model() const {
  if (sizes_.size() < 2) return std::nullopt;
  std::vector<Point> points;
  for (const auto& [nodes, seen] : sizes_) {
    const auto units = static_cast<double>(seen.units);
    points.push_back(
        {static_cast<double>(nodes), to_seconds(seen.time) / units, units / (1 + units / kEnough)});
  }
  const Fit amdahl = fit_amdahl(points), power_law = fit_power_law(points);
  return amdahl.error <= power_law.error ? amdahl.model : power_law.model;
}

std::optional<Speedup> speedup_of_mtct(double mtct, Nodes nodes, std::uint32_t per_node) {
  const double processes = static_cast<double>(nodes) * per_node;
  if (processes < 2 || !(mtct >= 0)) return std::nullopt;
  const double serial = std::min(mtct / (processes - 1), 1.0);
  // Of one process. Of one node, the parallel part is done by all of its processes.
  return Speedup{Speedup::Kind::amdahl, serial / (serial + (1 - serial) / per_node)};
}

}  // namespace ductile
