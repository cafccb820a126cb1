// Utilization, waiting jobs and power over time: a panel for each policy, on one axis of time.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/wide.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

constexpr std::size_t kSeriesSteps = 240;  // as fine as a column is printed

struct SeriesStep {
  Time from{}, until{};
  double mean = 0;
};

// Means over intervals that are equal, but for a microsecond: so means of what is constant are it.
std::vector<SeriesStep> means_over(std::span<const Sample> series, Time from, Time until,
                                   double (*value)(const Sample&)) {
  std::vector<SeriesStep> steps;
  if (series.empty()) return steps;
  const Wide span = (until - from).count();
  const auto bound = [&](std::size_t i) {
    return from + Duration{static_cast<Duration::rep>(span * Wide(i) / Wide{kSeriesSteps})};
  };
  std::size_t k = 0;
  for (std::size_t i = 0; i < kSeriesSteps; ++i) {
    SeriesStep step{bound(i), bound(i + 1)};
    if (step.from >= series.back().at || step.until <= step.from) continue;
    double sum = 0;
    // The last sample of the step before is the first one of this.
    for (; k + 1 < series.size(); ++k) {
      const Time begin = std::max(step.from, series[k].at);
      const Time end = std::min(step.until, series[k + 1].at);
      if (end > begin) sum += static_cast<double>((end - begin).count()) * value(series[k]);
      if (series[k + 1].at > step.until) break;
    }
    step.mean = sum / static_cast<double>((step.until - step.from).count());
    steps.push_back(step);
  }
  return steps;
}

struct SeriesQuantity {
  std::string name, column, title, caption;
  double (*value)(const Sample&);
};

// A line that is drawn into the panels besides.
struct BoundLine {
  std::string name;
  Pen pen;
  std::vector<std::vector<Spot>> by_policy;
};

Figure series_figure(const SeriesQuantity& quantity, std::span<const PolicyFiles> policies,
                     const Look& look, Time from, Time until,
                     const std::vector<std::vector<SeriesStep>>& steps, const Axis& y,
                     std::vector<BoundLine> bounds) {
  Figure figure;
  figure.name = quantity.name;
  figure.caption = quantity.caption;
  figure.csv = fmt::format("policy,from_s,until_s,{}\n", quantity.column);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    names.push_back(policies[i].policy);
    std::string name;
    append_field(name, policies[i].policy);
    for (const SeriesStep& step : steps[i]) {
      figure.csv += name + ',';
      append_seconds(figure.csv, step.from);
      append_seconds(figure.csv += ',', step.until);
      append_number(figure.csv += ',', step.mean);
      figure.csv += '\n';
    }
  }
  std::vector<LegendEntry> entries;
  for (const BoundLine& bound : bounds) entries.push_back({bound.name, bound.pen});
  const double top = look.margin() + (entries.empty() ? 0 : legend(nullptr, look, 0, 0, entries));
  const Axis x = time_axis(to_seconds(from), to_seconds(until),
                           static_cast<std::size_t>(look.width / look.font / 5));
  const Strips strips{.top = top,
                      .names = names,
                      .y_title = with_unit(quantity.title, y),
                      .x_title = with_unit("time", x),
                      .x = x,
                      .y = y};
  figure.height = strips.height(look);
  figure.draw = [=](Canvas& canvas) {
    if (!entries.empty()) legend(&canvas, look, strips.left(look), look.margin() / 2, entries);
    strips.draw(canvas, look, [&](Panel& panel, std::size_t i) {
      std::vector<Spot> curve;
      for (const SeriesStep& step : steps[i]) {
        curve.push_back({to_seconds(step.from), step.mean});
        curve.push_back({to_seconds(step.until), step.mean});
      }
      for (const BoundLine& bound : bounds) {
        if (!bound.by_policy[i].empty()) panel.curve(bound.by_policy[i], bound.pen);
      }
      panel.curve(curve, {.colour = kColours[0], .width = 0.9});
    });
  };
  return figure;
}

}  // namespace

