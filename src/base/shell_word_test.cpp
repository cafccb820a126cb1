#include "base/shell_word.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(ShellWord, IsQuotedWhereItHasToBe) {
  EXPECT_EQ(shell_word("--nodes=4"), "--nodes=4");
  EXPECT_EQ(shell_word("/tmp/a-b_c.d"), "/tmp/a-b_c.d");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("of two"), "'of two'");
  EXPECT_EQ(shell_word("it's; rm $x"), "'it'\\''s; rm $x'");
  EXPECT_EQ(shell_word("a\nb"), "'a\nb'");
}

TEST(ShellWord, MakesALine) {
  EXPECT_EQ(shell_line({"echo", "a b", "c"}), "echo 'a b' c");
  EXPECT_EQ(shell_line({}), "");
}

}  // namespace
}  // namespace ductile
