#include "report/pdf_canvas.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(PdfCanvas, IsOnePageAsLargeAsThePicture) {
  PdfCanvas canvas(238.11, 100, "\u00b1 \u4e2d");
  canvas.text({10, 20}, "text", 8, Align::middle, {0x222222}, true);
  const std::string file = canvas.finish();
  EXPECT_TRUE(file.starts_with("%PDF-"));
  EXPECT_NE(file.find("/MediaBox [ 0 0 238.11"), std::string::npos);
  EXPECT_NE(file.find("/BaseFont /Helvetica"), std::string::npos);
  EXPECT_EQ(file.find("Date"), std::string::npos);
}

}  // namespace
}  // namespace ductile
