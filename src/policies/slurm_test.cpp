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

// A machine of 4 nodes with one job on 3 of them until 100 s; `waiting` come at 1 s. Which does
// backfill start at 30 s?
std::vector<unsigned> backfilled(const std::string& settings,
                                 const std::vector<event::Submitted>& waiting) {
  const auto policy = make_policy(settings);
  Core core({.nodes = 4}, {}, {}, policy->traits);
  core.apply(Time{}, job(3, 100));
  core.close(Time{}, *policy);
  for (const event::Submitted& submitted : waiting) {
    core.apply(Time{whole_seconds(1)}, submitted);
  }
  EXPECT_TRUE(core.close(Time{whole_seconds(1)}, *policy).empty());
  const Time tick{whole_seconds(30)};
  core.apply(tick, event::TimerFired{});
  std::vector<unsigned> ids;
  for (const Decision& decision : core.close(tick, *policy)) {
    EXPECT_EQ(decision.reason.why, Why::backfilled);
    ids.push_back(index(decision.job));
  }
  std::ranges::sort(ids);
  return ids;
}

using Ids = std::vector<unsigned>;

TEST(Slurm, EndsAreRoundedUp) {
  EXPECT_EQ(backfilled("slurm", {job(4, 10), job(1, 29)}), Ids{2});  // until 59 s: 60 s
  EXPECT_EQ(backfilled("slurm", {job(4, 10), job(1, 30)}), Ids{});   // until 60 s: 120 s
  EXPECT_EQ(backfilled("slurm:bf_resolution=0", {job(4, 10), job(1, 70)}), Ids{2});
  EXPECT_EQ(backfilled("slurm:bf_resolution=0", {job(4, 10), job(1, 71)}), Ids{});
}

TEST(Slurm, WhoIsTooFarAheadHoldsNoReservation) {
  EXPECT_EQ(backfilled("slurm:bf_window=70", {job(4, 10), job(1, 500)}), Ids{});
  EXPECT_EQ(backfilled("slurm:bf_window=69", {job(4, 10), job(1, 500)}), Ids{2});
}

TEST(Slurm, LooksAtTheFirstJobs) {
  EXPECT_EQ(backfilled("slurm:bf_max_job_test=2", {job(4, 10), job(4, 10), job(1, 5)}), Ids{});
  EXPECT_EQ(backfilled("slurm:bf_max_job_test=3", {job(4, 10), job(4, 10), job(1, 5)}), Ids{3});
}

}  // namespace
}  // namespace ductile
