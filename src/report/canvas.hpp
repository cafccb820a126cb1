// A page to draw on, as figures of papers need it: lines, rectangles, text. Two kinds of files come
// of the same calls, SVG and PDF.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ductile {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};

/// Colours that people tell apart who see fewer of them, the darkest ones first (Okabe and Ito,
/// Color Universal Design, 2008). Yellow is left out: lines of it are not seen on white.
constexpr std::array<Colour, 7> kColours{{{0, 114, 178},
                                          {213, 94, 0},
                                          {0, 158, 115},
                                          {204, 121, 167},
                                          {86, 180, 233},
                                          {230, 159, 0},
                                          {0, 0, 0}}};
constexpr Colour kInk{0, 0, 0}, kSoft{110, 110, 110}, kGrid{222, 222, 222}, kWhite{255, 255, 255};

/// `share` of the way from one to the other.
Colour mixed(Colour from, Colour to, double share);

/// In points (1/72 inch) from the upper left corner.
struct Spot {
  double x = 0, y = 0;
};
struct Area {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

enum class Dash : std::uint8_t { solid, dashed, dotted, mixed };
struct Pen {
  Colour colour = kInk;
  double width = 0.6;
  Dash dash = Dash::solid;
};

enum class Anchor : std::uint8_t { start, middle, end };
struct Lettering {
  double size = 8;
  Anchor anchor = Anchor::start;
  Colour colour = kInk;
  bool bold = false;
  bool upwards = false;  // turned by a quarter to the left
};

class Canvas {
 public:
  virtual ~Canvas() = default;

  virtual void line(std::span<const Spot> through, const Pen& pen) = 0;
  virtual void fill(const Area& area, Colour colour) = 0;
  virtual void frame(const Area& area, const Pen& pen) = 0;
  /// Filled.
  virtual void dot(const Spot& centre, double radius, Colour colour) = 0;
  /// The spot is on its base line, and where its anchor is.
  virtual void text(const Spot& at, std::string_view text, const Lettering& how) = 0;
  /// What is drawn from now on is seen within the area only, until `unclip`.
  virtual void clip(const Area& area) = 0;
  virtual void unclip() = 0;
  /// The whole file. The same calls give the same bytes. Nothing may be drawn any more.
  virtual std::string finish() = 0;

  void line(const Spot& from, const Spot& to, const Pen& pen) {
    const std::array<Spot, 2> both{from, to};
    line(both, pen);
  }
};

/// A page of this size in points; the title is what programs show of the file.
std::unique_ptr<Canvas> svg_canvas(double width, double height, std::string_view title);
std::unique_ptr<Canvas> pdf_canvas(double width, double height, std::string_view title);

/// How wide the text is in Helvetica of that size. Letters that are not ASCII count as digits.
double text_width(std::string_view text, double size);

/// The text with dots in place of its end, if it would be wider than that.
std::string fitting(std::string_view text, double size, double width);

}  // namespace ductile
