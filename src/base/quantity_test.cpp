#include "base/quantity.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(Quantity, ReadsLimitsAsSlurmDoes) {
  const auto seconds = [](const char* text) { return parse_limit(text).count() / 1'000'000; };
  EXPECT_EQ(seconds("10"), 600);
  EXPECT_EQ(seconds("10:30"), 630);
  EXPECT_EQ(seconds("1:10:30"), 4230);
  EXPECT_EQ(seconds("2-3"), 2 * 86400 + 3 * 3600);
  EXPECT_EQ(seconds("2-3:4"), 2 * 86400 + 3 * 3600 + 240);
  EXPECT_EQ(seconds("0-0:0:1"), 1);
  for (const char* text : {"", "0", "x", "1:", ":1", "1:2:3:4", "-1", "1-", "1-2:3:4:5", "1.5",
                           "999999999", "401-0"}) {
    EXPECT_THROW(parse_limit(text), InputError) << text;
  }
}

TEST(Quantity, ReadsMemoryAsSlurmDoes) {
  EXPECT_EQ(parse_memory("7"), std::uint64_t{7} << 20);
  EXPECT_EQ(parse_memory("512K"), std::uint64_t{512} << 10);
  EXPECT_EQ(parse_memory("100M"), std::uint64_t{100} << 20);
  EXPECT_EQ(parse_memory("3G"), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_memory("1048576T"), std::uint64_t{1} << 60);
  for (const char* text :
       {"", "0", "G", "-1", "1.5G", "1g", "1GB", "1048577T", "99999999999999999999"}) {
    EXPECT_THROW(parse_memory(text), InputError) << text;
  }
}

TEST(Quantity, ShowsMemory) {
  for (const char* text : {"64G", "1536M", "3K", "2T", "4096T"}) {
    EXPECT_EQ(memory_text(parse_memory(text)), text);
  }
}

}  // namespace
}  // namespace ductile
