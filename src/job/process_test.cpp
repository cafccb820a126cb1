#include "job/process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/cgroup.hpp"

namespace ductile {
namespace {

std::string all_of(const Descriptor& pipe) {
  set_blocking(pipe, true);
  std::string text;
  char byte = 0;
  while (read(pipe.get(), &byte, 1) == 1) text.push_back(byte);
  return text;
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return exit_code(status);
}

TEST(Process, HasItsOutputsItsVariablesAndNoInput) {
  const Process process = start_process({"/bin/sh", "-c", "cat; echo \"$A\"; echo err >&2; exit 3"},
                                        {{"A", "value of A"}}, {});
  EXPECT_EQ(all_of(process.out), "value of A\n");
  EXPECT_EQ(all_of(process.err), "err\n");
  EXPECT_EQ(wait_for(process.pid), 3);
}

TEST(Process, LeadsASessionOfItsOwn) {
  const Process process = start_process({"/bin/sleep", "100"}, {}, {});
  EXPECT_EQ(getsid(process.pid), process.pid);
  kill(process.pid, SIGTERM);
  EXPECT_EQ(wait_for(process.pid), 128 + SIGTERM);
}

TEST(Process, SaysWhyItCannotBeStarted) {
  EXPECT_THROW(start_process({"/no/such/program"}, {}, {}), RunError);
}

TEST(Process, IsFoundByItsVariables) {
  const Process one = start_process({"/bin/sleep", "100"}, {{"A", "1"}, {"B", "1"}}, {});
  const Process two = start_process({"/bin/sleep", "100"}, {{"A", "1"}, {"B", "11"}}, {});
  EXPECT_EQ(descendants({{"A", "1"}, {"B", "1"}}), std::vector<pid_t>{one.pid});
  EXPECT_EQ(descendants({{"A", "1"}}).size(), 2u);
  EXPECT_TRUE(descendants({{"A", ""}}).empty());
  EXPECT_EQ(kill_descendants({{"A", "1"}}), 2u);
  EXPECT_EQ(wait_for(one.pid), 128 + SIGKILL);
  EXPECT_EQ(wait_for(two.pid), 128 + SIGKILL);
}

TEST(Process, IsSeenWithItsParentAndAVariable) {
  const Process one = start_process({"/bin/sleep", "100"}, {{"A", "value of A"}}, {});
  const auto seen = all_processes("A");
  const auto at = std::ranges::find(seen, one.pid, &Seen::pid);
  ASSERT_NE(at, seen.end());
  EXPECT_EQ(at->parent, getpid());
  EXPECT_EQ(at->value, "value of A");
  kill(one.pid, SIGKILL);
  wait_for(one.pid);
  EXPECT_EQ(std::ranges::count(all_processes("A"), one.pid, &Seen::pid), 0);
}

// Processes that end while they are looked at do not disturb.
TEST(Process, IsLookedForWhileOthersEnd) {
  std::atomic<bool> is_done{false};
  std::thread others([&] {
    while (!is_done) {
      const pid_t pid = fork();
      if (pid == 0) _exit(0);
      waitpid(pid, nullptr, 0);
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(descendants({{"A", "of nobody"}}).empty());
  is_done = true;
  others.join();
}

// Who starts it need not wait for what it does before, and it holds nothing but what it is to have.
TEST(Process, BeginsWhileOthersGoOn) {
  std::array<int, 2> wait{}, kept{}, other{};
  ASSERT_EQ(pipe2(wait.data(), O_CLOEXEC) + pipe2(kept.data(), O_CLOEXEC) +
                pipe2(other.data(), O_CLOEXEC),
            0);
  const Descriptor waits(wait[0]), go(wait[1]), reader(kept[0]), other_reader(other[0]);
  Descriptor writer(kept[1]), other_writer(other[1]);
  const std::string program = "echo $$ > /proc/self/fd/" + std::to_string(kept[1]);
  const std::string gate = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(wait[0]);
  NewProcess started = begin_session(
      {"/bin/sh", "-c", program}, {},
      [&]() -> const char* {
        char byte = 0;
        const int file = open(gate.c_str(), O_RDONLY | O_CLOEXEC);  // its own is closed
        return read(file, &byte, 1) == 1 ? nullptr : "nothing came";
      },
      {}, kept[1]);
  set_blocking(started.descriptor(), false);
  EXPECT_FALSE(started.has_begun());
  other_writer.reset();
  writer.reset();
  char byte = 0;
  EXPECT_EQ(read(other_reader.get(), &byte, 1), 0);  // nobody else has the other end
  ASSERT_EQ(write(go.get(), "x", 1), 1);
  set_blocking(started.descriptor(), true);
  EXPECT_TRUE(started.has_begun());
  std::string said(100, '\0');
  const ssize_t got = read(reader.get(), said.data(), said.size());
  EXPECT_EQ(said.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0))),
            std::to_string(started.pid()) + "\n");
  waitpid(started.pid(), nullptr, 0);
}

// Nobody is left, also of those who start others all the time, each in a session of its own and
// with a parent that has gone.
TEST(Process, EndsWithAllThatItHasStarted) {
  adopt_orphans();
  const Process process = start_process({"/bin/sh", "-c",
                                         "i=0; while [ $i -lt 200 ]; do i=$((i+1)); (setsid sleep "
                                         "100 &); [ $i != 20 ] || echo; done"},
                                        {}, {});
  set_blocking(process.out, true);
  char twenty_live = 0;
  ASSERT_EQ(read(process.out.get(), &twenty_live, 1), 1);
  const Killed killed = end_descendants();
  EXPECT_TRUE(killed.are_gone);
  EXPECT_GE(killed.count, 20u);
  EXPECT_TRUE(descendants({}).empty());
  EXPECT_EQ(waitpid(-1, nullptr, 0), -1);
  EXPECT_EQ(end_descendants().count, 0u);
}

// Where a process cannot begin in a group, it tries to enter it, and begins in any case.
TEST(Process, BeginsWhereItsGroupIsNone) {
  const std::string folder = ::testing::TempDir() + "no_group";
  const std::string entrance = processes_of_cgroup(folder);
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  std::ofstream(entrance) << "";
  for (const std::string& group : {folder, folder + "/missing"}) {
    const Process process =
        start_process({"/bin/sh", "-c", "echo $A"}, {{"A", "begun"}}, {}, {}, group);
    EXPECT_EQ(all_of(process.out), "begun\n");
    EXPECT_EQ(wait_for(process.pid), 0);
  }
  std::string entered;
  std::ifstream(entrance) >> entered;
  EXPECT_EQ(entered, "0");
}

}  // namespace
}  // namespace ductile
