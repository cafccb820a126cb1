#include "job/failure.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace ductile {
namespace {

int exited(int code) { return code << 8; }

TEST(Failure, IsNoneOfAProgramThatSucceeded) {
  EXPECT_EQ(failure_of(exited(0), "MPI_ABORT was invoked on rank 0", false).reason, "");
}

TEST(Failure, NamesSignalsAndCodes) {
  EXPECT_EQ(failure_of(exited(3), "", false).reason, "NonZeroExitCode");
  EXPECT_EQ(failure_of(exited(3), "", false).note, "exit code 3");
  EXPECT_EQ(failure_of(exited(255), "", false).reason, "NonZeroExitCode");
  EXPECT_EQ(failure_of(SIGSEGV, "", false).reason, "RaisedSignal:SIGSEGV");
  EXPECT_EQ(failure_of(SIGSEGV, "", false).note, "killed by SIGSEGV");
  EXPECT_EQ(failure_of(exited(139), "", false).reason, "RaisedSignal:SIGSEGV");
  EXPECT_EQ(failure_of(exited(139), "", false).note,
            "exit code 139, as of a process that was killed by SIGSEGV");
  const int real_time = SIGRTMIN + 3;
  EXPECT_EQ(failure_of(real_time, "", false).reason, "RaisedSignal:SIGRTMIN+3");
}

TEST(Failure, KnowsWhatWasKilledFromWhatLooksLikeIt) {
  EXPECT_TRUE(failure_of(SIGSEGV, "", false).was_killed);
  EXPECT_FALSE(failure_of(exited(139), "", false).was_killed);
  EXPECT_FALSE(failure_of(exited(3), "", false).was_killed);
  EXPECT_TRUE(failure_of(exited(139),
                         "mpirun noticed that process rank 1 with PID 7 on node n exited on signal "
                         "11 (Segmentation fault).\n",
                         false)
                  .was_killed);
  EXPECT_FALSE(failure_of(exited(139), "it exited on signal 11\n", false).was_killed);
}

TEST(Failure, HearsLaunchers) {
  const std::string mpich =
      "=   EXIT CODE: 8\n===\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Floating point "
      "exception (signal 8)\nThis typically\n";
  EXPECT_EQ(failure_of(exited(8), mpich, false).reason, "RaisedSignal:SIGFPE");
  EXPECT_EQ(failure_of(exited(8), "x (signal 8)\n", false).reason, "NonZeroExitCode");
  EXPECT_EQ(
      failure_of(exited(8), "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: x (signal 900)\n",
                 false)
          .reason,
      "NonZeroExitCode");
  const Failure abort = failure_of(
      exited(7),
      "---\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n\n"
      "NOTE: invoking\n",
      false);
  EXPECT_EQ(abort.reason, "MPIAbort");
  EXPECT_EQ(abort.note,
            "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD with errorcode 7.");
  EXPECT_EQ(
      failure_of(exited(7), "x application called MPI_Abort(MPI_COMM_WORLD, 7) - process 0", false)
          .note,
      "application called MPI_Abort(MPI_COMM_WORLD, 7) - process 0");
}

TEST(Failure, KnowsTheWantOfMemory) {
  EXPECT_EQ(failure_of(SIGKILL, "", true).reason, "OutOfMemory");
  EXPECT_EQ(failure_of(exited(137), "", true).reason, "OutOfMemory");
  EXPECT_EQ(failure_of(SIGKILL, "", false).reason, "RaisedSignal:SIGKILL");
  EXPECT_EQ(failure_of(SIGTERM, "", true).reason, "RaisedSignal:SIGTERM");
}

TEST(Failure, WordsAreKnown) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const Failure failure = failure_of(signal, "", signal % 2 == 1);
    EXPECT_TRUE(is_reason(failure.reason)) << failure.reason;
  }
  EXPECT_FALSE(is_reason(""));
  EXPECT_FALSE(is_reason("RaisedSignal:"));
  EXPECT_FALSE(is_reason("RaisedSignal:SIG\x1b[2J"));
  EXPECT_FALSE(is_reason("Anything"));
  EXPECT_FALSE(signal_name(0));
  EXPECT_FALSE(signal_name(-5));
  EXPECT_FALSE(signal_name(100));
}

}  // namespace
}  // namespace ductile
