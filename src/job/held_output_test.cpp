#include "job/held_output.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST(HeldOutput, IsAQueueHoweverMuchThereIs) {
  const std::string folder = ::testing::TempDir();
  HeldOutput held;
  std::string expected;
  std::string taken;
  // Small and large, and taken from within the memory and within the file.
  for (int round = 0; round < 40; ++round) {
    const std::string text = lines(round * 100, round * 100 + (round % 4 == 3 ? 30000 : 50));
    ASSERT_TRUE(held.append(text, folder));
    expected += text;
    taken += held.take(round % 3 == 0 ? 100000 : 700);
    EXPECT_EQ(taken.size() + held.size(), expected.size());
  }
  EXPECT_GT(held.size(), 400000U);
  while (!held.empty()) taken += held.take(65536);
  EXPECT_EQ(taken, expected);
  ASSERT_TRUE(held.append("again", folder));
  EXPECT_EQ(held.take(100), "again");
  EXPECT_EQ(held.take(100), "");
}

TEST(HeldOutput, SaysIfThereIsNoRoom) {
  HeldOutput held;
  ASSERT_TRUE(held.append("little", "/nonexistent"));
  EXPECT_FALSE(held.append(std::string(1 << 20, 'x'), "/nonexistent"));
  EXPECT_EQ(held.take(100), "little");
}

TEST(HeldOutput, CanBeForgotten) {
  HeldOutput held;
  ASSERT_TRUE(held.append(std::string(1 << 20, 'x'), ::testing::TempDir()));
  held.clear();
  EXPECT_TRUE(held.empty());
  ASSERT_TRUE(held.append("new", ::testing::TempDir()));
  EXPECT_EQ(held.take(10), "new");
}

}  // namespace
}  // namespace ductile
