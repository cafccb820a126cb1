#include "report/job_classes.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using testing::ElementsAre;

TEST(JobClasses, SizesFollowTheMachine) {
  EXPECT_THAT(size_classes(1).names, ElementsAre("1", "> 1"));
  EXPECT_THAT(size_classes(16).names, ElementsAre("1", "2", "3–4", "5–8", "> 8"));
  EXPECT_THAT(size_classes(100).names, ElementsAre("1", "2–4", "5–16", "> 16"));
  EXPECT_THAT(
      size_classes(4'000'000'000).names,
      ElementsAre("1", "2–16", "17–256", "257–4096", "4097–65536", "65537–1048576", "> 1048576"));
}

TEST(JobClasses, ABoundIsInTheClassThatItEnds) {
  const Classes classes = size_classes(100);
  EXPECT_EQ(classes.of(1), 0u);
  EXPECT_EQ(classes.of(2), 1u);
  EXPECT_EQ(classes.of(4), 1u);
  EXPECT_EQ(classes.of(17), 3u);
  EXPECT_EQ(classes.of(1e9), 3u);
}

TEST(JobClasses, RunTimesHaveSomeJobsInEachClass) {
  std::vector<Duration> times;
  for (int i = 0; i < 50; ++i) times.push_back(whole_seconds(30));
  times.push_back(whole_seconds(5));
  EXPECT_THAT(runtime_classes(times).names, ElementsAre("all"));
  for (int i = 0; i < 50; ++i) times.push_back(whole_seconds(5'000));
  EXPECT_THAT(runtime_classes(times).names, ElementsAre("≤ 1 min", "> 1 min"));
  for (int i = 0; i < 50; ++i) times.push_back(whole_seconds(700));
  EXPECT_THAT(runtime_classes(times).names, ElementsAre("≤ 1 min", "1 min – 1 h", "> 1 h"));
  EXPECT_THAT(runtime_classes({}).names, ElementsAre("all"));
}

TEST(JobClasses, BothHaveAName) {
  std::vector<Duration> times(50, whole_seconds(30));
  JobClasses classes{size_classes(16), runtime_classes(times)};
  EXPECT_EQ(classes.name(0, 0), "1 node, all run times");
  times.resize(100, whole_seconds(5'000));
  classes.runtimes = runtime_classes(times);
  EXPECT_EQ(classes.name(2, 1), "3–4 nodes, > 1 min");
}

}  // namespace
}  // namespace ductile
