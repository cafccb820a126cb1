#include "report/canvas.hpp"

#include <cmath>
#include <cstddef>

namespace ductile {
namespace {

// Of the letters from ' ' to '~' in Helvetica, in thousandths of its size: Adobe's font metrics of
// the base fonts, which Arial and others keep.
constexpr std::array<std::uint16_t, 95> kWidths{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double kOther = 556;

bool is_first_of_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

double width_of(char c) {
  if (c >= ' ' && c <= '~') return kWidths[static_cast<std::size_t>(c - ' ')];
  return is_first_of_letter(c) ? kOther : 0;
}

}  // namespace

Colour mixed(Colour from, Colour to, double share) {
  const auto part = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
  };
  return {part(from.red, to.red), part(from.green, to.green), part(from.blue, to.blue)};
}

double text_width(std::string_view text, double size) {
  double sum = 0;
  for (const char c : text) sum += width_of(c);
  return sum * size / 1000;
}

std::string fitting(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kDots = "...";
  double left = width - text_width(kDots, size);
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    left -= width_of(text[i]) * size / 1000;
    if (left < 0) break;
    if (i + 1 == text.size() || is_first_of_letter(text[i + 1])) end = i + 1;
  }
  return std::string(text.substr(0, end)) + std::string(kDots);
}

}  // namespace ductile
