#include "report/canvas.hpp"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using testing::HasSubstr;
using testing::Not;

void draw(Canvas& canvas) {
  canvas.clip({5, 5, 90, 40});
  canvas.fill({10, 10, 20, 5}, kColours[0]);
  canvas.frame({10, 10, 20, 5}, {});
  canvas.unclip();
  canvas.line({0, 0}, {50, 25}, {.colour = kColours[1], .width = 1, .dash = Dash::dashed});
  canvas.line({0, 0}, {50, 25}, {.dash = Dash::mixed});
  canvas.line({0, 0}, {50, 25}, {.dash = Dash::dotted});
  canvas.dot({50, 25}, 2, kInk);
  canvas.text({50, 25}, "a < b & ± 3 – ≤ ö", {.anchor = Anchor::middle, .bold = true});
  canvas.text({5, 25}, "up", {.upwards = true});
}

std::string drawn(std::unique_ptr<Canvas> canvas) {
  draw(*canvas);
  return canvas->finish();
}

TEST(Canvas, AnSvgIsText) {
  EXPECT_EQ(drawn(svg_canvas(100, 50, "a & b")),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100pt\" height=\"50pt\" "
            "viewBox=\"0 0 100 50\" font-family=\"Helvetica, Arial, 'Nimbus Sans', "
            "'Liberation Sans', sans-serif\">\n"
            "<title>a &amp; b</title>\n"
            "<rect x=\"0\" y=\"0\" width=\"100\" height=\"50\" fill=\"#ffffff\"/>\n"
            "<clipPath id=\"c1\"><rect x=\"5\" y=\"5\" width=\"90\" height=\"40\"/></clipPath>\n"
            "<g clip-path=\"url(#c1)\">\n"
            "<rect x=\"10\" y=\"10\" width=\"20\" height=\"5\" fill=\"#0072b2\"/>\n"
            "<rect x=\"10\" y=\"10\" width=\"20\" height=\"5\" fill=\"none\" stroke=\"#000000\" "
            "stroke-width=\"0.6\"/>\n"
            "</g>\n"
            "<line x1=\"0\" y1=\"0\" x2=\"50\" y2=\"25\" stroke=\"#d55e00\" stroke-width=\"1\" "
            "stroke-dasharray=\"4 2\"/>\n"
            "<line x1=\"0\" y1=\"0\" x2=\"50\" y2=\"25\" stroke=\"#000000\" stroke-width=\"0.6\" "
            "stroke-dasharray=\"5 2 1 2\"/>\n"
            "<line x1=\"0\" y1=\"0\" x2=\"50\" y2=\"25\" stroke=\"#000000\" stroke-width=\"0.6\" "
            "stroke-dasharray=\"1 2\"/>\n"
            "<circle cx=\"50\" cy=\"25\" r=\"2\" fill=\"#000000\"/>\n"
            "<text x=\"50\" y=\"25\" font-size=\"8\" text-anchor=\"middle\" font-weight=\"bold\">"
            "a &lt; b &amp; ± 3 – ≤ ö</text>\n"
            "<text x=\"5\" y=\"25\" font-size=\"8\" transform=\"rotate(-90 5 25)\">up</text>\n"
            "</svg>\n");
}

TEST(Canvas, APdfIsTheSameBytesEachTime) {
  const std::string pdf = drawn(pdf_canvas(100, 50, "a"));
  EXPECT_THAT(pdf, testing::StartsWith("%PDF-"));
  EXPECT_THAT(pdf, HasSubstr("/BaseFont /Helvetica"));
  EXPECT_THAT(pdf, Not(HasSubstr("Date")));
  EXPECT_EQ(pdf, drawn(pdf_canvas(100, 50, "a")));
}

TEST(Canvas, WhatIsNoTextIsNotInFiles) {
  auto svg = svg_canvas(10, 10, "x");
  svg->text({0, 0}, "a\x01\xff\"\\", {});
  EXPECT_THAT(svg->finish(), HasSubstr(">a \xef\xbf\xbd&quot;\\</text>"));
  auto pdf = pdf_canvas(10, 10, "\xff");
  pdf->text({0, 0}, "\xf0\x9f\x98\x80\xe2\x82", {});
  EXPECT_THAT(pdf->finish(), testing::StartsWith("%PDF-"));
}

TEST(Canvas, KnowsHowWideTextIs) {
  EXPECT_DOUBLE_EQ(text_width("W", 10), 9.44);
  EXPECT_DOUBLE_EQ(text_width("ö", 10), 5.56);
  EXPECT_EQ(fitting("easy", 8, 100), "easy");
  EXPECT_EQ(fitting("conservative", 8, 40), "conserva...");
  EXPECT_LE(text_width(fitting("conservative", 8, 40), 8), 40);
  EXPECT_EQ(fitting("öööööö", 8, 20), "öö...");
}

TEST(Canvas, MixesColours) {
  EXPECT_EQ(mixed(kInk, kWhite, 0.5), (Colour{128, 128, 128}));
  EXPECT_EQ(mixed(kInk, kWhite, 0), kInk);
}

}  // namespace
}  // namespace ductile
