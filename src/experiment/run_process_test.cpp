#include "experiment/run_process.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using testing::HasSubstr;

pid_t a_copy() { return fork(); }

void tell_nobody(std::uint64_t, std::uint64_t, Time) {}

TEST(RunProcess, DoesOneRunAfterTheOther) {
  int runs = 0;
  RunProcess process(a_copy, [&](std::size_t number, const auto& tell, const auto&) {
    tell(number, 10, Time{Duration{-3}});
    Summary summary;
    summary.policy = "easy";
    summary.mean_wait_s = 0.1;
    summary.simulate_seconds = ++runs;
    return summary;
  });
  for (const std::size_t number : {3u, 7u}) {
    std::uint64_t told = 0;
    const Summary summary = process.run(
        number,
        [&](std::uint64_t jobs_over, std::uint64_t jobs, Time now) {
          told = jobs_over;
          EXPECT_EQ(jobs, 10u);
          EXPECT_EQ(now, Time{Duration{-3}});
        },
        nullptr);
    EXPECT_EQ(told, number);
    EXPECT_EQ(summary.policy, "easy");
    EXPECT_EQ(summary.mean_wait_s, 0.1);
    EXPECT_EQ(summary.simulate_seconds, number == 3 ? 1 : 2);
  }
  EXPECT_EQ(runs, 0);  // here
}

TEST(RunProcess, ThrowsWhatWasThrownThere) {
  RunProcess process(a_copy, [](std::size_t number, const auto&, const auto&) -> Summary {
    if (number == 0) throw InputError({.file = "x.py", .line = 3}, "raised\n\"this\"", "mend it");
    if (number == 1) throw RunError("the disk is full");
    if (number == 2) throw std::logic_error("odd");
    throw std::bad_alloc();
  });
  EXPECT_THAT([&] { process.run(0, tell_nobody, nullptr); },
              testing::ThrowsMessage<InputError>("x.py:3: raised\n\"this\"; mend it"));
  EXPECT_THAT([&] { process.run(1, tell_nobody, nullptr); },
              testing::ThrowsMessage<RunError>("the disk is full"));
  EXPECT_THAT([&] { process.run(2, tell_nobody, nullptr); },
              testing::ThrowsMessage<std::logic_error>("odd"));
  EXPECT_THROW(process.run(3, tell_nobody, nullptr), std::bad_alloc);
}

TEST(RunProcess, ItsEndIsAnError) {
  RunProcess process(a_copy, [](std::size_t number, const auto&, const auto&) -> Summary {
    if (number == 0) std::raise(SIGKILL);
    _exit(3);
  });
  EXPECT_THAT([&] { process.run(0, tell_nobody, nullptr); },
              testing::ThrowsMessage<RunError>(HasSubstr("was ended by signal 9")));
  EXPECT_THROW(process.run(1, tell_nobody, nullptr), RunError);
}

// Its end of the socket is open still.
TEST(RunProcess, ItsEndIsAnErrorWhileWhatItForkedLives) {
  RunProcess process(a_copy, [](std::size_t, const auto&, const auto&) -> Summary {
    if (fork() == 0) {
      sleep(20);
      _exit(0);
    }
    std::raise(SIGKILL);
    return {};
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(process.run(0, tell_nobody, nullptr), RunError);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(RunProcess, StopsWhenItIsAskedTo) {
  RunProcess process(a_copy, [](std::size_t, const auto& tell, const auto& stop) {
    tell(1, 1, Time{});
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Summary summary;
    summary.stopped = true;
    return summary;
  });
  std::atomic<bool> stop = false;
  EXPECT_TRUE(process
                  .run(
                      0, [&](auto...) { stop = true; }, &stop)
                  .stopped);
}

}  // namespace
}  // namespace ductile
