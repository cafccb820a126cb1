// Day by day, where jobs share nodes: slowdown, and how many began as guests (paper 004).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

constexpr double kDaySeconds = 86'400;

// The jobs that began on a day.
struct DayOfStarts {
  std::size_t jobs = 0, guests = 0;
  double slowdown = 0;  // sum
};

struct DayQuantity {
  std::string_view name, column, title, caption;
  double (*value)(const DayOfStarts&);
};

constexpr std::array<DayQuantity, 2> kDayQuantities{
    {{"slowdown-per-day", "mean_bounded_slowdown", "mean bounded slowdown",
      "Mean bounded slowdown of the jobs that began on each day. Of the first seed of each policy.",
      [](const DayOfStarts& day) {
        return day.jobs == 0 ? 0 : day.slowdown / static_cast<double>(day.jobs);
      }},
     {"shared-per-day", "shared_starts", "shared starts",
      "How many jobs began on each day on nodes where others ran. Of the first seed of each "
      "policy.",
      [](const DayOfStarts& day) { return static_cast<double>(day.guests); }}}};

}  // namespace

std::vector<Figure> day_figures(std::span<const PolicyFiles> policies, const Look& look) {
  const auto first_jobs = [](const PolicyFiles& policy) {
    return std::span(policy.jobs).first(policy.first_jobs);
  };
  double first = INFINITY, last = 0;
  bool is_any = false;
  for (const PolicyFiles& policy : policies) {
    for (const FigureJob& job : first_jobs(policy)) {
      first = std::min(first, std::floor(job.start_s / kDaySeconds));
      last = std::max(last, std::floor(job.start_s / kDaySeconds));
      is_any = is_any || job.is_guest;
    }
  }
  if (!is_any) return {};
  const auto count = static_cast<std::size_t>(last - first) + 1;
  std::vector<std::vector<DayOfStarts>> days;
  std::vector<std::string> names;
  for (const PolicyFiles& policy : policies) {
    names.push_back(policy.policy);
    std::vector<DayOfStarts>& its = days.emplace_back(count);
    for (const FigureJob& job : first_jobs(policy)) {
      DayOfStarts& day =
          its[static_cast<std::size_t>(std::floor(job.start_s / kDaySeconds) - first)];
      ++day.jobs;
      day.guests += job.is_guest ? 1 : 0;
      day.slowdown += slowdown_of(job);
    }
  }
  const Axis x = time_axis(first * kDaySeconds, (last + 1) * kDaySeconds,
                           static_cast<std::size_t>(look.width / look.font / 5));
  std::vector<Figure> figures;
  for (const DayQuantity& quantity : kDayQuantities) {
    Figure& figure = figures.emplace_back();
    figure.name = quantity.name;
    figure.caption = quantity.caption;
    figure.csv = fmt::format("policy,day,jobs,{}\n", quantity.column);
    double most = 0;
    for (std::size_t i = 0; i < days.size(); ++i) {
      for (std::size_t d = 0; d < count; ++d) {
        if (days[i][d].jobs == 0) continue;
        const double value = quantity.value(days[i][d]);
        most = std::max(most, value);
        append_field(figure.csv, names[i]);
        figure.csv += fmt::format(",{:.0f},{},", first + static_cast<double>(d), days[i][d].jobs);
        append_number(figure.csv, value);
        figure.csv += '\n';
      }
    }
    const Axis y = number_axis(most, 3);
    const Strips strips{.top = look.margin(),
                        .names = names,
                        .y_title = std::string(quantity.title),
                        .x_title = with_unit("time", x),
                        .x = x,
                        .y = y};
    figure.height = strips.height(look);
    figure.draw = [=](Canvas& canvas) {
      strips.draw(canvas, look, [&](Panel& panel, std::size_t i) {
        for (std::size_t d = 0; d < count; ++d) {
          const double value = quantity.value(days[i][d]);
          if (value <= 0) continue;
          const double from = (first + static_cast<double>(d)) * kDaySeconds;
          const Spot low = panel.at(from + 0.08 * kDaySeconds, 0),
                     high = panel.at(from + 0.92 * kDaySeconds, value);
          canvas.fill({low.x, high.y, high.x - low.x, low.y - high.y}, kColours[0]);
        }
      });
    };
  }
  return figures;
}

}  // namespace ductile
