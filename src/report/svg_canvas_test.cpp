#include "report/svg_canvas.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(SvgCanvas, DrawsWhatItIsTold) {
  SvgCanvas canvas(20, 10.5, "a & b");
  const Spot spots[] = {{0, 1}, {2.125, 3}};
  static_cast<Canvas&>(canvas).line(spots, {0xD55E00}, 0.5);
  canvas.box({1, 2}, 3, 4, {0x000000});
  canvas.dot({5, 6}, 1, {0xffffff});
  canvas.text({7, 8}, "<x>", 8, Align::right, {0x222222}, true);
  EXPECT_EQ(canvas.finish(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20pt\" height=\"10.5pt\" "
            "viewBox=\"0 0 20 10.5\" font-family=\"Helvetica, Arial, sans-serif\" role=\"img\">\n"
            "<title>a &amp; b</title>\n<rect width=\"20\" height=\"10.5\" fill=\"#ffffff\"/>\n"
            "<polyline points=\"0,1 2.12,3\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"0.5\" "
            "stroke-linejoin=\"round\"/>\n"
            "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"#000000\"/>\n"
            "<circle cx=\"5\" cy=\"6\" r=\"1\" fill=\"#ffffff\"/>\n"
            "<text x=\"7\" y=\"8\" font-size=\"8\" text-anchor=\"end\" fill=\"#222222\" "
            "transform=\"rotate(-90 7 8)\">&lt;x&gt;</text>\n</svg>\n");
}

}  // namespace
}  // namespace ductile
