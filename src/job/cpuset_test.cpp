#include "job/cpuset.hpp"

#include <csignal>
#include <optional>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/affinity.hpp"

namespace ductile {
namespace {

TEST(Cpuset, KeepsAProcessWhereItIs) {
  const auto cpuset = Cpuset::make(std::nullopt);
  if (!cpuset) GTEST_SKIP() << "this user may have no cpuset of version 1 here";
  NodeSet cpus = own_cpus();
  if (cpus.count() < 2) GTEST_SKIP() << "there is one processor";
  const NodeSet one = cpus.take_lowest(1);
  ASSERT_TRUE(cpuset->keep_to(one));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_TRUE(cpuset->take(child));
  cpu_set_t others;
  CPU_ZERO(&others);
  CPU_SET(cpus.parts.front().first, &others);
  EXPECT_NE(sched_setaffinity(child, sizeof others, &others), 0);
  EXPECT_TRUE(cpuset->keep_to(cpus));
  EXPECT_EQ(sched_setaffinity(child, sizeof others, &others), 0);
  NodeSet nowhere;
  nowhere.insert(100'000, 100'000);
  EXPECT_FALSE(cpuset->keep_to(nowhere));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace ductile
