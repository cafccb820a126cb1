#include "workload/line_reader.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::vector<std::string> lines_of(std::string_view bytes, std::size_t longest = 16) {
  const std::string name = "file";
  CompressedFile file = CompressedFile::in_memory(bytes, name);
  LineReader reader(file, name, "shorten it", nullptr, longest);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) {
    lines.emplace_back(line);
    EXPECT_EQ(reader.number(), lines.size());
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineReader, GivesLinesWithoutTheirEnds) {
  EXPECT_EQ(lines_of("one\ntwo\n\nfour\n"), (Lines{"one", "two", "", "four"}));
  EXPECT_EQ(lines_of("one\ntwo"), (Lines{"one", "two"}));
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
}

TEST(LineReader, GoesThroughItsBufferManyTimes) {
  std::string bytes;
  Lines expected;
  for (std::size_t i = 0; i < 1000; ++i) {
    expected.emplace_back(i % 17, 'x');
    bytes += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(bytes), expected);
}

TEST(LineReader, RefusesALineThatIsTooLong) {
  EXPECT_EQ(lines_of(std::string(1024, 'x') + "\n", 1024).size(), 1u);
  for (const char* end : {"", "\n"}) {
    for (const std::size_t length : {1025, 5000, 100'000}) {
      try {
        lines_of("short\n" + std::string(length, 'x') + end, 1024);
        FAIL() << length;
      } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "file:2: the line is longer than 1 KiB; shorten it");
      }
    }
  }
}

}  // namespace
}  // namespace ductile
