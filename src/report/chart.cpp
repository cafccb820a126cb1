#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace ductile {
namespace {

constexpr Colour kInk{0x222222}, kGrid{0xdddddd};
constexpr double kThin = 0.5;

struct Unit {
  double size;
  const char* name;
};

Unit time_unit(double most) {
  if (most < 180) return {1, "s"};
  if (most < 3 * 3600) return {60, "min"};
  if (most < 4 * 86400) return {3600, "h"};
  return {86400, "d"};
}

bool is_log(const Axis& axis) {
  return axis.kind == Axis::Kind::log || axis.kind == Axis::Kind::log_seconds;
}

// Without zeros at its end.
std::string short_text(double value) { return fmt::format("{:.6g}", value); }

// Cut off where there is no room for it.
std::string fitted(const std::string& text, double size, double room) {
  if (text_width(text, size) <= room) return text;
  std::string cut = text;
  while (!cut.empty() && text_width(cut + "...", size) > room) {
    while (!cut.empty() && (static_cast<unsigned char>(cut.back()) & 0xC0U) == 0x80U)
      cut.pop_back();
    if (!cut.empty()) cut.pop_back();
  }
  return cut + "...";
}

double widest(const std::vector<std::string>& texts, double size) {
  double most = 0;
  for (const std::string& text : texts) most = std::max(most, text_width(text, size));
  return most;
}

std::vector<std::string> wrapped(const std::string& text, double size, double room) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool fits = line.empty() || text_width(line + " " + word, size) <= room;
    if (!fits) lines.push_back(line);
    line = fits && !line.empty() ? line + " " + word : word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

double note_height(const Look& look, const std::string& note) {
  const auto lines = static_cast<double>(wrapped(note, look.font, look.width - 4).size());
  return lines * look.font * 1.25 + (lines > 0 ? look.font * 0.4 : 0);
}

void draw_note(Canvas& canvas, const Look& look, double height, const std::string& note) {
  double y = height - note_height(look, note) + look.font * 1.2;
  for (const std::string& line : wrapped(note, look.font, look.width - 4)) {
    canvas.text({2, y}, line, look.font, Align::left, kInk, false);
    y += look.font * 1.25;
  }
}

struct Key {
  std::string name;
  double x, y;  // of its mark
};

// Names of series above a picture, in as many lines as they need.
std::vector<Key> keys_of(const Look& look, const std::vector<std::string>& names) {
  std::vector<Key> keys;
  double x = 2, y = look.font;
  for (const std::string& name : names) {
    const std::string shown = fitted(name, look.font, look.width - 4 - look.font * 2);
    const double width = look.font * 2.4 + text_width(shown, look.font);
    if (x > 2 && x + width > look.width) {
      x = 2;
      y += look.font * 1.3;
    }
    keys.push_back({shown, x, y});
    x += width + look.font * 0.4;
  }
  return keys;
}

double keys_height(const Look& look, const std::vector<std::string>& names) {
  return names.empty() ? 0 : keys_of(look, names).back().y + look.font * 0.6;
}

void draw_keys(Canvas& canvas, const Look& look, const std::vector<std::string>& names) {
  std::size_t i = 0;
  for (const Key& key : keys_of(look, names)) {
    canvas.box({key.x, key.y - look.font * 0.55}, look.font * 1.2, look.font * 0.4,
               series_colour(i++));
    canvas.text({key.x + look.font * 1.6, key.y}, key.name, look.font, Align::left, kInk, false);
  }
}

// A plot with axes, whose outer height is given.
struct Plot {
  double left, top, width, height;
  Axis x, y;

