#include "live/job_cgroup.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/process.hpp"

namespace ductile {
namespace {

TEST(JobCgroup, KillsAllThatIsInIt) {
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

}  // namespace
}  // namespace ductile
