#include "live/node_watch.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

constexpr Applications::Key kOne{1000, 1}, kTwo{1000, 2}, kThree{1001, 1};

TEST(NodeWatch, OnlyWhatANodeCanDoIsADeath) {
  for (const char* reason : {"RaisedSignal:SIGKILL", "RaisedSignal:SIGBUS", "SystemFailure"}) {
    EXPECT_TRUE(NodeWatch::is_death(reason)) << reason;
  }
  for (const char* reason : {"", "NonZeroExitCode", "RaisedSignal:SIGTERM", "MPIAbort", "TimeLimit",
                             "OutOfMemory", "JobLaunchFailure"}) {
    EXPECT_FALSE(NodeWatch::is_death(reason)) << reason;
  }
}

TEST(NodeWatch, ThreeDeathsInARowAreTooMany) {
  NodeWatch watch;
  EXPECT_FALSE(watch.died(4, kOne));
  EXPECT_FALSE(watch.died(4, kOne));
  EXPECT_TRUE(watch.died(4, kTwo));
}

TEST(NodeWatch, AJobThatRunsClearsItsNodes) {
  NodeWatch watch;
  watch.died(4, kOne);
  watch.died(4, kTwo);
  watch.died(5, kThree);
  watch.died(5, kThree);
  watch.ran(NodeSet{{{3, 4}}}, kThree);
  EXPECT_FALSE(watch.died(4, kOne));
  EXPECT_FALSE(watch.died(4, kTwo));
  EXPECT_TRUE(watch.died(5, kThree));
}

TEST(NodeWatch, AProgramThatDiesEverywhereSpeaksAgainstNoNode) {
  NodeWatch watch;
  watch.died(0, kOne);
  watch.died(0, kOne);
  watch.died(1, kOne);
  EXPECT_FALSE(watch.died(0, kOne));
  EXPECT_FALSE(watch.died(0, kTwo));
  EXPECT_FALSE(watch.died(0, kTwo));
  EXPECT_TRUE(watch.died(0, kTwo));
  // Until it has run somewhere.
  watch.forget(NodeSet{{{0, 0}}});
  watch.ran(NodeSet{{{2, 2}}}, kOne);
  EXPECT_FALSE(watch.died(0, kOne));
  EXPECT_FALSE(watch.died(0, kOne));
  EXPECT_TRUE(watch.died(0, kOne));
}

TEST(NodeWatch, ANodeThatIsUsedAgainHasNoPast) {
  NodeWatch watch;
  for (int i = 0; i < 3; ++i) watch.died(4, kOne);
  watch.forget(NodeSet{{{0, 7}}});
  EXPECT_FALSE(watch.died(4, kOne));
}

}  // namespace
}  // namespace ductile
