#include "report/plot.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ductile {

Pen pen_of(std::size_t place) {
  constexpr std::array<Dash, 4> kDashes{Dash::solid, Dash::dashed, Dash::mixed, Dash::dotted};
  return {
      .colour = kColours[place % kColours.size()],
      .width = 1.1,
      .dash = kDashes[(place / kColours.size() + place % kColours.size() % 2) % kDashes.size()]};
}

Panel::Panel(Canvas& canvas, const Look& look, const Area& plot, const Axis& x, const Axis& y)
    : canvas_(canvas), look_(look), plot_(plot), x_(x), y_(y) {}

void Panel::axes(bool with_x) {
  const Pen grid{.colour = kGrid, .width = 0.4};
  for (const Tick& tick : x_.ticks) {
    const double x = at(tick.at, y_.low).x;
    canvas_.line({x, plot_.top}, {x, plot_.bottom()}, grid);
    if (!with_x) continue;
    canvas_.line({x, plot_.bottom()}, {x, plot_.bottom() + 2}, {});
    // The outer ones stay within the page.
    const double half = text_width(tick.label, look_.font) / 2;
    const double most = look_.width - half - 0.5;
    canvas_.text({std::min(x, most), plot_.bottom() + 2.5 + look_.font}, tick.label,
                 look_.letters(Anchor::middle));
  }
  for (const Tick& tick : y_.ticks) {
    const double y = at(x_.low, tick.at).y;
    canvas_.line({plot_.left, y}, {plot_.right(), y}, grid);
    canvas_.line({plot_.left - 2, y}, {plot_.left, y}, {});
    canvas_.text({plot_.left - 4, y + 0.35 * look_.font}, tick.label, look_.letters(Anchor::end));
  }
  canvas_.line({plot_.left, plot_.top}, {plot_.left, plot_.bottom()}, {});
  canvas_.line({plot_.left, plot_.bottom()}, {plot_.right(), plot_.bottom()}, {});
}

void Panel::x_title(std::string_view title) {
  canvas_.text({plot_.left + plot_.width / 2, plot_.bottom() + 2.5 + 2.3 * look_.font}, title,
               look_.letters(Anchor::middle));
}

void Panel::y_title(std::string_view title) {
  Lettering how = look_.letters(Anchor::middle);
  how.upwards = true;
  canvas_.text({look_.font, plot_.top + plot_.height / 2}, title, how);
}

void Panel::title(std::string_view title) {
  canvas_.text({plot_.left, plot_.top - 0.4 * look_.font},
               fitting(title, look_.font, look_.width - plot_.left), look_.letters());
}

Spot Panel::at(double x, double y) const {
  return {plot_.left + plot_.width * x_.share(x), plot_.bottom() - plot_.height * y_.share(y)};
}

void Panel::curve(std::span<const Spot> values, const Pen& pen) {
  std::vector<Spot> through;
  for (const Spot& value : values) {
    const Spot spot = at(value.x, value.y);
    // What lies on a straight line is not needed.
    if (through.size() >= 2) {
      const Spot &a = through[through.size() - 2], &b = through.back();
      if ((a.y == b.y && b.y == spot.y) || (a.x == b.x && b.x == spot.x)) through.pop_back();
    }
    through.push_back(spot);
  }
  canvas_.line(through, pen);
}

std::string with_unit(std::string_view title, const Axis& axis) {
  return axis.unit.empty() ? std::string(title) : fmt::format("{} ({})", title, axis.unit);
}

double label_width(const Axis& axis, const Look& look) {
  double width = 0;
  for (const Tick& tick : axis.ticks) width = std::max(width, text_width(tick.label, look.font));
  return width;
}

namespace {

double strip_title(const Look& look) { return 1.5 * look.font; }
double strip_height(const Look& look) { return 5.5 * look.font; }

}  // namespace

double Strips::left(const Look& look) const { return look.font * 1.6 + label_width(y, look) + 5; }

double Strips::height(const Look& look) const {
  const auto count = static_cast<double>(names.size());
  return top + count * (strip_title(look) + strip_height(look)) + 3.2 * look.font;
}

void Strips::draw(Canvas& canvas, const Look& look,
                  const std::function<void(Panel& panel, std::size_t place)>& fill) const {
  const double title = strip_title(look), each = strip_height(look);
  Lettering upwards = look.letters(Anchor::middle);
  upwards.upwards = true;
  const auto count = static_cast<double>(names.size());
  canvas.text({look.font, top + count * (title + each) / 2}, y_title, upwards);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double above = top + static_cast<double>(i) * (title + each) + title;
    const Area plot{left(look), above, look.width - left(look) - look.margin(),
                    each - 0.4 * look.font};
    Panel panel(canvas, look, plot, x, y);
    const bool is_last = i + 1 == names.size();
    panel.axes(is_last);
    panel.title(names[i]);
    if (is_last) panel.x_title(x_title);
    fill(panel, i);
  }
}

double names_width(std::span<const std::string> names, const Look& look) {
  double width = 0;
  for (const std::string& name : names) width = std::max(width, text_width(name, look.font));
  return std::min(width, 0.4 * look.width);
}

double legend(Canvas* canvas, const Look& look, double left, double top,
              std::span<const LegendEntry> entries) {
  constexpr double kSample = 16, kGap = 4;
  const double right = look.width - look.margin();
  double x = left, y = top;
  for (const LegendEntry& entry : entries) {
    const std::string name = fitting(entry.name, look.font, right - left - kSample - kGap);
    const double width = kSample + kGap + text_width(name, look.font);
    if (x > left && x + width > right) {
      x = left;
      y += look.line_height();
    }
    if (canvas) {
      const double middle = y + 0.5 * look.line_height();
      if (entry.is_area) {
        canvas->fill(
            {x + kSample / 2 - look.font / 2, middle - 0.4 * look.font, look.font, 0.8 * look.font},
            entry.pen.colour);
      } else {
        canvas->line({x, middle}, {x + kSample, middle}, entry.pen);
      }
      canvas->text({x + kSample + kGap, middle + 0.35 * look.font}, name, look.letters());
    }
    x += width + look.font;
  }
  return y + look.line_height() - top;
}

}  // namespace ductile
