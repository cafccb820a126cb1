// Pictures as PDF: one page, as large as the picture.
#pragma once

#include <memory>
#include <string>

#include "report/canvas.hpp"

namespace ductile {

/// The text is Helvetica, which every reader of PDF has; characters that are not in Latin-1 become
/// "?". The same drawing gives the same bytes: there is no date in them.
class PdfCanvas final : public Canvas {
 public:
  /// Size in points.
  PdfCanvas(double width, double height, std::string_view title);
  ~PdfCanvas() override;

  using Canvas::line;
  void line(std::span<const Spot> spots, Colour colour, double width) override;
  void box(Spot corner, double width, double height, Colour fill) override;
  void dot(Spot middle, double radius, Colour fill) override;
  void text(Spot at, std::string_view text, double size, Align align, Colour colour,
            bool upright) override;
  std::string finish() override;

 private:
  struct Document;  // of libharu, which nobody else needs to see
  std::unique_ptr<Document> document_;
  double height_;
};

}  // namespace ductile
