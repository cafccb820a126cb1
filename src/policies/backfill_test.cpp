#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

event::Submitted job(Nodes nodes, std::int64_t walltime_s) {
  return {{.walltime = whole_seconds(walltime_s), .size = exactly(nodes), .preferred = nodes}, {}};
}

// A machine of 4 nodes with one job on 3 of them until 10 s; then `waiting` come. Which start at
// once?
std::vector<unsigned> started(const std::string& settings,
                              const std::vector<event::Submitted>& waiting) {
  const auto policy = make_policy(settings);
  Core core({.nodes = 4}, {}, {}, policy->traits);
  core.apply(Time{}, job(3, 10));
  core.close(Time{}, *policy);
  for (const event::Submitted& submitted : waiting) core.apply(Time{}, submitted);
  std::vector<unsigned> ids;
  for (const Decision& decision : core.close(Time{}, *policy)) {
    EXPECT_EQ(decision.reason.why, Why::backfilled);
    ids.push_back(index(decision.job));
  }
  std::ranges::sort(ids);
  return ids;
}

using Ids = std::vector<unsigned>;

TEST(Easy, BackfillsUpToTheShadowTime) {
  EXPECT_EQ(started("easy", {job(4, 5), job(1, 10)}), Ids{2});  // ends just at the shadow time
  EXPECT_EQ(started("easy", {job(4, 5), job(1, 11)}), Ids{});
}

TEST(Easy, BackfillsOnExtraNodes) { EXPECT_EQ(started("easy", {job(3, 5), job(1, 1000)}), Ids{2}); }

// Job 2 holds the second reservation, from 15 s on 4 nodes; only EASY lets job 3 delay it.
TEST(Backfill, DepthSaysWhoseReservationsBind) {
  const std::vector<event::Submitted> waiting{job(3, 5), job(4, 5), job(1, 100)};
  EXPECT_EQ(started("easy", waiting), Ids{3});
  EXPECT_EQ(started("backfill:depth=1", waiting), Ids{3});
  EXPECT_EQ(started("backfill:depth=2", waiting), Ids{});
  EXPECT_EQ(started("conservative", waiting), Ids{});
}

TEST(Backfill, SaysWhenReservedJobsArePlanned) {
  const auto policy = make_policy("backfill:depth=2");
  Core core({.nodes = 4}, {}, {}, policy->traits);
  for (const auto& submitted : {job(3, 10), job(3, 5), job(4, 5), job(4, 5)}) {
    core.apply(Time{}, submitted);
  }
  core.close(Time{}, *policy);
  EXPECT_EQ(core.job(JobId{1}).reserved, Time{whole_seconds(10)});
  EXPECT_EQ(core.job(JobId{2}).reserved, Time{whole_seconds(15)});
  EXPECT_EQ(core.job(JobId{3}).reserved, kNever);
}

}  // namespace
}  // namespace ductile
