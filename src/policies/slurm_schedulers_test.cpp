#include "policies/slurm_schedulers.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/core.hpp"

namespace ductile {
namespace {

Time at(double s) { return Time{seconds(s)}; }

event::Submitted job(Nodes nodes, std::int64_t walltime_s) {
  return {{.walltime = whole_seconds(walltime_s), .size = exactly(nodes), .preferred = nodes}, {}};
}

/// A machine of 4 nodes with one job on 3 of them, one that waits for all, and one that could go
/// ahead.
class Blocked : public ::testing::Test {
 protected:
  void play(const char* settings) {
    policy_ = make_policy(settings);
    core_ = std::make_unique<Core>(Platform{.nodes = 4}, Capabilities{}, Rules{}, policy_->traits);
    for (const auto& its : {job(3, 1000), job(4, 10), job(1, 40)}) core_->apply(at(1), its);
    EXPECT_EQ(core_->close(at(1), *policy_).size(), 1u);
  }
  /// So many start when the clock wakes it.
  std::size_t started_at(double s) {
    core_->apply(at(s), event::TimerFired{});
    return core_->close(at(s), *policy_).size();
  }

  std::shared_ptr<const Policy> policy_;
  std::unique_ptr<Core> core_;
};

TEST_F(Blocked, WakesAtTheNextMultiple) {
  play("slurm");
  EXPECT_EQ(core_->next_wake(), at(30));
  EXPECT_EQ(started_at(30), 1u);
  EXPECT_EQ(core_->job(JobId{1}).reserved, at(1001));
}

TEST_F(Blocked, ALiveClockWakesALittleLate) {
  play("slurm");
  EXPECT_EQ(started_at(30.02), 1u);
}

TEST_F(Blocked, MultiplesOfTheOtherIntervalAreNotItsOwn) {
  play("slurm:default_queue_depth=1,sched_interval=29.5");
  EXPECT_EQ(core_->next_wake(), at(29.5));
  EXPECT_EQ(started_at(29.52), 0u);
  EXPECT_EQ(core_->next_wake(), at(30));
  EXPECT_EQ(started_at(30), 1u);
}

TEST_F(Blocked, SleepsWhileNobodyCouldStart) {
  play("slurm");
  core_->apply(at(2), job(1, 1000));  // takes the last node at 60 s: after job 1 nobody else can
  core_->close(at(2), *policy_);
  EXPECT_EQ(started_at(30), 1u);
  EXPECT_EQ(core_->next_wake(), at(60));
  EXPECT_EQ(started_at(60), 0u);
  EXPECT_EQ(core_->next_wake(), kNever);
}

TEST(SlurmSchedulers, SayWhoseTheyAre) {
  for (const ParameterInfo& info : SlurmSchedulers::parameters("of base=slurm: ")) {
    EXPECT_TRUE(info.summary.starts_with("of base=slurm: ")) << info.name;
  }
}

}  // namespace
}  // namespace ductile
