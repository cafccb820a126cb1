// Pictures as SVG, whose text is text.
#pragma once

#include <string>

#include "report/canvas.hpp"

namespace ductile {

class SvgCanvas final : public Canvas {
 public:
  /// Size in points. `title` is what programs read aloud.
  SvgCanvas(double width, double height, std::string_view title);

  using Canvas::line;
  void line(std::span<const Spot> spots, Colour colour, double width) override;
  void box(Spot corner, double width, double height, Colour fill) override;
  void dot(Spot middle, double radius, Colour fill) override;
  void text(Spot at, std::string_view text, double size, Align align, Colour colour,
            bool upright) override;
  std::string finish() override;

 private:
  std::string text_;
};

}  // namespace ductile
