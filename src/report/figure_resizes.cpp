// Why jobs were resized: how often, and what that cost.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

// Of a resize that changed something.
struct ResizeQuantity {
  std::string_view name, title, columns, caption;
  double (*value)(const ResizeRow&);
};

constexpr std::array<ResizeQuantity, 2> kResizeQuantities{
    {{"resizes", "resizes", "grown,shrunk",
      "How often running jobs grew and shrank, by the reason of the order, as means over the "
      "seeds.",
      [](const ResizeRow&) { return 1.0; }},
     {"resize-costs", "cost (node-hours)", "grown_node_h,shrunk_node_h",
      "What it cost that running jobs grew and shrank, by the reason of the order, as means over "
      "the seeds: the nodes of a job times how long it did not compute.",
      [](const ResizeRow& row) { return row.cost ? to_seconds(*row.cost) / 3600 : 0; }}}};

struct ResizeSums {
  double grown = 0, cut = 0;
};

// By reason, of each policy.
using SumsByReason = std::map<std::string, std::vector<ResizeSums>>;

SumsByReason sums_of(const ResizeQuantity& quantity, std::span<const PolicyFiles> policies) {
  SumsByReason sums;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto runs = static_cast<double>(policies[i].summaries.size());
    for (const ResizeRow& row : policies[i].resizes) {
      if (row.after == row.before) continue;
      std::vector<ResizeSums>& its = sums[row.reason];
      its.resize(policies.size());
      (row.after > row.before ? its[i].grown : its[i].cut) += quantity.value(row) / runs;
    }
  }
  return sums;
}

Figure resize_figure(const ResizeQuantity& quantity, std::span<const PolicyFiles> policies,
                     const SumsByReason& by_reason, const Look& look) {
  Figure figure;
  figure.name = quantity.name;
  figure.caption = quantity.caption;
  figure.csv = fmt::format("policy,reason,{}\n", quantity.columns);
  std::vector<std::string> names, reasons;
  for (const auto& [reason, its] : by_reason) reasons.push_back(reason);
  std::vector<std::vector<ResizeSums>> sums;  // by policy and reason
  double most = 0;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    names.push_back(policies[i].policy);
    std::vector<ResizeSums>& its = sums.emplace_back();
    for (const std::string& reason : reasons) {
      const ResizeSums& each = its.emplace_back(by_reason.at(reason)[i]);
      most = std::max(most, each.grown + each.cut);
      append_field(figure.csv, policies[i].policy);
      append_number(figure.csv.append(",").append(reason).append(","), each.grown);
      append_number(figure.csv += ',', each.cut);
      figure.csv += '\n';
    }
  }
  const Axis x = number_axis(most, static_cast<std::size_t>(look.width / look.font / 7));
  const double left = names_width(reasons, look) + look.margin() + look.font;
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
      if (is_last) panel.x_title(quantity.title);
      for (std::size_t r = 0; r < reasons.size(); ++r) {
        const double y = plot.top + row * static_cast<double>(r);
        canvas.text({left - 0.5 * look.font, y + row / 2 + 0.35 * look.font}, reasons[r],
                    look.letters(Anchor::end));
        const ResizeSums& its = sums[i][r];
        const double grown = panel.at(its.grown, 0).x, all = panel.at(its.grown + its.cut, 0).x;
        const double above = y + 0.15 * row, high = 0.7 * row;
        if (its.grown > 0) canvas.fill({plot.left, above, grown - plot.left, high}, kColours[0]);
        if (its.cut > 0) canvas.fill({grown, above, all - grown, high}, kColours[5]);
      }
    }
  };
  return figure;
}

}  // namespace

std::vector<Figure> resize_figures(std::span<const PolicyFiles> policies, const Look& look) {
  std::vector<Figure> figures;
  for (const ResizeQuantity& quantity : kResizeQuantities) {
    const SumsByReason sums = sums_of(quantity, policies);
    const bool is_any = std::ranges::any_of(sums, [](const auto& reason) {
      return std::ranges::any_of(reason.second,
                                 [](const ResizeSums& its) { return its.grown + its.cut > 0; });
    });
    if (is_any) figures.push_back(resize_figure(quantity, policies, sums, look));
  }
  return figures;
}

}  // namespace ductile
