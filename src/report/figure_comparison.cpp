// Policies against the baseline: by how much figures differ, and which users gain and lose.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

// What is so sure has a colour.
constexpr Colour kGain = kColours[0], kLoss = kColours[1], kOpen{150, 150, 150};

void append_interval(std::string& csv, double value, const Interval95& its) {
  for (const double each : {value, its.low, its.high}) {
    csv += ',';
    if (std::isfinite(each)) append_number(csv, each);
  }
}

// An interval, and what it is of; the dot is hollow where it is not known.
void draw_interval(Canvas& canvas, const Spot& at, const Spot& low, const Spot& high, bool is_known,
                   Colour colour, double radius) {
  if (is_known) canvas.line(low, high, {.colour = colour, .width = 1});
  canvas.dot(at, radius, colour);
  if (!is_known) canvas.dot(at, 0.6 * radius, kWhite);
}

double percent_of(double ratio) { return 100 * (ratio - 1); }

Figure forest_figure(const Comparison& comparison, std::span<const PolicyFiles> policies,
                     const Look& look) {
  struct ForestRow {
    std::string name{};
    PairedComparison pairs{};
    Colour colour = kOpen;
  };
  struct ForestPanel {
    std::string title{};
    std::vector<ForestRow> rows{};
    Axis x{};
  };
  const std::string& baseline = policies[comparison.baseline].policy;
  Figure figure;
  figure.name = "comparison";
  figure.caption = fmt::format(
      "By how much the main figures of each policy differ from those of {}, with 95 % intervals; a "
      "hollow dot has none. Blue is better and orange worse, where that is sure; grey is open. "
      "What "
      "goes beyond an axis ends at it. {}",
      baseline, comparison.method);
  figure.csv =
      "policy,against,figure,difference,low,high,ratio,ratio_low,ratio_high,p_corrected,verdict\n";
  std::vector<ForestPanel> panels;
  std::vector<std::string> names;
  const auto ticks = static_cast<std::size_t>(look.width / look.font / 6);
  for (const FigureQuantity& quantity : figure_quantities()) {
    ForestPanel panel{.title = title_of_run(quantity)};
    double low = 0, high = 0, farthest = 0;
    for (const Difference& row : comparison.rows) {
      if (row.column.key != quantity.key) continue;
      append_field(figure.csv, policies[row.group].policy);
      append_field(figure.csv += ',', baseline);
      figure.csv.append(",").append(quantity.key);
      append_interval(figure.csv, row.pairs.difference, row.pairs.difference_95);
      append_interval(figure.csv, row.pairs.ratio, row.pairs.ratio_95);
      figure.csv += ',';
      if (std::isfinite(row.p)) append_number(figure.csv, row.p);
      figure.csv.append(",").append(word(row.verdict)).append("\n");
      if (!std::isfinite(row.pairs.ratio)) continue;
      panel.rows.push_back({policies[row.group].policy, row.pairs,
                            row.verdict == Difference::Verdict::better  ? kGain
                            : row.verdict == Difference::Verdict::worse ? kLoss
                                                                        : kOpen});
      names.push_back(policies[row.group].policy);
      const double at = percent_of(row.pairs.ratio);
      farthest = std::max(farthest, std::abs(at));
      low = std::min(low, at);
      high = std::max(high, at);
    }
    if (panel.rows.empty()) continue;
    // Intervals that say next to nothing do not make all others small.
    const double most = 2 * std::max(farthest, 1.0);
    for (const ForestRow& row : panel.rows) {
      if (!std::isfinite(row.pairs.ratio_95.low)) continue;
      low = std::min(low, std::max(percent_of(row.pairs.ratio_95.low), -most));
      high = std::max(high, std::min(percent_of(row.pairs.ratio_95.high), most));
    }
    panel.x = range_axis(low, high, ticks);
    panels.push_back(std::move(panel));
  }
  const double names_wide = names_width(names, look);
  const double left = look.margin() + names_wide + look.font;
  const double row = 1.3 * look.font, title = 1.7 * look.font, foot = 1.8 * look.font;
  const std::vector<LegendEntry> entries{
      {"better", {kGain}, true}, {"worse", {kLoss}, true}, {"open", {kOpen}, true}};
  const double top = look.margin() + legend(nullptr, look, left, 0, entries);
  double all = top;
  for (const ForestPanel& panel : panels) {
    all += title + row * static_cast<double>(panel.rows.size()) + foot;
  }
  figure.height = all + 1.2 * look.font;
  figure.draw = [=](Canvas& canvas) {
    legend(&canvas, look, left, look.margin() / 2, entries);
    double above = top;
    for (const ForestPanel& its : panels) {
      const auto count = static_cast<double>(its.rows.size());
      const Area plot{left, above + title, look.width - left - 1.5 * look.font, row * count};
      Panel panel(canvas, look, plot, its.x, {.low = 0, .high = count});
      panel.axes();
      panel.title(its.title);
      const double zero = panel.at(0, 0).x;
      canvas.line({zero, plot.top}, {zero, plot.bottom()}, {.colour = kSoft, .width = 0.8});
      for (std::size_t i = 0; i < its.rows.size(); ++i) {
        const ForestRow& each = its.rows[i];
        const double y = count - 0.5 - static_cast<double>(i);
        const Spot spot = panel.at(percent_of(each.pairs.ratio), y);
        canvas.text({left - look.font, spot.y + 0.35 * look.font},
                    fitting(each.name, look.font, names_wide), look.letters(Anchor::end));
        const Interval95& ratio = each.pairs.ratio_95;
        draw_interval(canvas, spot, panel.at(percent_of(ratio.low), y),
                      panel.at(percent_of(ratio.high), y), std::isfinite(ratio.low), each.colour,
                      0.28 * look.font);
      }
      above += title + row * count + foot;
    }
    canvas.text(
        {left + (look.width - left - 1.5 * look.font) / 2, above + 0.8 * look.font},
        fitting(fmt::format("change against {} (%)", baseline), look.font, look.width - left),
        look.letters(Anchor::middle));
  };
  return figure;
}

