#include "simulation/timed_lines.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TimedLines lines(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/timed.txt";
  std::ofstream(path) << text;
  return {path, "cannot be read", "look"};
}

TEST(TimedLines, AreATimeAndWords) {
  TimedLines line = lines("# remark\n\n 1.5\tgo  home # now\r\n2\n");
  ASSERT_TRUE(line.next());
  EXPECT_EQ(line.time(), Time{seconds(1.5)});
  EXPECT_EQ(line.size(), 2u);
  EXPECT_EQ(line.word(1), "home");
  EXPECT_EQ(line.word(2), "");
  EXPECT_EQ(line.rest(0), "go home");
  EXPECT_EQ(line.place("time").line, 3u);
  ASSERT_TRUE(line.next());
  EXPECT_EQ(line.size(), 0u);
  EXPECT_FALSE(line.next());
}

TEST(TimedLines, BeginWithATime) {
  for (const char* text : {"soon\n", "-1\n", "1e13 x\n", "nan\n"}) {
    TimedLines line = lines(text);
    EXPECT_THROW(line.next(), InputError) << text;
  }
  EXPECT_THROW(TimedLines("/no/such/file", "cannot be read", "look"), InputError);
}

TEST(TimedLines, SayWhichWordIsWrong) {
  TimedLines line = lines("1 a\n");
  ASSERT_TRUE(line.next());
  const auto said = [&](const char* word) {
    try {
      line.refuse("field", word, "write b");
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("timed.txt"));
    }
  };
  EXPECT_EQ(said("a"), "timed.txt:1: field: 'a' is not possible; write b");
  EXPECT_EQ(said(""), "timed.txt:1: field: is missing; write b");
}

}  // namespace
}  // namespace ductile
