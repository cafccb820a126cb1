#include "job/threads_page.hpp"

#include <cstddef>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/threads_page.h"

namespace ductile {
namespace {

ductile_page page_in(const std::string& path) {
  ductile_page page{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&page), sizeof page);
  return page;
}

/// As a process does that attaches.
void take_slot(const std::string& path, std::size_t slot, ductile_page_slot its) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offsetof(ductile_page, slots) + slot * sizeof its));
  file.write(reinterpret_cast<const char*>(&its), sizeof its);
}

TEST(ThreadsPage, HasWhatWasPublished) {
  const std::string path = ::testing::TempDir() + "/page";
  {
    ThreadsPage page(path, "/tmp/control");
    struct stat its {};
    ASSERT_EQ(stat(path.c_str(), &its), 0);
    EXPECT_EQ(its.st_mode & 0777U, 0600U);
    NodeSet cpus;
    cpus.insert(1, 2);
    cpus.insert(64, 64);
    EXPECT_EQ(page.publish(3, cpus), 2U);
    const ductile_page now = page_in(path);
    EXPECT_EQ(now.magic, DUCTILE_PAGE_MAGIC);
    EXPECT_EQ(now.version, DUCTILE_PAGE_VERSION);
    EXPECT_EQ(now.sequence, 2U);
    EXPECT_EQ(now.cores, 3U);
    EXPECT_EQ(now.cpus[0], 6U);
    EXPECT_EQ(now.cpus[1], 1U);
    EXPECT_STREQ(now.control, "/tmp/control");
    EXPECT_EQ(page.publish(1, {}), 4U);
    EXPECT_EQ(page_in(path).cpus[0], 0U);
    EXPECT_THROW(ThreadsPage(path, ""), RunError);  // it is there already
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(ThreadsPage, KnowsWhoHasFollowed) {
  const std::string path = ::testing::TempDir() + "/page";
  ThreadsPage page(path, "");
  const std::uint32_t sequence = page.publish(1, {});
  EXPECT_TRUE(page.followers().empty());
  take_slot(path, 5,
            {.pid = static_cast<std::uint32_t>(getpid()),
             .seen = sequence,
             .seen_ns = page_in(path).changed_ns + 2'000'000});
  take_slot(path, 6, {.pid = 0xfffffff0, .seen = 0, .seen_ns = 0});  // there is no such process
  const auto followers = page.followers();
  ASSERT_EQ(followers.size(), 1U);
  EXPECT_EQ(followers[0].pid, getpid());
  EXPECT_EQ(followers[0].seen, sequence);
  EXPECT_DOUBLE_EQ(followers[0].seen_s, 0.002);
  // Whose slot it is meanwhile the manager does not know.
  EXPECT_EQ(page_in(path).slots[6].pid, 0xfffffff0U);
}

TEST(ThreadsPage, SurvivesWhatProgramsDoToIt) {
  const std::string path = ::testing::TempDir() + "/page";
  ThreadsPage page(path, "");
  page.publish(1, {});
  ASSERT_EQ(truncate(path.c_str(), 10), 0);
  EXPECT_TRUE(page.followers().empty());
  EXPECT_EQ(page.publish(2, {}), 4U);
  EXPECT_EQ(page_in(path).cores, 2U);
}

}  // namespace
}  // namespace ductile
