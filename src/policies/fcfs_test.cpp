#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

event::Submitted job(Nodes nodes, std::int64_t walltime_s) {
  return {{.walltime = whole_seconds(walltime_s), .size = exactly(nodes), .preferred = nodes}, {}};
}

TEST(Fcfs, NothingPassesTheFirstThatDoesNotFit) {
  const auto policy = make_policy("fcfs");
  Core core({.nodes = 4}, {}, {}, policy->traits);
  core.apply(Time{}, job(3, 10));
  core.apply(Time{}, job(2, 10));
  core.apply(Time{}, job(1, 10));
  const auto decisions = core.close(Time{}, *policy);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].job, JobId{0});
  EXPECT_EQ(decisions[0].reason.why, Why::in_order);

  const Time end{whole_seconds(10)};
  core.apply(end, event::Ended{JobId{0}, EndState::completed, false});
  EXPECT_EQ(core.close(end, *policy).size(), 2u);
}

TEST(Fcfs, FollowsItsQueueOrder) {
  const auto policy = make_policy("fcfs:order=sjf");
  Core core({.nodes = 2}, {}, {}, policy->traits);
  core.apply(Time{}, job(2, 20));
  core.apply(Time{}, job(2, 10));
  const auto decisions = core.close(Time{}, *policy);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].job, JobId{1});
}

}  // namespace
}  // namespace ductile
