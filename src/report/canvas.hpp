// What pictures for papers are drawn on. One drawing, several kinds of files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ductile {

/// Red, green and blue, as 0xRRGGBB.
struct Colour {
  std::uint32_t rgb = 0;
  bool operator==(const Colour&) const = default;
};

/// In points (1/72 inch) from the upper left corner.
struct Spot {
  double x = 0, y = 0;
};

enum class Align : std::uint8_t { left, middle, right };

class Canvas {
 public:
  virtual ~Canvas() = default;

  /// From each spot to the next one.
  virtual void line(std::span<const Spot> spots, Colour colour, double width) = 0;
  virtual void box(Spot corner, double width, double height, Colour fill) = 0;
  virtual void dot(Spot middle, double radius, Colour fill) = 0;
  /// `at`: on the base line. `upright`: reads from below to above.
  virtual void text(Spot at, std::string_view text, double size, Align align, Colour colour,
                    bool upright) = 0;
  /// The file, complete. Nothing may be drawn any more. Throws RunError.
  virtual std::string finish() = 0;

  void line(Spot from, Spot to, Colour colour, double width) {
    const Spot both[] = {from, to};
    line(both, colour, width);
  }
};

/// In points, in Helvetica.
double text_width(std::string_view text, double size);

}  // namespace ductile
