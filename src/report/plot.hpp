// What the figures have in common: their look, panels with axes, legends.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/axis.hpp"
#include "report/canvas.hpp"

namespace ductile {

/// In points.
struct Look {
  double width = 238.1;  // one column of a journal: 84 mm
  double font = 8;

  double line_height() const { return 1.35 * font; }
  double margin() const { return 0.5 * font; }
  Lettering letters(Anchor anchor = Anchor::start, Colour colour = kInk) const {
    return {.size = font, .anchor = anchor, .colour = colour};
  }
};

/// The line of one of several policies: its colour, and dashes where colours come again.
Pen pen_of(std::size_t place);

/// A panel with axes. The plot has room for its labels around it.
class Panel {
 public:
  Panel(Canvas& canvas, const Look& look, const Area& plot, const Axis& x, const Axis& y);

  /// Grid, and the numbers of the axes; without those of x where another panel is below it.
  void axes(bool with_x = true);
  void x_title(std::string_view title);
  void y_title(std::string_view title);
  /// Above the plot, to the left.
  void title(std::string_view title);

  Spot at(double x, double y) const;
  const Area& plot() const { return plot_; }
  /// Through these values.
  void curve(std::span<const Spot> values, const Pen& pen);

 private:
  Canvas& canvas_;
  const Look& look_;
  Area plot_;
  Axis x_, y_;
};

/// "wait (h)"
std::string with_unit(std::string_view title, const Axis& axis);

/// How wide the labels of an axis are.
double label_width(const Axis& axis, const Look& look);

/// Panels below each other, one for each name, on the same axes.
struct Strips {
  double top = 0;  // of the first one
  std::vector<std::string> names{};
  std::string y_title{};  // once for all, which are too low for it
  std::string x_title{};
  Axis x{}, y{};

  double left(const Look& look) const;
  /// To the end of the figure.
  double height(const Look& look) const;
  /// `fill` draws what is in each.
  void draw(Canvas& canvas, const Look& look,
            const std::function<void(Panel& panel, std::size_t place)>& fill) const;
};

/// How wide names are at the left of a plot: what is longer is cut.
double names_width(std::span<const std::string> names, const Look& look);

struct LegendEntry {
  std::string name;
  Pen pen{};
  bool is_area = false;
};
/// From `top` on, over the width of the look, in as many lines as it takes; how high it is. Without
/// a canvas it is measured only.
double legend(Canvas* canvas, const Look& look, double left, double top,
              std::span<const LegendEntry> entries);

}  // namespace ductile
