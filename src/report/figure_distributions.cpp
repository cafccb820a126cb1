// How wait, turnaround and bounded slowdown are distributed: over all jobs, and by classes.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/job_classes.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

bool is_time(const FigureQuantity& quantity) {
  return quantity.unit == FigureQuantity::Unit::seconds;
}

std::vector<double> sorted_of(const PolicyFiles& policy, const FigureQuantity& quantity) {
  std::vector<double> values;
  for (const FigureJob& job : policy.jobs) values.push_back(quantity.of_job(job));
  std::ranges::sort(values);
  return values;
}

double quantile_of(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const double next = sorted[std::min(low + 1, sorted.size() - 1)];
  return sorted[low] + (next - sorted[low]) * (place - std::floor(place));
}

Axis axis_of(const FigureQuantity& quantity, double most, std::size_t ticks) {
  return is_time(quantity) ? log_duration_axis(most, ticks) : log_axis(most, ticks);
}

// The share of jobs with at most this value: each step where these are few, else a thousand points.
std::vector<Spot> steps_of(std::span<const double> sorted) {
  constexpr std::size_t kMost = 1000;
  std::vector<Spot> points;
  const auto count = static_cast<double>(sorted.size());
  const std::size_t stride = std::max<std::size_t>(1, sorted.size() / kMost);
  std::size_t next = stride - 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool is_last = i + 1 == sorted.size();
    if (!is_last && (sorted[i + 1] == sorted[i] || i < next)) continue;
    next = i + stride;
    points.push_back({sorted[i], 100 * static_cast<double>(i + 1) / count});
  }
  return points;
}

Figure cdf_figure(const FigureQuantity& quantity, std::span<const PolicyFiles> policies,
                  const Look& look) {
  constexpr std::size_t kOfAPanel = 6;
  Figure figure;
  figure.name = fmt::format("cdf-{}", quantity.name);
  figure.caption = fmt::format(
      "Share of the jobs whose {} is at most so much, over all seeds; the axis is logarithmic{}.",
      quantity.title,
      is_time(quantity) ? ", and has what is below one second at its left end" : "");
  figure.csv = fmt::format("policy,{}{},share\n", quantity.name, is_time(quantity) ? "_s" : "");
  std::vector<std::vector<Spot>> curves;
  std::vector<LegendEntry> entries;
  double most = 0;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const std::vector<double> sorted = sorted_of(policies[i], quantity);
    if (!sorted.empty()) most = std::max(most, sorted.back());
    curves.push_back(steps_of(sorted));
    std::string name;
    append_field(name, policies[i].policy);
    for (const Spot& point : curves.back()) {
      append_number(figure.csv.append(name).append(","), point.x);
      append_number(figure.csv += ',', point.y / 100);
      figure.csv += '\n';
    }
    // The first one is in each panel, to compare with.
    entries.push_back({policies[i].policy, pen_of(i == 0 ? 0 : (i - 1) % (kOfAPanel - 1) + 1)});
  }
  const Axis x = axis_of(quantity, most, static_cast<std::size_t>(look.width / look.font / 5));
  const Axis y{.low = 0,
               .high = 100,
               .ticks = {{0, "0"}, {25, "25"}, {50, "50"}, {75, "75"}, {100, "100"}},
               .unit = "%"};
  // Small multiples instead of a tangle.
  struct CdfPart {
    std::vector<std::size_t> curves;
    std::vector<LegendEntry> entries;
    double top = 0, legend = 0;
  };
  const double left = look.font * 1.6 + label_width(y, look) + 5;
  const double each = std::min(0.5 * look.width, 17 * look.font);
  std::vector<CdfPart> parts;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (parts.empty() || parts.back().curves.size() == kOfAPanel) {
      CdfPart& part = parts.emplace_back();
      if (i > 0) {
        part.curves.push_back(0);
        part.entries.push_back(entries[0]);
      }
    }
    parts.back().curves.push_back(i);
    parts.back().entries.push_back(entries[i]);
  }
  double top = look.margin();
  for (CdfPart& part : parts) {
    part.top = top;
    part.legend = legend(nullptr, look, left, 0, part.entries);
    top += part.legend + look.margin() + each + 3.6 * look.font;
  }
  figure.height = top;
  figure.draw = [=](Canvas& canvas) {
    for (const CdfPart& part : parts) {
      legend(&canvas, look, left, part.top, part.entries);
      Panel panel(
          canvas, look,
          {left, part.top + part.legend + look.margin(), look.width - left - 1.2 * look.font, each},
          x, y);
      panel.axes();
      panel.y_title("jobs (%)");
      panel.x_title(quantity.title);
      for (std::size_t k = 0; k < part.curves.size(); ++k) {
        std::vector<Spot> steps;
        double before = 0;
        for (const Spot& point : curves[part.curves[k]]) {
          steps.push_back({point.x, before});
          steps.push_back(point);
          before = point.y;
        }
        if (!steps.empty()) steps.push_back({x.high, before});
        panel.curve(steps, part.entries[k].pen);
      }
    }
  };
  return figure;
}

struct QuartileBox {
  std::size_t jobs = 0;
  std::array<double, 5> at{};  // 5, 25, 50, 75 and 95 % of its jobs have less
};