// From 1/most to most, so that what is twice as much and half as much is as far.
Axis ratio_axis(double most) {
  Axis axis;
  axis.is_log = true;
  double high = 2;
  while (high < most && high < 1024) high *= 2;
  axis.low = 1 / high;
  axis.high = high;
  const double step = high <= 4 ? 2 : high <= 64 ? 4 : 16;
  axis.ticks.push_back({1, "1"});
  for (double at = step; at <= high; at *= step) {
    axis.ticks.insert(axis.ticks.begin(), {1 / at, fmt::format("1/{:.0f}", at)});
    axis.ticks.push_back({at, fmt::format("{:.0f}", at)});
  }
  return axis;
}

Figure users_figure(const Comparison& comparison, std::span<const PolicyFiles> policies,
                    const Look& look) {
  struct UserDot {
    std::string user{};
    PairedComparison its{};
    Colour colour = kOpen;
  };
  struct UsersPanel {
    std::string title{};
    std::vector<UserDot> users{};
  };
  const std::string& baseline = policies[comparison.baseline].policy;
  Figure figure;
  figure.name = "users";
  figure.caption = fmt::format(
      "The mean turnaround of each user as ratio to that under {}, from who gains most to who "
      "loses "
      "most, with 95 % intervals, where they are known; the axis is logarithmic. Blue gains and "
      "orange loses, by the interval, which is not corrected for how many users there are.",
      baseline);
  figure.csv =
      "policy,against,user,jobs,difference_s,low_s,high_s,ratio,ratio_low,ratio_high,effect\n";
  std::vector<UsersPanel> panels;
  double most = 1;
  for (std::size_t group = 0; group < policies.size(); ++group) {
    UsersPanel panel;
    std::size_t gain = 0, lose = 0;
    for (const PartEffect& effect : comparison.users) {
      if (effect.group != group) continue;
      const std::string_view what = effect_word(effect.turnaround);
      gain += what == "gains" ? 1 : 0;
      lose += what == "loses" ? 1 : 0;
      append_field(figure.csv, policies[group].policy);
      append_field(figure.csv += ',', baseline);
      figure.csv += fmt::format(",{},{}", effect.part, effect.jobs);
      append_interval(figure.csv, effect.turnaround.difference, effect.turnaround.difference_95);
      append_interval(figure.csv, effect.turnaround.ratio, effect.turnaround.ratio_95);
      figure.csv.append(",").append(what).append("\n");
      if (!(effect.turnaround.ratio > 0)) continue;
      panel.users.push_back({effect.part, effect.turnaround,
                             what == "gains"   ? kGain
                             : what == "loses" ? kLoss
                                               : kOpen});
      most = std::max({most, effect.turnaround.ratio, 1 / effect.turnaround.ratio});
    }
    if (panel.users.empty()) continue;
    std::ranges::stable_sort(panel.users, {}, [](const UserDot& dot) { return dot.its.ratio; });
    panel.title = fmt::format("{}: {} of {} gain, {} lose", policies[group].policy, gain,
                              panel.users.size(), lose);
    panels.push_back(std::move(panel));
  }
  const Axis y = ratio_axis(most);
  const double left = look.font * 1.6 + label_width(y, look) + 5;
  const double title = 1.7 * look.font, each = 8 * look.font, foot = 1.5 * look.font;
  const std::vector<LegendEntry> entries{
      {"gains", {kGain}, true}, {"loses", {kLoss}, true}, {"open", {kOpen}, true}};
  const double top = look.margin() + legend(nullptr, look, left, 0, entries);
  const auto count = static_cast<double>(panels.size());
  figure.height = top + count * (title + each + foot) + 1.5 * look.font;
  figure.draw = [=](Canvas& canvas) {
    legend(&canvas, look, left, look.margin() / 2, entries);
    for (std::size_t p = 0; p < panels.size(); ++p) {
      const std::vector<UserDot>& users = panels[p].users;
      const auto n = static_cast<double>(users.size());
      const Area plot{left, top + static_cast<double>(p) * (title + each + foot) + title,
                      look.width - left - look.margin(), each};
      Axis x{.low = 0, .high = n};
      // Their numbers where there is room.
      for (std::size_t i = 0; i < users.size(); ++i) {
        if (text_width(users[i].user, look.font) + 2 > plot.width / n) {
          x.ticks.clear();
          break;
        }
        x.ticks.push_back({static_cast<double>(i) + 0.5, users[i].user});
      }
      Panel panel(canvas, look, plot, x, y);
      panel.axes();
      panel.title(panels[p].title);
      panel.y_title("turnaround (ratio)");
      if (p + 1 == panels.size()) panel.x_title("users");
      const double one = panel.at(0, 1).y;
      canvas.line({plot.left, one}, {plot.right(), one}, {.colour = kSoft, .width = 0.8});
      const double radius = std::clamp(0.4 * plot.width / n, 0.8, 0.22 * look.font);
      for (std::size_t i = 0; i < users.size(); ++i) {
        const double at = static_cast<double>(i) + 0.5;
        const Interval95& ratio = users[i].its.ratio_95;
        draw_interval(canvas, panel.at(at, users[i].its.ratio), panel.at(at, ratio.low),
                      panel.at(at, ratio.high), ratio.low > 0, users[i].colour, radius);
      }
    }
  };
  return figure;
}

}  // namespace

std::vector<Figure> comparison_figures(const Comparison& comparison,
                                       std::span<const PolicyFiles> policies, const Look& look) {
  std::vector<Figure> figures;
  const auto is_drawn = [](const Difference& row) { return std::isfinite(row.pairs.ratio); };
  if (std::ranges::any_of(comparison.rows, is_drawn)) {
    figures.push_back(forest_figure(comparison, policies, look));
  }
  // One user is nobody: such logs do not know them.
  const auto is_other = [&](const PartEffect& effect) {
    return effect.part != comparison.users.front().part;
  };
  if (std::ranges::any_of(comparison.users, is_other)) {
    figures.push_back(users_figure(comparison, policies, look));
  }
  return figures;
}

}  // namespace ductile
