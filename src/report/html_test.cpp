#include "report/html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::HasSubstr;

TEST(Html, TextIsText) {
  EXPECT_EQ(escaped("<a href=\"x\">1 & 2</a>"), "&lt;a href=&quot;x&quot;&gt;1 &amp; 2&lt;/a&gt;");
  EXPECT_THAT(page_head("a<b"), HasSubstr("<title>Ductile: a&lt;b</title>"));
  EXPECT_THAT(page_head("a<b"), HasSubstr("<h1>a&lt;b</h1>"));
}

TEST(Html, CoordinatesAreShort) {
  EXPECT_EQ(fixed(1.0 / 3), "0.33");
  EXPECT_EQ(fixed(2), "2");
  EXPECT_EQ(fixed(-0.001), "0");
  EXPECT_EQ(fixed(10.5), "10.5");
}

}  // namespace
}  // namespace ductile