  static double place(const Axis& axis, double value) {
    if (is_log(axis)) {
      value = std::log10(std::clamp(value, axis.low, axis.high));
      return (value - std::log10(axis.low)) / (std::log10(axis.high) - std::log10(axis.low));
    }
    return (std::clamp(value, axis.low, axis.high) - axis.low) / (axis.high - axis.low);
  }
  double px(double value) const { return left + place(x, value) * width; }
  double py(double value) const { return top + height - place(y, value) * height; }
};

double x_labels_height(const Look& look) { return look.font * 3; }

void draw_x(Canvas& canvas, const Look& look, const Plot& plot, bool has_grid) {
  const double bottom = plot.top + plot.height;
  double free_from = 0;
  for (const Tick& tick : ticks_of(plot.x, std::max(2.0, plot.width / (look.font * 5)))) {
    const double x = plot.px(tick.at);
    if (has_grid) canvas.line({x, plot.top}, {x, bottom}, kGrid, kThin);
    const double half = text_width(tick.label, look.font) / 2;
    const double at = std::clamp(x, half, look.width - half - 1);
    if (at - half < free_from) continue;
    canvas.line({x, bottom}, {x, bottom + 2}, kInk, kThin);
    canvas.text({at, bottom + look.font * 1.25}, tick.label, look.font, Align::middle, kInk, false);
    free_from = at + half + look.font * 0.5;
  }
  canvas.line({plot.left, bottom}, {plot.left + plot.width, bottom}, kInk, kThin);
  canvas.text({plot.left + plot.width / 2, bottom + look.font * 2.5}, title_of(plot.x), look.font,
              Align::middle, kInk, false);
}

void draw_y(Canvas& canvas, const Look& look, const Plot& plot) {
  for (const Tick& tick : ticks_of(plot.y, std::max(2.0, plot.height / (look.font * 2.2)))) {
    const double y = plot.py(tick.at);
    canvas.line({plot.left, y}, {plot.left + plot.width, y}, kGrid, kThin);
    canvas.text({plot.left - 3, y + look.font * 0.35}, tick.label, look.font, Align::right, kInk,
                false);
  }
  canvas.line({plot.left, plot.top}, {plot.left, plot.top + plot.height}, kInk, kThin);
  canvas.text({look.font, plot.top + plot.height / 2}, title_of(plot.y), look.font, Align::middle,
              kInk, true);
}

double y_labels_width(const Look& look, const Axis& y, double height) {
  double most = 0;
  for (const Tick& tick : ticks_of(y, std::max(2.0, height / (look.font * 2.2)))) {
    most = std::max(most, text_width(tick.label, look.font));
  }
  return most + look.font * 1.5 + 5;
}

Plot plot_of(const Look& look, double top, double height, const Axis& x, const Axis& y) {
  const double left = y_labels_width(look, y, height);
  return {
      left, top + look.font * 0.5, look.width - left - look.font * 0.8, height - look.font * 0.5, x,
      y};
}

// Blue is better, red is worse, from a quarter to four times.
Colour ratio_colour(double ratio) {
  const double share = std::clamp(std::log2(ratio) / 2, -1.0, 1.0);
  const std::array<double, 3> to =
      share < 0 ? std::array{0.0, 114.0, 178.0} : std::array{213.0, 94.0, 0.0};
  std::uint32_t rgb = 0;
  for (const double part : to) {
    const double mixed = 247 + (part - 247) * std::abs(share);
    rgb = rgb << 8U | static_cast<std::uint32_t>(std::lround(mixed));
  }
  return {rgb};
}

std::vector<Tick> log_time_ticks(const Axis& axis) {
  constexpr std::array<std::pair<double, const char*>, 12> kTimes{{{0.001, "1 ms"},
                                                                   {0.01, "10 ms"},
                                                                   {0.1, "0.1 s"},
                                                                   {1, "1 s"},
                                                                   {10, "10 s"},
                                                                   {60, "1 min"},
                                                                   {600, "10 min"},
                                                                   {3600, "1 h"},
                                                                   {36000, "10 h"},
                                                                   {86400 * 3, "3 d"},
                                                                   {86400 * 30, "30 d"},
                                                                   {86400 * 365, "1 a"}}};
  std::vector<Tick> ticks;
  for (const auto& [at, label] : kTimes) {
    if (at >= axis.low && at <= axis.high) ticks.push_back({at, label});
  }
  return ticks;
}

}  // namespace

Colour series_colour(std::size_t number) {
  constexpr std::array<Colour, kSeriesColours> kColours{
      {{0x0072B2}, {0xD55E00}, {0x009E73}, {0xCC79A7}, {0xE69F00}, {0x56B4E9}, {0x000000}}};
  return kColours[number % kColours.size()];
}

