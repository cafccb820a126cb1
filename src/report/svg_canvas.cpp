#include "report/svg_canvas.hpp"

#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "report/html.hpp"

namespace ductile {
namespace {

std::string hex(Colour colour) { return fmt::format("#{:06x}", colour.rgb); }

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, std::string_view title) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}pt\" height=\"{1}pt\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\" role=\"img\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      fixed(width), fixed(height), escaped(title));
}

void SvgCanvas::line(std::span<const Spot> spots, Colour colour, double width) {
  text_ += "<polyline points=\"";
  bool is_first = true;
  for (const Spot& spot : spots) {
    text_.append(is_first ? "" : " ").append(fixed(spot.x)).append(",").append(fixed(spot.y));
    is_first = false;
  }
  fmt::format_to(std::back_inserter(text_),
                 "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"/>\n",
                 hex(colour), fixed(width));
}

void SvgCanvas::box(Spot corner, double width, double height, Colour fill) {
  fmt::format_to(std::back_inserter(text_),
                 "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                 fixed(corner.x), fixed(corner.y), fixed(width), fixed(height), hex(fill));
}

void SvgCanvas::dot(Spot middle, double radius, Colour fill) {
  fmt::format_to(std::back_inserter(text_), "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n",
                 fixed(middle.x), fixed(middle.y), fixed(radius), hex(fill));
}

void SvgCanvas::text(Spot at, std::string_view text, double size, Align align, Colour colour,
                     bool upright) {
  constexpr std::array<const char*, 3> kAnchors{"start", "middle", "end"};
  const std::string x = fixed(at.x), y = fixed(at.y);
  fmt::format_to(std::back_inserter(text_),
                 "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"", x, y,
                 fixed(size), kAnchors[static_cast<std::size_t>(align)], hex(colour));
  if (upright) fmt::format_to(std::back_inserter(text_), " transform=\"rotate(-90 {} {})\"", x, y);
  text_.append(">").append(escaped(text)).append("</text>\n");
}

std::string SvgCanvas::finish() {
  text_ += "</svg>\n";
  return std::move(text_);
}

}  // namespace ductile
