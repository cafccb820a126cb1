#include "job/cgroup.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
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
  // It leaves its session, and its environment.
  const pid_t pid = start_session(
      {"/bin/sh", "-c", "setsid env -i sleep 1000 & exec sleep 1000"}, {},
      []() -> const char* { return nullptr; }, group);
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
  const std::string folder = group->folder();
  const Process process = start_process(
      {"/bin/sh", "-c", "env -i setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo began"},
      {{"A", "1"}}, {}, {}, group->folder());
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

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// With whatever controllers the group above gives; none has to be one that Ductile uses.
TEST(Cgroup, GivesOnItsControllersAlsoFromWithin) {
  const auto own = own_cgroup();
  if (!own) GTEST_SKIP() << "no group can be made here";
  const std::string group = *own + "/ductile-unit-test-" + std::to_string(getpid());
  ASSERT_TRUE(make_cgroup(group));
  std::set<std::string> there;
  std::ifstream file(group + "/cgroup.controllers");
  for (std::string name; file >> name;) there.insert(name);
  if (there.empty()) {
    remove_cgroup(group);
    GTEST_SKIP() << "the control group of this process gives no controllers to those below it";
  }
  const std::string jobs = group + "/jobs", inner = group + "/inner";
  const pid_t pid = fork();
  if (pid == 0) {
    // Who is in the group itself goes out of the way.
    if (!enter_cgroup(processes_of_cgroup(group).c_str())) _exit(2);
    if (enable_controllers(group, there, inner) != there) _exit(3);
    if (!enable_controllers(group, {"no such"}, inner).empty()) _exit(4);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(exit_code(status), 0);
  ASSERT_TRUE(make_cgroup(jobs));
  const GroupLimits limits{.cpus = "0", .memory = std::uint64_t{64} << 20, .processes = 12};
  EXPECT_TRUE(limit_cgroup(jobs, limits, there));
  if (there.contains("cpuset")) {
    EXPECT_EQ(text_of(jobs + "/cpuset.cpus"), "0");
  }
  if (there.contains("memory")) {
    EXPECT_EQ(text_of(jobs + "/memory.max"), "67108864");
  }
  if (there.contains("pids")) {
    EXPECT_EQ(text_of(jobs + "/pids.max"), "12");
  }
  EXPECT_TRUE(limit_cgroup(jobs, {}, there));
  if (there.contains("memory")) {
    EXPECT_EQ(text_of(jobs + "/memory.max"), "max");
  }
  remove_cgroup(group);
}

}  // namespace
}  // namespace ductile
