#include "live/state_lock.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

/// In a process of its own: has it the folder? Then it ends, or starts another process, which stays
/// and has all that it had.
bool is_free(const std::string& folder, bool leaves_child = false) {
  const pid_t process = fork();
  if (process == 0) {
    try {
      const Descriptor lock = lock_state(folder);
      if (leaves_child && fork() == 0) {
        for (int output = 0; output < 3; ++output) close(output);  // nobody waits for what it says
        alarm(5);
        pause();
      }
      _exit(0);
    } catch (const InputError&) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(StateLock, KeepsOthersOutWhileItsProcessLives) {
  const std::string folder = ::testing::TempDir() + "/lock-of-state";
  {
    const Descriptor lock = lock_state(folder);
    EXPECT_FALSE(is_free(folder));
  }
  EXPECT_TRUE(is_free(folder));
}

TEST(StateLock, WhatItStartedDoesNotKeepIt) {
  const std::string folder = ::testing::TempDir() + "/lock-and-child";
  EXPECT_TRUE(is_free(folder, true));
  EXPECT_TRUE(is_free(folder));
}

}  // namespace
}  // namespace ductile