std::vector<Figure> series_figures(std::span<const PolicyFiles> policies, const Look& look) {
  Time from = Time::max(), until = Time::min();
  bool is_power_known = false;
  for (const PolicyFiles& policy : policies) {
    if (policy.series.empty()) continue;
    from = std::min(from, policy.series.front().at);
    until = std::max(until, policy.series.back().at);
    is_power_known = is_power_known || std::ranges::any_of(policy.series, &Sample::has_power);
  }
  if (until <= from) return {};
  const double from_s = to_seconds(from), until_s = to_seconds(until);

  constexpr const char* kFirst = "Of the first seed of each policy, as means over equal intervals.";
  std::vector<SeriesQuantity> quantities{
      {"utilization", "utilization_percent", "nodes in use",
       fmt::format("How many nodes jobs held over time, in per cent of the machine. {}", kFirst),
       [](const Sample& s) { return static_cast<double>(s.held); }},
      {"waiting", "waiting_jobs", "waiting jobs",
       fmt::format("How many jobs waited over time. {}", kFirst),
       [](const Sample& s) { return static_cast<double>(s.pending); }}};
  if (is_power_known) {
    quantities.push_back(
        {"power", "power_w", "power",
         fmt::format("What the machine drew, and the bounds that it had. {}", kFirst),
         [](const Sample& s) { return s.power_w; }});
  }
  std::vector<Figure> figures;
  for (const SeriesQuantity& quantity : quantities) {
    std::vector<std::vector<SeriesStep>> steps;
    double most = 0;
    for (const PolicyFiles& policy : policies) {
      std::vector<SeriesStep>& its =
          steps.emplace_back(means_over(policy.series, from, until, quantity.value));
      const double nodes = std::max(1.0, static_cast<double>(policy.summaries.front().nodes));
      for (SeriesStep& step : its) {
        if (quantity.name == "utilization") step.mean *= 100 / nodes;
        most = std::max(most, step.mean);
      }
    }
    Axis y = number_axis(most, 3);
    std::vector<BoundLine> bounds;
    if (quantity.name == "utilization") {
      y = {.low = 0, .high = 100, .ticks = {{0, "0"}, {50, "50"}, {100, "100"}}, .unit = "%"};
    } else if (quantity.name == "power") {
      BoundLine low{"lower bound", {kColours[2], 0.8, Dash::dashed}, {}},
          high{"upper bound", {kColours[1], 0.8, Dash::dashed}, {}},
          cap{"cap", {kInk, 0.8, Dash::dotted}, {}};
      for (const PolicyFiles& policy : policies) {
        std::vector<Spot>&its_low = low.by_policy.emplace_back(),
        &its_high = high.by_policy.emplace_back(), &its_cap = cap.by_policy.emplace_back();
        const auto add = [&](std::vector<Spot>& to, Time since, double end, double watts) {
          if (!std::isfinite(watts)) return;
          to.push_back({std::max(from_s, to_seconds(since)), watts});
          to.push_back({std::max(from_s, end), watts});
          most = std::max(most, watts);
        };
        for (std::size_t i = 0; i < policy.corridor.size(); ++i) {
          const CorridorLine& line = policy.corridor[i];
          const bool is_last = i + 1 == policy.corridor.size();
          const double end = is_last ? until_s : to_seconds(policy.corridor[i + 1].at);
          if (line.low_w > 0) add(its_low, line.at, end, line.low_w);
          add(its_high, line.at, end, line.high_w);
        }
        if (!policy.corridor.empty()) continue;  // its upper bound is the cap
        for (std::size_t i = 0; i + 1 < policy.series.size(); ++i) {
          const Sample& sample = policy.series[i];
          add(its_cap, sample.at, to_seconds(policy.series[i + 1].at), sample.power_cap_w);
        }
      }
      bounds = {low, high, cap};
      std::erase_if(bounds, [](const BoundLine& bound) {
        return std::ranges::all_of(bound.by_policy, &std::vector<Spot>::empty);
      });
      y = power_axis(most, 3);
    }
    figures.push_back(series_figure(quantity, policies, look, from, until, steps, y, bounds));
  }
  return figures;
}

}  // namespace ductile
