// The charts that pictures for papers are made of, each drawn once for all kinds of canvas.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report/canvas.hpp"

namespace ductile {

/// In points.
struct Look {
  double width = 238, font = 8;
};

/// A picture that can be drawn on any canvas of its size.
struct Chart {
  double height = 0;
  std::function<void(Canvas&)> draw{};
};

/// Colours that colour-blind people tell apart (Okabe and Ito 2008); again from the first one on.
Colour series_colour(std::size_t number);
constexpr std::size_t kSeriesColours = 7;

struct Axis {
  enum class Kind : std::uint8_t { plain, seconds, log, log_seconds };
  std::string title{};  // a unit that follows the size is added
  double low = 0, high = 1;
  Kind kind = Kind::plain;
};
struct Tick {
  double at = 0;
  std::string label{};
};
/// About so many, at steps of 1, 2 or 5 times a power of ten of the unit that fits; of a
/// logarithmic axis powers of ten, and of its times s, min, h and d.
std::vector<Tick> ticks_of(const Axis& axis, double most);
/// "wait (h)".
std::string title_of(const Axis& axis);

struct Curve {
  std::string name{};
  std::vector<std::pair<double, double>> points{};
};
/// `note`: below the picture, what a reader must not miss.
Chart line_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Curve> curves,
                 const std::string& note);

/// Each curve in a plot of its own, one below the other, where they would be a tangle in one.
Chart stacked_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Curve> curves,
                    const std::string& note);

/// Least, quartiles and greatest of something.
struct Box {
  std::size_t series = 0;
  double low = 0, q1 = 0, median = 0, q3 = 0, high = 0;
};
struct BoxGroup {
  std::string name{};
  std::vector<Box> boxes{};
};
Chart box_chart(const Look& look, const Axis& y, const std::vector<std::string>& series,
                const std::vector<BoxGroup>& groups, const std::string& note);

struct Cell {
  std::size_t row = 0, column = 0;
  double ratio = 1;  // below 1 is better
};
struct Heat {
  std::string name{};
  std::vector<Cell> cells{};
};
/// One panel below the other.
Chart heat_chart(const Look& look, const std::string& row_title,
                 const std::vector<std::string>& rows, const std::string& column_title,
                 const std::vector<std::string>& columns, const std::vector<Heat>& panels,
                 const std::string& note);

struct Span {
  double from = 0, until = 0;  // s
  double low = 0, high = 0;    // nodes
  std::size_t series = 0;
};
Chart gantt_chart(const Look& look, const Axis& x, const Axis& y, std::vector<Span> spans,
                  const std::string& note);

struct Estimate {
  double value = 0, half_width = 0;  // of its interval; 0: none
};
struct DotPanel {
  Axis axis{};
  std::vector<Estimate> values{};  // of each row
};
Chart dot_chart(const Look& look, const std::vector<std::string>& rows,
                const std::vector<DotPanel>& panels, const std::string& note);

struct Bar {
  std::size_t row = 0, series = 0;
  double value = 0;
};
Chart bar_chart(const Look& look, const Axis& x, const std::vector<std::string>& rows,
                const std::vector<std::string>& series, const std::vector<Bar>& bars,
                const std::string& note);

}  // namespace ductile
