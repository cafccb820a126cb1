// The main figures with their intervals over the seeds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "metrics/statistics.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {

std::vector<Figure> main_figures(std::span<const PolicyFiles> policies, const Look& look) {
  Figure figure;
  figure.name = "figures";
  const bool has_seeds = std::ranges::any_of(
      policies, [](const PolicyFiles& policy) { return policy.summaries.size() > 1; });
  figure.caption = fmt::format(
      "The main figures of each policy{}. The axes need not begin at 0.",
      has_seeds ? ": means over the seeds, with 95 % confidence intervals (Student's t). Where all "
                  "seeds have the same log they say nothing of another one"
                : "");
  figure.csv = "policy,figure,runs,mean,half_width_95\n";
  std::vector<std::string> names;
  for (const PolicyFiles& policy : policies) names.push_back(policy.policy);
  const std::span<const FigureQuantity> quantities = figure_quantities();
  std::vector<std::vector<MeanInterval>> means(quantities.size());
  std::vector<Axis> axes;
  const std::size_t ticks = look.width > 60 * 5 ? 6 : 4;
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    const FigureQuantity& quantity = quantities[q];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const PolicyFiles& policy : policies) {
      std::vector<double> values;
      for (const Summary& summary : policy.summaries) {
        const double value = quantity.of_run(summary);
        if (std::isfinite(value)) values.push_back(value);
      }
      const MeanInterval& its = means[q].emplace_back(mean_interval(values));
      if (values.empty()) continue;
      const double half = std::isfinite(its.half_width) ? its.half_width : 0;
      low = std::min(low, its.mean - half);
      high = std::max(high, its.mean + half);
      append_field(figure.csv, policy.policy);
      const bool is_share = quantity.unit == FigureQuantity::Unit::percent;
      figure.csv +=
          fmt::format(",{}{},{},", quantity.key, is_share ? "_percent" : "", values.size());
      append_number(figure.csv, its.mean);
      figure.csv += ',';
      if (values.size() > 1) append_number(figure.csv, half);
      figure.csv += '\n';
    }
    if (!(low <= high)) low = high = 0;
    // Intervals may reach below 0, where no figure is.
    low = std::max(low, 0.0);
    axes.push_back(quantity.unit == FigureQuantity::Unit::seconds
                       ? duration_range_axis(low, high, ticks)
                       : range_axis(low, high, ticks));
    if (quantity.unit == FigureQuantity::Unit::percent) axes.back().unit = "%";
  }
  const double names_wide = names_width(names, look);
  const double left = look.margin() + names_wide + look.font;
  const double row = 1.3 * look.font, title = 1.7 * look.font, foot = 1.8 * look.font;
  const double each = title + row * static_cast<double>(names.size()) + foot;
  figure.height = look.margin() + each * static_cast<double>(quantities.size());
  figure.draw = [=](Canvas& canvas) {
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      const Area plot{left, look.margin() + each * static_cast<double>(q) + title,
                      look.width - left - 1.5 * look.font, row * static_cast<double>(names.size())};
      const auto count = static_cast<double>(names.size());
      Panel panel(canvas, look, plot, axes[q], {.low = 0, .high = count});
      panel.axes();
      panel.title(with_unit(title_of_run(quantities[q]), axes[q]));
      for (std::size_t i = 0; i < names.size(); ++i) {
        const double at = count - 0.5 - static_cast<double>(i);
        const MeanInterval& its = means[q][i];
        const Spot spot = panel.at(std::isfinite(its.mean) ? its.mean : axes[q].low, at);
        canvas.text({left - look.font, spot.y + 0.35 * look.font},
                    fitting(names[i], look.font, names_wide), look.letters(Anchor::end));
        if (!std::isfinite(its.mean)) {
          canvas.text({left + 2, spot.y + 0.35 * look.font}, "not known",
                      look.letters(Anchor::start, kSoft));
          continue;
        }
        if (std::isfinite(its.half_width)) {
          const double from = panel.at(its.mean - its.half_width, at).x;
          const double to = panel.at(its.mean + its.half_width, at).x;
          canvas.line({from, spot.y}, {to, spot.y}, {.colour = kColours[0], .width = 1.2});
        }
        canvas.dot(spot, 0.28 * look.font, kColours[0]);
      }
    }
  };
  return {std::move(figure)};
}

}  // namespace ductile