std::vector<Tick> ticks_of(const Axis& axis, double most) {
  if (axis.kind == Axis::Kind::log_seconds) return log_time_ticks(axis);
  std::vector<Tick> ticks;
  if (axis.kind == Axis::Kind::log) {
    const double first = std::ceil(std::log10(axis.low) - 1e-9),
                 last = std::floor(std::log10(axis.high) + 1e-9);
    const double step = std::max(1.0, std::ceil((last - first + 1) / most));
    for (double power = first; power <= last; power += step) {
      ticks.push_back({std::pow(10, power), short_text(std::pow(10, power))});
    }
    return ticks;
  }
  const double size = axis.kind == Axis::Kind::seconds ? time_unit(axis.high).size : 1;
  const double low = axis.low / size, high = axis.high / size;
  const double raw = (high - low) / std::max(1.0, most);
  if (!(raw > 0)) return ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double each : {1.0, 2.0, 5.0}) {
    if (each * power >= raw * (1 - 1e-9)) {
      step = each * power;
      break;
    }
  }
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high * (1 + 1e-12) + step * 1e-9; ++i) {
    ticks.push_back({i * step * size, short_text(i == 0 ? 0 : i * step)});
  }
  return ticks;
}

std::string title_of(const Axis& axis) {
  if (axis.kind != Axis::Kind::seconds) return axis.title;
  return fmt::format("{} ({})", axis.title, time_unit(axis.high).name);
}

Chart line_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Curve> curves,
                 const std::string& note) {
  std::vector<std::string> names;
  for (const Curve& curve : curves) names.push_back(curve.name);
  const double top = keys_height(look, names), inner = look.width * 0.5;
  const double height = top + inner + x_labels_height(look) + note_height(look, note);
  return {height, [=](Canvas& canvas) {
            const Plot plot = plot_of(look, top, inner, x, y);
            draw_keys(canvas, look, names);
            draw_y(canvas, look, plot);
            draw_x(canvas, look, plot, false);
            std::size_t number = 0;
            for (const Curve& curve : curves) {
              std::vector<Spot> spots;
              for (const auto& [at, value] : curve.points) {
                spots.push_back({plot.px(at), plot.py(value)});
              }
              canvas.line(spots, series_colour(number++), 1);
            }
            draw_note(canvas, look, height, note);
          }};
}

Chart stacked_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Curve> curves,
                    const std::string& note) {
  if (curves.size() < 2) return line_chart(look, x, y, std::move(curves), note);
  const double inner = std::max(look.width * 0.2, look.font * 7), name = look.font * 1.2;
  const double height = (inner + name) * static_cast<double>(curves.size()) +
                        x_labels_height(look) + note_height(look, note);
  return {height, [=](Canvas& canvas) {
            double top = 0;
            std::size_t number = 0;
            for (const Curve& curve : curves) {
              top += name;
              Plot plot = plot_of(look, top, inner, x, y);
              if (number + 1 < curves.size()) plot.height -= look.font * 0.4;
              const bool is_middle = number == curves.size() / 2;
              if (!is_middle) plot.y.title.clear();
              canvas.text({plot.left, top}, fitted(curve.name, look.font, plot.width), look.font,
                          Align::left, kInk, false);
              draw_y(canvas, look, plot);
              std::vector<Spot> spots;
              for (const auto& [at, value] : curve.points) {
                spots.push_back({plot.px(at), plot.py(value)});
              }
              canvas.line(spots, series_colour(number++), 0.75);
              if (number == curves.size()) draw_x(canvas, look, plot, false);
              top += inner;
            }
            draw_note(canvas, look, height, note);
          }};
}

