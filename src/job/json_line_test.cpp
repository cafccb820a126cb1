#include "job/json_line.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(JsonLine, IsReadUnlessItIsNoneOrTooDeep) {
  EXPECT_EQ(parse_json_line(R"({"do": "queue", "jobs": [1, [2]]})")["jobs"][1][0], 2);
  EXPECT_TRUE(parse_json_line("").is_discarded());
  EXPECT_TRUE(parse_json_line(R"({"do": )").is_discarded());
  const std::string deep(2'000'000, '[');
  EXPECT_TRUE(parse_json_line(R"({"jobs": )" + deep).is_discarded());
  EXPECT_TRUE(parse_json_line(deep + std::string(deep.size(), ']')).is_discarded());
  EXPECT_TRUE(parse_json_line(std::string(16, '[') + std::string(16, ']')).is_array());
  EXPECT_TRUE(parse_json_line(std::string(18, '[') + std::string(18, ']')).is_discarded());
}

TEST(JsonLine, ItsExtentIsFoundWithoutIt) {
  const auto is = [](std::string_view line, std::size_t values, std::size_t fields, int depth) {
    const JsonExtent its = extent_of(line);
    return its.values == values && its.fields == fields && its.depth == depth;
  };
  EXPECT_TRUE(is(R"({"a": [1, 2, {"b": null}], "c": "x"})", 6, 3, 3));
  // What is in a text is none of it, wherever that ends.
  EXPECT_TRUE(is(R"(["[,:{", "\"[,:{", "\\", "\\\"[[", [":"]])", 6, 0, 2));
  EXPECT_TRUE(is(R"(["\)", 1, 0, 1));
  EXPECT_TRUE(is(R"(["[[[[)", 1, 0, 1));
  EXPECT_TRUE(is("", 0, 0, 0));
}

}  // namespace
}  // namespace ductile
