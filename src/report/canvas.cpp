#include "report/canvas.hpp"

#include <array>

namespace ductile {
namespace {

// Of the characters from the blank on, in thousandths of the size (Adobe's metrics of Helvetica).
constexpr std::array<int, 95> kWidths{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

}  // namespace

double text_width(std::string_view text, double size) {
  int sum = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 32 && byte < 127) {
      sum += kWidths[byte - 32U];
    } else if ((byte & 0xC0U) != 0x80U) {
      sum += 600;
    }
  }
  return sum * size / 1000;
}

}  // namespace ductile