Chart box_chart(const Look& look, const Axis& y, const std::vector<std::string>& series,
                const std::vector<BoxGroup>& groups, const std::string& note) {
  const double top = keys_height(look, series), inner = look.width * 0.5;
  // Names of groups have a line for each word that needs one.
  const double each = (look.width - y_labels_width(look, y, inner)) /
                      static_cast<double>(std::max<std::size_t>(groups.size(), 1));
  std::size_t lines = 1;
  for (const BoxGroup& group : groups) {
    lines = std::max(lines, wrapped(group.name, look.font * 0.85, each - 2).size());
  }
  const double below = look.font * (0.6 + 1.1 * static_cast<double>(lines));
  const double height = top + inner + below + note_height(look, note);
  return {
      height, [=](Canvas& canvas) {
        const Plot plot = plot_of(look, top, inner, {}, y);
        draw_keys(canvas, look, series);
        draw_y(canvas, look, plot);
        const double bottom = plot.top + plot.height;
        canvas.line({plot.left, bottom}, {plot.left + plot.width, bottom}, kInk, kThin);
        const double room =
            plot.width / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
        const double step =
            room * 0.8 / static_cast<double>(std::max<std::size_t>(series.size(), 1));
        for (std::size_t g = 0; g < groups.size(); ++g) {
          const double left = plot.left + room * static_cast<double>(g);
          for (const Box& box : groups[g].boxes) {
            const double x = left + room * 0.1 + step * (static_cast<double>(box.series) + 0.5);
            const double half = std::min(step * 0.4, look.font);
            const Colour colour = series_colour(box.series);
            canvas.line({x, plot.py(box.low)}, {x, plot.py(box.high)}, colour, kThin);
            const double upper = plot.py(box.q3), lower = plot.py(box.q1);
            canvas.box({x - half, upper}, 2 * half, std::max(lower - upper, 0.5), colour);
            const double median = plot.py(box.median);
            canvas.line({x - half, median}, {x + half, median}, {0xffffff}, 0.8);
          }
          double at = bottom + look.font * 1.2;
          for (const std::string& line : wrapped(groups[g].name, look.font * 0.85, each - 2)) {
            canvas.text({left + room / 2, at}, line, look.font * 0.85, Align::middle, kInk, false);
            at += look.font * 1.1;
          }
        }
        draw_note(canvas, look, height, note);
      }};
}

Chart heat_chart(const Look& look, const std::string& row_title,
                 const std::vector<std::string>& rows, const std::string& column_title,
                 const std::vector<std::string>& columns, const std::vector<Heat>& panels,
                 const std::string& note) {
  const double cell = look.font * 1.7;
  const double panel =
      look.font * 1.6 + cell * static_cast<double>(rows.size()) + x_labels_height(look);
  const double height = panel * static_cast<double>(panels.size()) + note_height(look, note);
  return {height, [=](Canvas& canvas) {
            const double left = widest(rows, look.font) + look.font * 1.5 + 5;
            const double each = (look.width - left - 2) /
                                static_cast<double>(std::max<std::size_t>(columns.size(), 1));
            double top = 0;
            for (const Heat& heat : panels) {
              canvas.text({left, top + look.font}, fitted(heat.name, look.font, look.width - left),
                          look.font, Align::left, kInk, false);
              const double grid = top + look.font * 1.5;
              const double bottom = grid + cell * static_cast<double>(rows.size());
              for (const Cell& its : heat.cells) {
                // The largest size is above.
                const double x = left + each * static_cast<double>(its.column);
                const double y = bottom - cell * static_cast<double>(its.row + 1);
                canvas.box({x + 0.25, y + 0.25}, each - 0.5, cell - 0.5, ratio_colour(its.ratio));
                const bool is_dark = std::abs(std::log2(its.ratio)) > 1.2;
                canvas.text({x + each / 2, y + cell / 2 + look.font * 0.35},
                            its.ratio < 99.5 ? fmt::format("{:.2f}", its.ratio)
                                             : fmt::format("{:.0f}", its.ratio),
                            look.font * 0.9, Align::middle, is_dark ? Colour{0xffffff} : kInk,
                            false);
              }
              for (std::size_t i = 0; i < rows.size(); ++i) {
                const double y = bottom - cell * (static_cast<double>(i) + 0.5) + look.font * 0.35;
                canvas.text({left - 3, y}, rows[i], look.font, Align::right, kInk, false);
              }
              double free_from = 0;
              for (std::size_t i = 0; i < columns.size(); ++i) {
                const double x = left + each * (static_cast<double>(i) + 0.5);
                const double half = text_width(columns[i], look.font) / 2;
                if (x - half < free_from || x + half > look.width + 1) continue;
                free_from = x + half + 2;
                canvas.text({x, bottom + look.font * 1.2}, columns[i], look.font, Align::middle,
                            kInk, false);
              }
              canvas.text({look.font, (grid + bottom) / 2}, row_title, look.font, Align::middle,
                          kInk, true);
              canvas.text({left + (look.width - left) / 2, bottom + look.font * 2.4}, column_title,
                          look.font, Align::middle, kInk, false);
              top += panel;
            }
            draw_note(canvas, look, height, note);
          }};
}

