#include "live/node_watch.hpp"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace ductile {
namespace {

constexpr std::uint32_t kAnna = 1000, kBert = 1001;

NodeSet node(std::uint32_t number) { return {{{number, number}}}; }

TEST(NodeWatch, OnlyWhatANodeCanDoIsADeath) {
  for (const char* reason : {"RaisedSignal:SIGKILL", "RaisedSignal:SIGBUS"}) {
    EXPECT_TRUE(NodeWatch::is_death(reason, true)) << reason;
    EXPECT_FALSE(NodeWatch::is_death(reason, false)) << reason;
  }
  EXPECT_TRUE(NodeWatch::is_death("SystemFailure", false));
  for (const char* reason : {"", "NonZeroExitCode", "RaisedSignal:SIGTERM", "MPIAbort", "TimeLimit",
                             "OutOfMemory", "JobLaunchFailure"}) {
    EXPECT_FALSE(NodeWatch::is_death(reason, true)) << reason;
  }
}

TEST(NodeWatch, ThreeDeathsInARowAreTooMany) {
  NodeWatch watch;
  EXPECT_FALSE(watch.died(4, kAnna));
  EXPECT_FALSE(watch.died(4, kAnna));
  watch.ran(node(5), kAnna);  // on another node
  EXPECT_TRUE(watch.died(4, kAnna));
}

TEST(NodeWatch, AJobThatRunsClearsItsNodes) {
  NodeWatch watch;
  watch.died(4, kAnna);
  watch.died(4, kAnna);
  watch.died(5, kBert);
  watch.died(5, kBert);
  watch.ran(NodeSet{{{3, 4}}}, kBert);
  EXPECT_FALSE(watch.died(4, kAnna));
  EXPECT_FALSE(watch.died(4, kAnna));
  EXPECT_TRUE(watch.died(5, kBert));
}

/// In whatever order they come to which nodes, and whatever runs well in between.
TEST(NodeWatch, OneUserDrainsOneNodeAtMost) {
  for (std::uint32_t stride = 1; stride <= 20; ++stride) {
    for (std::uint32_t good = 2; good <= 8; ++good) {
      NodeWatch watch;
      std::set<std::uint32_t> drained;
      for (std::uint32_t job = 0; job < 2000; ++job) {
        const std::uint32_t at = job / stride % 7;
        if (drained.contains(at)) continue;
        if (job % good == 0) {
          watch.ran(node(at), kAnna);
        } else if (watch.died(at, kAnna)) {
          drained.insert(at);
        }
      }
      EXPECT_LE(drained.size(), 1) << stride << " jobs a node, each " << good << "th of them good";
      if (drained.empty()) continue;
      // Another one counts beside it, and so do both where it is used again.
      const std::uint32_t other = (*drained.begin() + 1) % 7;
      watch.ran(node(other), kBert);
      watch.died(other, kAnna);
      watch.died(other, kAnna);
      EXPECT_FALSE(watch.died(other, kAnna));
      EXPECT_TRUE(watch.died(other, kBert));
    }
  }
}

TEST(NodeWatch, WhoseJobsDieElsewhereSpeaksAgainUntilOneRuns) {
  NodeWatch watch;
  watch.died(0, kAnna);
  watch.died(1, kAnna);
  watch.died(1, kAnna);
  EXPECT_FALSE(watch.died(1, kAnna));
  watch.ran(node(2), kAnna);
  EXPECT_TRUE(watch.died(1, kAnna));
  // Nobody else is hindered by that.
  watch.died(3, kBert);
  watch.died(3, kBert);
  EXPECT_TRUE(watch.died(3, kBert));
}

TEST(NodeWatch, ANodeThatIsUsedAgainHasNoPast) {
  NodeWatch watch;
  for (int i = 0; i < 3; ++i) watch.died(4, kAnna);
  watch.forget(NodeSet{{{0, 7}}});
  EXPECT_FALSE(watch.died(4, kAnna));
  EXPECT_FALSE(watch.died(3, kAnna));
  EXPECT_FALSE(watch.died(4, kAnna));
}

}  // namespace
}  // namespace ductile
