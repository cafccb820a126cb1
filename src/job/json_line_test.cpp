#include "job/json_line.hpp"

#include <string>

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

}  // namespace
}  // namespace ductile
