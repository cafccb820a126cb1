#include "experiment/paper_figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include "metrics/statistics.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"
#include "report/plot.hpp"

namespace ductile {
namespace {

struct DrawnPoint {
  double at = 0, low = 0, mean = 0, high = 0;
};

std::vector<DrawnPoint> points_of(const PaperFigure& figure, const std::string& policy,
                                  const Reproduced& its) {
  std::vector<DrawnPoint> points;
  for (std::size_t i = 0; i < figure.variants.size(); ++i) {
    const auto runs = its.runs.find({figure.variants[i], policy});
    if (runs == its.runs.end()) continue;
    std::vector<double> values;
    for (const Summary& run : runs->second) {
      values.push_back(figure_of(run, figure.figure).value_or(std::nan("")));
    }
    const MeanInterval mean = mean_interval(values);
    if (!std::isfinite(mean.mean)) continue;
    const double half = std::isfinite(mean.half_width) ? mean.half_width : 0;
    points.push_back({static_cast<double>(i), mean.mean - half, mean.mean, mean.mean + half});
  }
  return points;
}

}  // namespace

std::string name_of_drawing(const std::string& paper, const PaperFigure& figure) {
  std::string name = paper + "-";
  for (const char c : figure.name) {
    const bool is_letter =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_letter) {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.ends_with('-')) {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name + ".svg";
}

std::string draw_figure(const PaperFigure& figure, const Reproduced& its) {
  std::vector<std::vector<DrawnPoint>> curves;
  std::vector<LegendEntry> entries;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::string& policy : figure.policies) {
    curves.push_back(points_of(figure, policy, its));
    entries.push_back({policy, pen_of(entries.size())});
    for (const DrawnPoint& point : curves.back()) {
      low = std::min(low, point.low);
      high = std::max(high, point.high);
    }
  }
  if (low > high) return "";
  if (low == high) high = low + std::max(1.0, std::abs(low));

  constexpr std::size_t kTicks = 5;
  constexpr double kHigh = 190;
  const Look look{.width = 440, .font = 9};
  const Axis y = figure.figure.ends_with("_s") ? duration_range_axis(low, high, kTicks)
                                               : range_axis(low, high, kTicks);
  const auto count = static_cast<double>(figure.variants.size());
  Axis x{.low = -0.5, .high = count - 0.5};
  for (std::size_t i = 0; i < figure.variants.size(); ++i) {
    x.ticks.push_back({static_cast<double>(i), figure.variants[i]});
  }
  const double left = label_width(y, look) + 2.6 * look.font, top = look.margin() + 1.8 * look.font,
               bottom = top + kHigh + 2.2 * look.font;
  const double legend_height = legend(nullptr, look, left, bottom, entries);
  const std::unique_ptr<Canvas> canvas =
      svg_canvas(look.width, bottom + legend_height + look.margin(), figure.name);
  Panel panel(*canvas, look, {left, top, look.width - left - 2 * look.margin(), kHigh}, x, y);
  panel.axes();
  panel.title(with_unit(figure.figure, y));
  const double step = 0.5 / static_cast<double>(std::max<std::size_t>(curves.size(), 1));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Pen& pen = entries[i].pen;
    // Beside each other, so that all intervals are seen.
    const double aside =
        step * (static_cast<double>(i) - static_cast<double>(curves.size() - 1) / 2);
    std::vector<Spot> through;
    for (const DrawnPoint& point : curves[i]) {
      const double at = point.at + aside;
      through.push_back({at, point.mean});
      canvas->line(panel.at(at, point.low), panel.at(at, point.high),
                   {.colour = pen.colour, .width = 0.8});
      canvas->dot(panel.at(at, point.mean), 1.8, pen.colour);
    }
    panel.curve(through, {.colour = pen.colour, .width = 0.5, .dash = pen.dash});
  }
  legend(canvas.get(), look, left, bottom, entries);
  return canvas->finish();
}

}  // namespace ductile