QuartileBox box_of(std::vector<double> values) {
  QuartileBox box;
  box.jobs = values.size();
  if (values.empty()) return box;
  std::ranges::sort(values);
  constexpr std::array<double, 5> kShares{0.05, 0.25, 0.5, 0.75, 0.95};
  for (std::size_t i = 0; i < 5; ++i) box.at[i] = quantile_of(values, kShares[i]);
  return box;
}

Figure box_figure(const FigureQuantity& quantity, std::span<const PolicyFiles> policies,
                  const JobClasses& classes, const Look& look) {
  const Classes sizes = classes.sizes, times = classes.runtimes;
  Figure figure;
  figure.name = fmt::format("{}-by-class", quantity.name);
  figure.caption = fmt::format(
      "{} by size and run time, over all seeds: the median, the box from the first to the third "
      "quartile, and lines to the 5th and 95th percentile.",
      is_time(quantity) ? "Wait" : "Bounded slowdown");
  figure.csv = fmt::format("policy,size,run_time,jobs,p5,p25,p50,p75,p95\n");
  // By run time, size and policy.
  std::vector<std::vector<std::vector<QuartileBox>>> boxes(
      times.size(), std::vector<std::vector<QuartileBox>>(sizes.size()));
  double most = 0;
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    std::vector<std::vector<std::vector<double>>> values(
        times.size(), std::vector<std::vector<double>>(sizes.size()));
    for (const FigureJob& job : policies[i].jobs) {
      values[times.of(job.run_s)][sizes.of(job.size)].push_back(quantity.of_job(job));
    }
    std::string name;
    append_field(name, policies[i].policy);
    for (std::size_t t = 0; t < times.size(); ++t) {
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        const QuartileBox box = box_of(std::move(values[t][s]));
        boxes[t][s].push_back(box);
        most = std::max(most, box.at[4]);
        if (box.jobs == 0) continue;
        figure.csv += fmt::format("{},{},{},{}", name, sizes.names[s], times.names[t], box.jobs);
        for (const double at : box.at) append_number(figure.csv += ',', at);
        figure.csv += '\n';
      }
    }
    const Pen pen = pen_of(i);
    entries.push_back({policies[i].policy, {mixed(pen.colour, kWhite, 0.45)}, true});
  }
  const Axis y = axis_of(quantity, most, 4);
  const double left = look.font * 1.6 + label_width(y, look) + 5;
  const double top = look.margin() + legend(nullptr, look, left, 0, entries);
  const double title = 1.5 * look.font, each = 7 * look.font;
  figure.height = top + static_cast<double>(times.size()) * (title + each) + 3.4 * look.font;
  figure.draw = [=](Canvas& canvas) {
    legend(&canvas, look, left, look.margin() / 2, entries);
    const auto groups = static_cast<double>(sizes.size());
    Axis x{.low = 0, .high = groups};
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      x.ticks.push_back({static_cast<double>(s) + 0.5, sizes.names[s]});
    }
    for (std::size_t t = 0; t < times.size(); ++t) {
      const Area plot{left, top + static_cast<double>(t) * (title + each) + title,
                      look.width - left - look.margin(), each - 0.4 * look.font};
      Panel panel(canvas, look, plot, x, y);
      const bool is_last = t + 1 == times.size();
      panel.axes(is_last);
      panel.title(times.size() == 1 ? "all run times" : "run time " + times.names[t]);
      panel.y_title(quantity.title);
      if (is_last) panel.x_title("size (nodes)");
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        const double wide = 0.8 / static_cast<double>(entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
          const QuartileBox& box = boxes[t][s][i];
          if (box.jobs == 0) continue;
          const double from = static_cast<double>(s) + 0.1 + wide * static_cast<double>(i);
          const Spot low = panel.at(from + 0.08 * wide, box.at[1]);
          const Spot high = panel.at(from + 0.92 * wide, box.at[3]);
          const double middle = (low.x + high.x) / 2;
          const Pen pen{.colour = pen_of(i).colour, .width = 0.6};
          canvas.line({middle, panel.at(0, box.at[0]).y}, {middle, low.y}, pen);
          canvas.line({middle, high.y}, {middle, panel.at(0, box.at[4]).y}, pen);
          const Area area{low.x, high.y, high.x - low.x, std::max(low.y - high.y, 0.3)};
          canvas.fill(area, entries[i].pen.colour);
          canvas.frame(area, pen);
          const double median = panel.at(0, box.at[2]).y;
          canvas.line({low.x, median}, {high.x, median}, {.colour = kInk, .width = 1});
        }
      }
    }
  };
  return figure;
}

}  // namespace

std::vector<Figure> distribution_figures(std::span<const PolicyFiles> policies,
                                         std::size_t baseline, const Look& look) {
  const bool is_any =
      std::ranges::any_of(policies, [](const PolicyFiles& policy) { return !policy.jobs.empty(); });
  if (!is_any) return {};
  const JobClasses classes = classes_of(policies[baseline]);
  std::vector<Figure> figures;
  for (const FigureQuantity& quantity : figure_quantities()) {
    if (quantity.of_job) figures.push_back(cdf_figure(quantity, policies, look));
  }
  for (const FigureQuantity& quantity : figure_quantities()) {
    if (!quantity.of_job || quantity.name == "turnaround") continue;
    figures.push_back(box_figure(quantity, policies, classes, look));
  }
  return figures;
}

}  // namespace ductile
