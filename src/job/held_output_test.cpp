#include "job/held_output.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

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
    taken += held.take(round % 3 == 0 ? 100000 : 700).text;
    EXPECT_EQ(taken.size() + held.size(), expected.size());
  }
  EXPECT_GT(held.size(), 400000U);
  while (!held.empty()) taken += held.take(65536).text;
  EXPECT_EQ(taken, expected);
  ASSERT_TRUE(held.append("again", folder));
  EXPECT_EQ(held.take(100).text, "again");
  EXPECT_EQ(held.take(100).text, "");
}

TEST(HeldOutput, SaysIfThereIsNoRoom) {
  HeldOutput held;
  ASSERT_TRUE(held.append("little", "/nonexistent"));
  errno = 0;
  EXPECT_FALSE(held.append(std::string(1 << 20, 'x'), "/nonexistent"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(held.take(100).text, "little");
}

/// The file without a name that this process has in a folder.
int nameless_file_in(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored);
    if (target.starts_with(folder) && target.ends_with(" (deleted)")) {
      return std::stoi(entry.path().filename());
    }
  }
  return -1;
}

TEST(HeldOutput, SaysWhatCannotBeReadAgain) {
  constexpr std::size_t kAll = 1 << 20;
  HeldOutput held;
  ASSERT_TRUE(held.append("little", ::testing::TempDir()));
  ASSERT_TRUE(held.append(std::string(kAll, 'x'), ::testing::TempDir()));
  ASSERT_EQ(ftruncate(nameless_file_in(::testing::TempDir()), 1000), 0);
  const HeldOutput::Taken first = held.take(5000);
  EXPECT_EQ(first.text, "little" + std::string(1000, 'x'));
  EXPECT_EQ(first.missing, 5000U - first.text.size());
  EXPECT_EQ(first.error, EIO);
  const HeldOutput::Taken rest = held.take(2 * kAll);
  EXPECT_EQ(rest.text, "");
  EXPECT_EQ(rest.missing, 6 + kAll - 5000);
  EXPECT_TRUE(held.empty());
  ASSERT_TRUE(held.append("again", ::testing::TempDir()));
  EXPECT_EQ(held.take(10).missing, 0U);
}

TEST(HeldOutput, CanBeForgotten) {
  HeldOutput held;
  ASSERT_TRUE(held.append(std::string(1 << 20, 'x'), ::testing::TempDir()));
  held.clear();
  EXPECT_TRUE(held.empty());
  ASSERT_TRUE(held.append("new", ::testing::TempDir()));
  EXPECT_EQ(held.take(10).text, "new");
}

}  // namespace
}  // namespace ductile
