#include "report/chart.hpp"

#include <string>

#include <gtest/gtest.h>

#include "report/pdf_canvas.hpp"
#include "report/svg_canvas.hpp"

namespace ductile {
namespace {

std::string labels_of(const Axis& axis, double most) {
  std::string text;
  for (const Tick& tick : ticks_of(axis, most)) text += tick.label + " ";
  return text;
}

TEST(Chart, TicksAreAtRoundNumbersOfTheUnitThatFits) {
  EXPECT_EQ(labels_of({.low = 0, .high = 100}, 5), "0 20 40 60 80 100 ");
  EXPECT_EQ(labels_of({.low = 0.1, .high = 0.33}, 3), "0.1 0.2 0.3 ");
  EXPECT_EQ(labels_of({.low = 0, .high = 7200, .kind = Axis::Kind::seconds}, 4), "0 50 100 ");
  EXPECT_EQ(labels_of({.low = 0, .high = 20 * 86400.0, .kind = Axis::Kind::seconds}, 4),
            "0 5 10 15 20 ");
  EXPECT_EQ(labels_of({.low = 1, .high = 1000, .kind = Axis::Kind::log}, 5), "1 10 100 1000 ");
  EXPECT_EQ(labels_of({.low = 1, .high = 700, .kind = Axis::Kind::log_seconds}, 5),
            "1 s 10 s 1 min 10 min ");
  EXPECT_EQ(title_of({.title = "wait", .high = 100, .kind = Axis::Kind::seconds}), "wait (s)");
  EXPECT_EQ(title_of({.title = "wait", .high = 1e6, .kind = Axis::Kind::seconds}), "wait (d)");
}

Chart small_chart() {
  return bar_chart({.width = 100, .font = 8}, {.title = "n", .low = 0, .high = 4}, {"in-order"},
                   {"a<b"}, {{0, 0, 2}}, "one note");
}

TEST(Chart, OneAsSvg) {
  const Chart chart = small_chart();
  SvgCanvas canvas(100, chart.height, "small");
  chart.draw(canvas);
  const std::string text = canvas.finish();
  EXPECT_TRUE(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100pt\""));
  EXPECT_NE(text.find("<title>small</title>\n<rect width=\"100\""), std::string::npos);
  EXPECT_NE(text.find(">a&lt;b</text>\n"), std::string::npos);
  EXPECT_NE(text.find("text-anchor=\"end\" fill=\"#222222\">in-order</text>\n"), std::string::npos);
  EXPECT_NE(text.find("fill=\"#0072b2\"/>\n"), std::string::npos);
  EXPECT_NE(text.find(">one note</text>\n</svg>\n"), std::string::npos) << text;
}

TEST(Chart, TheSameAsPdfHasTheSameBytesAgain) {
  const Chart chart = small_chart();
  std::string files[2];
  for (std::string& file : files) {
    PdfCanvas canvas(100, chart.height, "small");
    chart.draw(canvas);
    file = canvas.finish();
  }
  EXPECT_TRUE(files[0].starts_with("%PDF-"));
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0].find("CreationDate"), std::string::npos);
}

}  // namespace
}  // namespace ductile