Chart gantt_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Span> spans,
                  const std::string& note) {
  const double inner = look.width * 0.55;
  const double height = inner + x_labels_height(look) + note_height(look, note);
  return {height, [=](Canvas& canvas) {
            const Plot plot = plot_of(look, 0, inner, x, y);
            draw_y(canvas, look, plot);
            for (const Span& span : spans) {
              const double left = plot.px(span.from), top = plot.py(span.high);
              const double wide = plot.px(span.until) - left, high = plot.py(span.low) - top;
              // A gap between bars where they are large enough for one.
              const double gap_x = wide > 1.5 ? 0.25 : 0, gap_y = high > 1.5 ? 0.25 : 0;
              canvas.box({left, top}, std::max(wide - gap_x, 0.02), std::max(high - gap_y, 0.02),
                         series_colour(span.series));
            }
            draw_x(canvas, look, plot, false);
            draw_note(canvas, look, height, note);
          }};
}

Chart dot_chart(const Look& look, const std::vector<std::string>& rows,
                const std::vector<DotPanel>& panels, const std::string& note) {
  const double row = look.font * 1.5;
  const double inner = row * static_cast<double>(rows.size()) + look.font * 0.5;
  const double panel = inner + x_labels_height(look) + look.font * 0.6;
  const double height = panel * static_cast<double>(panels.size()) + note_height(look, note);
  return {height, [=](Canvas& canvas) {
            const double left = std::min(widest(rows, look.font) + 5, look.width * 0.4);
            double top = 0;
            for (const DotPanel& its : panels) {
              const Plot plot{
                  left, top + look.font * 0.3, look.width - left - look.font * 1.5, inner, its.axis,
                  {}};
              draw_x(canvas, look, plot, true);
              for (std::size_t i = 0; i < rows.size(); ++i) {
                const double y = plot.top + row * (static_cast<double>(i) + 0.5) + look.font * 0.25;
                canvas.text({left - 4, y + look.font * 0.35}, fitted(rows[i], look.font, left - 5),
                            look.font, Align::right, kInk, false);
                const Estimate& value = its.values.at(i);
                if (!std::isfinite(value.value)) continue;
                const double low = plot.px(value.value - value.half_width);
                const double high = plot.px(value.value + value.half_width);
                if (value.half_width > 0) canvas.line({low, y}, {high, y}, series_colour(i), 1);
                canvas.dot({plot.px(value.value), y}, look.font * 0.3, series_colour(i));
              }
              top += panel;
            }
            draw_note(canvas, look, height, note);
          }};
}

Chart bar_chart(const Look& look, const Axis& x, const std::vector<std::string>& rows,
                const std::vector<std::string>& series, const std::vector<Bar>& bars,
                const std::string& note) {
  const double top = keys_height(look, series);
  const double bar = look.font * 0.8;
  const double row = bar * static_cast<double>(series.size()) + look.font * 0.8;
  const double inner = row * static_cast<double>(rows.size());
  const double height =
      top + inner + x_labels_height(look) + note_height(look, note) + look.font * 0.4;
  return {
      height, [=](Canvas& canvas) {
        draw_keys(canvas, look, series);
        const double left = widest(rows, look.font) + 5;
        const Plot plot{left, top + look.font * 0.2, look.width - left - look.font * 1.5, inner, x,
                        {}};
        draw_x(canvas, look, plot, true);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const double y = plot.top + row * (static_cast<double>(i) + 0.5) + look.font * 0.35;
          canvas.text({left - 4, y}, rows[i], look.font, Align::right, kInk, false);
        }
        for (const Bar& its : bars) {
          const double y = plot.top + row * static_cast<double>(its.row) + look.font * 0.4 +
                           bar * static_cast<double>(its.series);
          canvas.box({left, y}, plot.px(its.value) - left, bar * 0.9, series_colour(its.series));
        }
        draw_note(canvas, look, height, note);
      }};
}

}  // namespace ductile
