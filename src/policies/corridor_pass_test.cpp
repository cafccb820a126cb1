#include "policies/corridor_pass.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::Stage;

const AdaptiveSpec kHundredWatts{.watts_per_node = 100};

/// Of 8 nodes that draw nothing when they idle two jobs have 3 each, and one waits for 4.
struct Jobs : Stage {
  Jobs() {
    tell(event::CorridorChanged{0, 1000});
    first = run(malleable({1, 8}, 3, 1000), 3, kHundredWatts);
    second = run(malleable({2, 8}, 3, 1000), 3, kHundredWatts);
    waits = submit(rigid(4, 100), kHundredWatts);
    at(10);
  }
  JobId first{}, second{}, waits{};
};

TEST(CorridorPass, AJobFitsUnderALineOfNowOrToCome) {
  Jobs jobs;
  jobs.tell(event::CorridorChanged{0, 300, {{at_s(100), 0, 400}}});
  jobs.pass([&](Pass& pass) {
    EXPECT_FALSE(fits_no_line(pass, jobs.waits, 4));
    EXPECT_TRUE(fits_no_line(pass, jobs.waits, 5));
  });
}

TEST(CorridorPass, ThereIsNoProblemBelowTheIdleDraw) {
  Jobs jobs;
  jobs.pass([&](Pass& pass) {
    EXPECT_FALSE(corridor_problem(pass, {.high_mw = -1}));
    const auto problem = corridor_problem(pass, bounds_now(pass));
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->nodes, 8u);
    EXPECT_EQ(problem->upper_mw, 1'000'000);
  });
}

TEST(CorridorPass, WhoWaitsHasNoNodesAndMayKeepThem) {
  Jobs jobs;
  jobs.pass([&](Pass& pass) {
    const auto its = in_corridor(pass, 0, jobs.waits, 4, pass.node_power(jobs.waits));
    EXPECT_EQ(its.n, 0u);
    EXPECT_EQ(its.range, exactly(4));
    EXPECT_EQ(its.p_max_mw, 100'000);
    // And who runs is in no danger of fewer than he has.
    EXPECT_EQ(in_corridor(pass, 1, jobs.first, 0, {}).range.max, 3u);
  });
}

TEST(CorridorPass, IsCarriedOutAsAWhole) {
  Jobs jobs;
  const std::vector<JobId> ids{jobs.first, jobs.second, jobs.waits};
  jobs.pass([&](Pass& pass) {
    EXPECT_FALSE(carry_out(pass, changes_to(pass, ids, std::vector<Nodes>{3, 2, 4})));
    EXPECT_EQ(pass.job(jobs.second).target, 3u);
    EXPECT_TRUE(carry_out(pass, changes_to(pass, ids, std::vector<Nodes>{2, 2, 4})));
    EXPECT_EQ(pass.job(jobs.first).target, 2u);
  });
}

TEST(CorridorPass, InPartTheCutsAboveTheBoundAndElseWhatIdles) {
  const auto sizes_after = [](double high_w) {
    Jobs jobs;
    jobs.tell(event::CorridorChanged{0, high_w});
    std::vector<Nodes> sizes;
    jobs.pass([&](Pass& pass) {
      const std::vector<JobId> ids{jobs.first, jobs.second};
      const SizeChanges changes = changes_to(pass, ids, std::vector<Nodes>{1, 8});
      carry_out_in_part(pass, changes, bounds_now(pass));
      sizes = {pass.job(jobs.first).target, pass.job(jobs.second).target};
    });
    return sizes;
  };
  EXPECT_EQ(sizes_after(500), (std::vector<Nodes>{1, 3}));
  EXPECT_EQ(sizes_after(1000), (std::vector<Nodes>{3, 5}));
}

TEST(CorridorPass, CutsToTheSmallestSizes) {
  Jobs jobs;
  jobs.pass([&](Pass& pass) {
    cut_to_least(pass);
    EXPECT_EQ(pass.job(jobs.first).target, 1u);
    EXPECT_EQ(pass.job(jobs.second).target, 2u);
  });
}

}  // namespace
}  // namespace ductile
