#include "report/canvas.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

// As Adobe's metrics of Helvetica say.
TEST(Canvas, TextIsAsWideAsInHelvetica) {
  EXPECT_DOUBLE_EQ(text_width("", 10), 0);
  EXPECT_DOUBLE_EQ(text_width("Wait (h)", 10), 35);
  EXPECT_DOUBLE_EQ(text_width("\u00b1", 10), 6);
}

}  // namespace
}  // namespace ductile
