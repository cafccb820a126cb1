// What `ductile-slurm watch` does to the jobs of a controller that does not come back.
#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "slurm/watch.hpp"
#include "support/fake_slurm.hpp"
#include "support/fake_world.hpp"

namespace ductile::testing {
namespace {

class WatchTest : public ::testing::Test {
 public:
  WatchTest() { std::filesystem::remove(file); }
  SlurmJob::State state(std::uint64_t number) { return slurm.all().at(number).job.state; }
  bool is_held(std::uint64_t number) { return slurm.all().at(number).job.is_held; }

  std::string file = ::testing::TempDir() + "hands-over";
  FakeClocks clocks{};
  FakeSlurm slurm{1, 4, clocks};
  Watch watch{{.partition = "adaptive", .hands_over = file, .after = whole_seconds(60)}, slurm};
  Time begin{};
};

TEST_F(WatchTest, AControllerThatAnswersIsLeftAlone) {
  slurm.be_kind();
  const std::uint64_t job = slurm.submit("ductile:1 type=rigid nodes=1", 1, whole_seconds(10));
  for (int i = 0; i < 100; ++i) watch.look(begin + whole_seconds(i), true);
  EXPECT_FALSE(watch.has_handed_over());
  EXPECT_TRUE(is_held(job));
}

TEST_F(WatchTest, AShortSilenceIsNone) {
  slurm.be_kind();
  const std::uint64_t job = slurm.submit("ductile:1 type=rigid nodes=1", 1, whole_seconds(10));
  for (int i = 0; i < 200; ++i) watch.look(begin + whole_seconds(i), i % 50 == 0);
  EXPECT_FALSE(watch.has_handed_over());
  EXPECT_TRUE(is_held(job));
}

TEST_F(WatchTest, AfterThatSlurmStartsAllButWhatUsersHold) {
  slurm.be_kind();
  const std::uint64_t job = slurm.submit("ductile:1 type=rigid nodes=2", 2, whole_seconds(10));
  const std::uint64_t users =
      slurm.submit("ductile:1 type=rigid nodes=1 hold=user", 1, whole_seconds(10));
  for (int i = 0; i <= 60; ++i) watch.look(begin + whole_seconds(i), false);
  EXPECT_TRUE(watch.has_handed_over());
  slurm.live();
  EXPECT_EQ(state(job), SlurmJob::State::running);
  EXPECT_TRUE(is_held(users));
}

TEST_F(WatchTest, WhatSlurmDoesNotDoIsTriedAgain) {
  const std::uint64_t job = slurm.submit("ductile:1 type=rigid nodes=2", 2, whole_seconds(10));
  slurm.go_away();
  for (int i = 0; i <= 60; ++i) {
    try {
      watch.look(begin + whole_seconds(i), false);
    } catch (const SlurmError&) {
      EXPECT_EQ(i, 60);
    }
  }
  slurm.be_kind();
  watch.look(begin + whole_seconds(65), false);
  EXPECT_FALSE(is_held(job));
}

}  // namespace
}  // namespace ductile::testing
