#include "job/cgroup.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/process.hpp"

namespace ductile {
namespace {

// Who has made itself a daemon, with nothing in its environment by which it could be known.
TEST(Cgroup, NobodyLeavesIt) {
  auto group = Cgroup::make("test");
  if (!group) GTEST_SKIP() << "no control groups of version 2 here, or not for this user";
  const std::string folder = std::filesystem::path(group->procs()).parent_path();
  const Process process = start_process(
      {"/bin/sh", "-c", "env -i setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo began"},
      {{"A", "1"}}, false, {}, group->procs());
  set_blocking(process.out, true);
  std::string text;
  char byte = 0;
  while (read(process.out.get(), &byte, 1) == 1) text.push_back(byte);
  waitpid(process.pid, nullptr, 0);
  EXPECT_EQ(text, "began\n");
  EXPECT_EQ(kill_descendants({{"A", "1"}}), 0u);
  EXPECT_GE(group->kill_all(), 1u);
  EXPECT_EQ(group->kill_all(), 0u);
  group.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace ductile
