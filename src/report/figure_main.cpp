// The main figures with their intervals over the seeds, and why jobs were resized.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "metrics/statistics.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

struct MainQuantity {
  std::string_view name, title;
  bool is_time;
  double (*value)(const Summary&);
};

constexpr std::array<MainQuantity, 5> kMainQuantities{
    {{"mean_wait_s", "mean wait", true, [](const Summary& s) { return s.mean_wait_s; }},
     {"mean_turnaround_s", "mean turnaround", true,
      [](const Summary& s) { return s.mean_turnaround_s; }},
     {"mean_bounded_slowdown", "mean bounded slowdown", false,
      [](const Summary& s) { return s.mean_bounded_slowdown; }},
     {"utilization_percent", "utilization (%)", false,
      [](const Summary& s) { return 100 * s.utilization; }},
     {"makespan_s", "makespan", true, [](const Summary& s) { return s.makespan_s; }}}};

double policy_width(std::span<const PolicyFiles> policies, const Look& look) {
  double width = 0;
  for (const PolicyFiles& each : policies) {
    width = std::max(width, text_width(each.policy, look.font));
  }
  return std::min(width, 0.4 * look.width);
}

}  // namespace

std::vector<Figure> main_figures(std::span<const PolicyFiles> policies, const Look& look) {
  Figure figure;
  figure.name = "figures";
  const bool has_seeds = std::ranges::any_of(
      policies, [](const PolicyFiles& policy) { return policy.summaries.size() > 1; });
  figure.caption = fmt::format(
      "The main figures of each policy{}. The axes need not begin at 0.",
      has_seeds ? ": means over the seeds, with 95 % confidence intervals (Student's t)" : "");
  figure.csv = "policy,figure,runs,mean,half_width_95\n";
  std::vector<std::string> names;
  for (const PolicyFiles& policy : policies) names.push_back(policy.policy);
  std::vector<std::vector<MeanInterval>> means(kMainQuantities.size());
  std::vector<Axis> axes;
  const std::size_t ticks = look.width > 60 * 5 ? 6 : 4;
  for (std::size_t q = 0; q < kMainQuantities.size(); ++q) {
    const MainQuantity& quantity = kMainQuantities[q];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const PolicyFiles& policy : policies) {
      std::vector<double> values;
      for (const Summary& summary : policy.summaries) {
        const double value = quantity.value(summary);
        if (std::isfinite(value)) values.push_back(value);
      }
      const MeanInterval& its = means[q].emplace_back(mean_interval(values));
      if (values.empty()) continue;
      const double half = std::isfinite(its.half_width) ? its.half_width : 0;
      low = std::min(low, its.mean - half);
      high = std::max(high, its.mean + half);
      append_field(figure.csv, policy.policy);
      figure.csv += fmt::format(",{},{},", quantity.name, values.size());
      append_number(figure.csv, its.mean);
      figure.csv += ',';
      if (values.size() > 1) append_number(figure.csv, half);
      figure.csv += '\n';
    }
    if (!(low <= high)) low = high = 0;
    // Intervals may reach below 0, where no figure is.
    low = std::max(low, 0.0);
    axes.push_back(quantity.is_time ? duration_range_axis(low, high, ticks)
                                    : range_axis(low, high, ticks));
  }
  const double names_wide = policy_width(policies, look);
  const double left = look.margin() + names_wide + look.font;
  const double row = 1.3 * look.font, title = 1.7 * look.font, foot = 1.8 * look.font;
  const double each = title + row * static_cast<double>(names.size()) + foot;
  figure.height = look.margin() + each * static_cast<double>(kMainQuantities.size());
  figure.draw = [=](Canvas& canvas) {
    for (std::size_t q = 0; q < kMainQuantities.size(); ++q) {
      const Area plot{left, look.margin() + each * static_cast<double>(q) + title,
                      look.width - left - 1.5 * look.font, row * static_cast<double>(names.size())};
      const auto count = static_cast<double>(names.size());
      Panel panel(canvas, look, plot, axes[q], {.low = 0, .high = count});
      panel.axes();
      panel.title(with_unit(kMainQuantities[q].title, axes[q]));
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

std::vector<Figure> resize_figures(std::span<const PolicyFiles> policies, const Look& look) {
  struct ResizeCounts {
    double grown = 0, cut = 0;
  };
  std::map<std::string, std::vector<ResizeCounts>> by_reason;
  double most = 0;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto runs = static_cast<double>(policies[i].summaries.size());
    for (const ResizeRow& row : policies[i].resizes) {
      if (row.after == row.before) continue;
      std::vector<ResizeCounts>& its = by_reason[row.reason];
      its.resize(policies.size());
      (row.after > row.before ? its[i].grown : its[i].cut) += 1 / runs;
    }
  }
  if (by_reason.empty()) return {};
  Figure figure;
  figure.name = "resizes";
  figure.caption =
      "How often running jobs grew and shrank, by the reason of the order, as means over the "
      "seeds.";
  figure.csv = "policy,reason,grown,shrunk\n";
  std::vector<std::string> names, reasons;
  for (const auto& [reason, its] : by_reason) reasons.push_back(reason);
  std::vector<std::vector<ResizeCounts>> counts;  // by policy and reason
  for (std::size_t i = 0; i < policies.size(); ++i) {
    names.push_back(policies[i].policy);
    std::vector<ResizeCounts>& its = counts.emplace_back();
    for (const std::string& reason : reasons) {
      const ResizeCounts& each = its.emplace_back(by_reason[reason][i]);
      most = std::max(most, each.grown + each.cut);
      append_field(figure.csv, policies[i].policy);
      append_number(figure.csv.append(",").append(reason).append(","), each.grown);
      append_number(figure.csv += ',', each.cut);
      figure.csv += '\n';
    }
  }
  const Axis x = number_axis(most, static_cast<std::size_t>(look.width / look.font / 7));
  double left = 0;
  for (const std::string& reason : reasons) left = std::max(left, text_width(reason, look.font));
  left += look.margin() + look.font;
  const std::vector<LegendEntry> entries{{"grown", {kColours[0]}, true},
                                         {"shrunk", {kColours[5]}, true}};
  const double row = 1.4 * look.font, title = 1.7 * look.font;
  const double each = title + row * static_cast<double>(reasons.size()) + 0.3 * look.font;
  const double top = look.margin() + legend(nullptr, look, left, 0, entries);
  figure.height = top + each * static_cast<double>(names.size()) + 3.2 * look.font;
  figure.draw = [=](Canvas& canvas) {
    legend(&canvas, look, left, look.margin() / 2, entries);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto rows = static_cast<double>(reasons.size());
      const Area plot{left, top + each * static_cast<double>(i) + title,
                      look.width - left - 1.5 * look.font, row * rows};
      Panel panel(canvas, look, plot, x, {.low = 0, .high = rows});
      const bool is_last = i + 1 == names.size();
      panel.axes(is_last);
      panel.title(names[i]);
      if (is_last) panel.x_title("resizes");
      for (std::size_t r = 0; r < reasons.size(); ++r) {
        const double y = plot.top + row * static_cast<double>(r);
        canvas.text({left - 0.5 * look.font, y + row / 2 + 0.35 * look.font}, reasons[r],
                    look.letters(Anchor::end));
        const ResizeCounts& its = counts[i][r];
        const double grown = panel.at(its.grown, 0).x, all = panel.at(its.grown + its.cut, 0).x;
        const double above = y + 0.15 * row, high = 0.7 * row;
        if (its.grown > 0) canvas.fill({plot.left, above, grown - plot.left, high}, kColours[0]);
        if (its.cut > 0) canvas.fill({grown, above, all - grown, high}, kColours[5]);
      }
    }
  };
  return {std::move(figure)};
}

}  // namespace ductile
