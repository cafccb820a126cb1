#include "scheduling/words.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

std::string wide_text(Wide number) {
  std::string text;
  append_wide(text, number);
  return text;
}

TEST(Words, WideNumbersAreReadAsTheyWereWritten) {
  EXPECT_EQ(wide_text(0), "0");
  EXPECT_EQ(wide_text(Wide{1} << 100), "1267650600228229401496703205376");
  EXPECT_EQ(wide_text(-(Wide{1} << 64)), "-18446744073709551616");
  for (const Wide number : {Wide{0}, Wide{-7}, Wide{1} << 64, -(Wide{1} << 120)}) {
    const std::string text = wide_text(number);
    EXPECT_TRUE((Word{"work", text}.wide() == number)) << text;
  }
  for (const char* text :
       {"", "-", "1x", "0x1", "--1", "111111111111111111111111111111111111111"}) {
    EXPECT_THROW((Word{"work", text}.wide()), RecordError) << text;
  }
}

TEST(Words, NodeSetsHaveNoSpaces) {
  std::string text;
  append_nodes(text, NodeSet{{{0, 3}, {7, 7}, {9, 10}}});
  EXPECT_EQ(text, "0-3,7,9-10");
  EXPECT_EQ((Word{"nodes", text}.nodes()), (NodeSet{{{0, 3}, {7, 7}, {9, 10}}}));
  append_nodes(text = "", {});
  EXPECT_EQ(text, "-");
  EXPECT_TRUE((Word{"nodes", text}.nodes().empty()));
  EXPECT_THROW((Word{"nodes", ""}.nodes()), RecordError);
  EXPECT_THROW((Word{"nodes", "16777216"}.nodes()), RecordError);
}

TEST(Words, WhatIsWrongIsToldWithTheField) {
  try {
    static_cast<void>(Word{"limit", "12s"}.time());
    FAIL();
  } catch (const RecordError& error) {
    EXPECT_EQ(error.field(), "limit");
    EXPECT_STREQ(error.what(), "'12s' is no number");
  }
}

}  // namespace
}  // namespace ductile
