#include "job/cgroup.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/process.hpp"

namespace ductile {
namespace {

TEST(Cgroup, KillsAllThatIsInIt) {
  const auto own = own_cgroup();
  if (!own) GTEST_SKIP() << "no group can be made here";
  const std::string group = *own + "/ductile-unit-test-" + std::to_string(getpid());
  ASSERT_TRUE(make_cgroup(group));
  EXPECT_TRUE(make_cgroup(group));
  EXPECT_TRUE(is_empty_cgroup(group));
  const std::string file = processes_of_cgroup(group);
  // It leaves its session, and its environment.
  const pid_t pid = start_session(
      {"/bin/sh", "-c", "setsid env -i sleep 1000 & exec sleep 1000"}, {},
      [&]() -> const char* { return enter_cgroup(file.c_str()) ? nullptr : "not entered"; });
  EXPECT_FALSE(is_empty_cgroup(group));
  kill_cgroup(group);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(exit_code(status), 128 + SIGKILL);
  for (int i = 0; i < 1000 && !is_empty_cgroup(group); ++i) usleep(10'000);
  EXPECT_TRUE(is_empty_cgroup(group));
  remove_cgroup(group);
  EXPECT_NE(access(group.c_str(), F_OK), 0);
  EXPECT_TRUE(is_empty_cgroup(group));
}

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
