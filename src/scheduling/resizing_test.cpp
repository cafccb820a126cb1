#include "scheduling/resizing.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "model/speedup.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::Stage;
using Gets = std::vector<Nodes>;

TEST(WaterFill, FillsTheLowestFirst) {
  const std::vector<Vessel> vessels{{0, 9}, {2, 9}, {5, 9}};
  EXPECT_EQ(water_fill(vessels, 5), (Gets{4, 1, 0}));  // to 4, 3, 5
  EXPECT_EQ(water_fill(vessels, 0), (Gets{0, 0, 0}));
  EXPECT_EQ(water_fill(vessels, 8), (Gets{5, 3, 0}));
  EXPECT_EQ(water_fill(vessels, 100), (Gets{9, 9, 9}));
  EXPECT_EQ(water_fill(std::vector<Vessel>{{0, 2}, {0, 9}, {-3, 1}}, 7), (Gets{2, 4, 1}));
  EXPECT_TRUE(water_fill({}, 3).empty());
}

// Drop by drop, each into the lowest vessel for which one is left: the vessels of each set together
// get no more than there is in their cells.
TEST(WaterFill, ByCellIsThatOfTheModel) {
  Draws draws(1, Stream::test, 9);
  for (int run = 0; run < 500; ++run) {
    std::vector<Spread::Part> water;
    for (const std::uint32_t cell : {3U, 0U, 2U, 1U}) {
      water.push_back({cell, static_cast<Nodes>(draws.below(6))});
    }
    std::vector<Vessel> vessels;
    for (std::uint64_t n = draws.below(6); n > 0; --n) {
      vessels.push_back({static_cast<std::int64_t>(draws.below(7)) - 3,
                         static_cast<Nodes>(draws.below(8)), draws.below(16)});
    }
    const auto has_place = [&](const Gets& gets) {
      for (std::uint32_t some = 0; some < 1U << vessels.size(); ++some) {
        Cells cells = 0;
        Nodes needs = 0, there = 0;
        for (std::size_t i = 0; i < vessels.size(); ++i) {
          if ((some >> i & 1) == 0 || gets[i] == 0) continue;
          cells |= vessels[i].cells;
          needs += gets[i];
        }
        for (const auto& [cell, count] : water) there += (cells >> cell & 1) != 0 ? count : 0;
        if (needs > there) return false;
      }
      return true;
    };
    Gets expected(vessels.size(), 0);
    for (;;) {
      std::size_t lowest = vessels.size();
      for (std::size_t i = 0; i < vessels.size(); ++i) {
        const auto level = [&](std::size_t v) { return vessels[v].level + expected[v]; };
        Gets more = expected;
        ++more[i];
        if (more[i] > vessels[i].room || !has_place(more)) continue;
        if (lowest == vessels.size() || level(i) < level(lowest)) lowest = i;
      }
      if (lowest == vessels.size()) break;
      ++expected[lowest];
    }
    const std::vector<Spread> gets = water_fill(vessels, water);
    Spread all;
    ASSERT_EQ(gets.size(), vessels.size());
    for (std::size_t i = 0; i < gets.size(); ++i) {
      EXPECT_EQ(gets[i].count(), expected[i]) << "run " << run;
      EXPECT_EQ(gets[i].cells() & ~vessels[i].cells, 0U);
      all.add(gets[i]);
    }
    for (const auto& [cell, count] : water) EXPECT_LE(all.of(cell), count);
  }
}

// Three malleable jobs of 2 to 8 nodes, that hold `sizes`, on so many nodes and `idle` more.
Stage three(const std::vector<Nodes>& sizes, Nodes idle, SizeConstraint::Kind kind = {}) {
  Stage::Setup setup;
  setup.platform.nodes = idle;
  for (const Nodes n : sizes) setup.platform.nodes += n;
  Stage stage(setup);
  AdaptiveSpec spec;
  spec.constraint.kind = kind;
  for (const Nodes n : sizes) stage.submit(malleable({2, 8}, n), spec);
  stage.close([&](Pass& pass) {
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(pass.start(JobId{i}, exactly(sizes[i]), {}));
    }
  });
  stage.at(1);
  stage.tell(event::TimerFired{});
  return stage;
}

const std::vector<JobId> kAll{JobId{0}, JobId{1}, JobId{2}};

std::vector<Nodes> sizes_after_cuts(Stage& stage, Nodes nodes, Share share) {
  std::vector<Nodes> sizes;
  stage.submit(rigid(1, 10));
  stage.close([&](Pass& pass) {
    for (const JobId id : kAll) sizes.push_back(pass.job(id).size());
    for (const Cut& cut : cuts_for(pass, kAll, nodes, share)) sizes[index(cut.victim)] = cut.to;
  });
  return sizes;
}

TEST(CutsFor, InTurnLevelOrEven) {
  Stage stage = three({4, 6, 7}, 1);  // extras 2, 4, 5
  EXPECT_EQ(sizes_after_cuts(stage, 5, Share::in_turn), (Gets{2, 3, 7}));
  EXPECT_EQ(sizes_after_cuts(stage, 5, Share::level), (Gets{4, 4, 4}));
  EXPECT_EQ(sizes_after_cuts(stage, 2, Share::level), (Gets{4, 5, 6}));  // a tie: the first
  EXPECT_EQ(sizes_after_cuts(stage, 5, Share::even), (Gets{2, 4, 6}));
  EXPECT_EQ(sizes_after_cuts(stage, 11, Share::even), (Gets{2, 2, 2}));
}

// Chadha, John and Gerndt 2020: a job gives what its constraint allows, at least what is needed if
// it can.
TEST(CutsFor, GoToSizesThatAreAllowed) {
  Stage even = three({4, 6, 8}, 1, SizeConstraint::Kind::even);
  EXPECT_EQ(sizes_after_cuts(even, 3, Share::in_turn), (Gets{2, 4, 8}));
  EXPECT_EQ(sizes_after_cuts(even, 3, Share::level), (Gets{4, 4, 6}));  // 1 and 2 would do
  EXPECT_EQ(sizes_after_cuts(even, 4, Share::even), (Gets{2, 4, 8}));
}

std::vector<Nodes> sizes_after_handing_out(Stage& stage, Share share) {
  std::vector<Nodes> sizes;
  stage.submit(rigid(1, 10));
  stage.close([&](Pass& pass) {
    EXPECT_EQ(growable_jobs(pass).size(), 3u);
    hand_out_idle(pass, kAll, HandOut{.share = share});
    for (const JobId id : kAll) sizes.push_back(pass.job(id).size());
  });
  return sizes;
}

TEST(HandOutIdle, InTurnLevelOrEven) {
  const auto after = [](Share share) {
    Stage stage = three({2, 4, 5}, 7);
    return sizes_after_handing_out(stage, share);
  };
  EXPECT_EQ(after(Share::in_turn), (Gets{8, 5, 5}));
  EXPECT_EQ(after(Share::level), (Gets{6, 6, 6}));
  EXPECT_EQ(after(Share::even), (Gets{5, 6, 7}));
}

TEST(HandOutIdle, WhatConstraintsLeaveOverGoesRoundAgain) {
  const auto after = [](Nodes idle, Share share) {
    Stage stage = three({2, 4, 4}, idle, SizeConstraint::Kind::even);
    return sizes_after_handing_out(stage, share);
  };
  EXPECT_EQ(after(5, Share::even), (Gets{4, 6, 4}));   // 2, 2 and 1, which is not enough
  EXPECT_EQ(after(2, Share::even), (Gets{4, 4, 4}));   // one each, and then both to the first
  EXPECT_EQ(after(9, Share::level), (Gets{6, 6, 6}));  // 1 is left
}

TEST(HandOutIdle, WhatOneIsDeniedGoesToTheOthers) {
  const auto after = [](Share share, Benefit benefit) {
    Stage::Setup setup;
    setup.platform.nodes = 12;
    Stage stage(setup);
    AdaptiveSpec slower;
    slower.speedup = parse_speedup("table:2=100:3=90:4=110");
    stage.submit(malleable({2, 8}, 2), slower);
    stage.submit(malleable({2, 5}, 2), AdaptiveSpec{});
    stage.submit(malleable({2, 8}, 2), AdaptiveSpec{});
    stage.close([&](Pass& pass) {
      for (const JobId id : kAll) EXPECT_TRUE(pass.start(id, exactly(2), {}));
    });
    stage.at(1);
    stage.tell(event::TimerFired{});
    stage.submit(rigid(1, 10));
    std::vector<Nodes> sizes;
    stage.close([&](Pass& pass) {
      EXPECT_TRUE(may_expand(pass, JobId{0}, 3, Benefit::on));
      EXPECT_FALSE(may_expand(pass, JobId{0}, 4, Benefit::on));
      EXPECT_TRUE(may_expand(pass, JobId{0}, 4, Benefit::off));
      hand_out_idle(pass, kAll, HandOut{.share = share, .benefit = benefit});
      for (const JobId id : kAll) sizes.push_back(pass.job(id).size());
    });
    return sizes;
  };
  EXPECT_EQ(after(Share::in_turn, Benefit::on), (Gets{2, 5, 5}));
  EXPECT_EQ(after(Share::in_turn, Benefit::off), (Gets{8, 2, 2}));
  EXPECT_EQ(after(Share::level, Benefit::on), (Gets{2, 5, 5}));
  EXPECT_EQ(after(Share::even, Benefit::on), (Gets{2, 5, 5}));
  EXPECT_EQ(after(Share::even, Benefit::off), (Gets{4, 4, 4}));
}

// Moldable jobs that start in this pass; others wait, or nobody does.
TEST(HandOutIdle, MoldableJobsThatStart) {
  const auto sizes_of = [](bool others_wait, Share share) {
    Stage::Setup setup;
    setup.platform.nodes = 12;
    Stage stage(setup);
    stage.run(rigid(2, 100));
    stage.submit(malleable({2, 8}, 2));
    stage.submit(sized(JobType::moldable, {2, 8}, 2, 400));
    stage.submit(sized(JobType::moldable, {1, 1}, 1, 10));
    if (others_wait) stage.submit(rigid(8, 10));  // from 100 on, when two nodes more are there
    std::vector<Nodes> sizes;
    stage.close([&](Pass& pass) {
      for (std::uint32_t i = 1; i <= 3; ++i) pass.start(JobId{i}, exactly(i == 3 ? 1 : 2), {});
      EXPECT_EQ(pass.started(), (std::vector<JobId>{JobId{1}, JobId{2}, JobId{3}}));
      EXPECT_EQ(moldable_starts(pass),
                (std::vector<JobId>{JobId{2}}));  // the other has its largest
      hand_out_idle(pass, std::vector{JobId{2}, JobId{1}}, HandOut{.share = share});
      for (std::uint32_t i = 1; i <= 2; ++i) sizes.push_back(pass.job(JobId{i}).size());
    });
    return sizes;
  };
  EXPECT_EQ(sizes_of(false, Share::in_turn), (Gets{2, 7}));
  EXPECT_EQ(sizes_of(false, Share::level), (Gets{4, 5}));
  EXPECT_EQ(sizes_of(true, Share::in_turn), (Gets{7, 2}));
  EXPECT_EQ(sizes_of(true, Share::level), (Gets{7, 2}));
}

// As far as the power goes, also where one node needs more than another.
TEST(HandOutIdle, StopsAtThePowerBudget) {
  Stage stage({.platform = {.nodes = 12, .busy_w = 100}});
  const JobId small = stage.run(malleable({1, 8}, 1)), large = stage.run(malleable({1, 8}, 3));
  stage.tell(event::Believed{large, 150, -1, -1});
  stage.tell(event::CorridorChanged{0, 100 + 450 + 420});
  for (const Share share : {Share::in_turn, Share::level}) {
    State copy = stage.state();
    Pass pass(copy);
    hand_out_idle(pass, std::vector{large, small},
                  HandOut{.share = share, .benefit = Benefit::off});
    EXPECT_EQ(pass.job(large).size(), 5u);
    EXPECT_EQ(pass.job(small).size(), 2u);
  }
}

// A job that this pass started may be grown, one that it cut may be cut further, but not the
// other way round.
TEST(Pass, WhatItDidItMayDoFurther) {
  Stage stage = three({4, 6, 7}, 3);
  const JobId fresh = stage.submit(malleable({1, 4}, 1));
  stage.close([&](Pass& pass) {
    EXPECT_EQ(pass.extra(JobId{1}), 4u);
    EXPECT_TRUE(pass.start(fresh, exactly(1), {}));
    EXPECT_TRUE(pass.growable(fresh));
    EXPECT_FALSE(pass.cuttable(fresh));
    EXPECT_TRUE(pass.resize(JobId{1}, 5, {}));
    EXPECT_TRUE(pass.cuttable(JobId{1}));
    EXPECT_FALSE(pass.growable(JobId{1}));
    EXPECT_EQ(pass.extra(JobId{1}), 3u);
    EXPECT_TRUE(pass.resize(JobId{2}, 8, {}));
    EXPECT_TRUE(pass.growable(JobId{2}));
    EXPECT_FALSE(pass.cuttable(JobId{2}));
  });
}

// Nodes that are not up are given up first and are worth nothing to others.
TEST(Pass, ExtraNodesAreHealthy) {
  Stage stage = three({4, 6, 7}, 1);
  stage.tell(event::NodesChanged{{{{4, 5}}}, Health::draining});  // of the second job
  stage.submit(rigid(4, 10));
  stage.close([&](Pass& pass) {
    EXPECT_EQ(pass.extra(JobId{0}), 2u);
    EXPECT_EQ(pass.extra(JobId{1}), 2u);
    const std::vector<JobId> victims{JobId{1}};
    EXPECT_EQ(cuts_for(pass, victims, 1, Share::in_turn), (std::vector<Cut>{{JobId{1}, 3}}));
  });
}

TEST(VictimsFor, AreAskedOnlyIfTheySuffice) {
  Stage stage = three({4, 6, 7}, 3);
  stage.submit(rigid(14, 10));
  stage.close([&](Pass& pass) {
    EXPECT_TRUE(victims_for(pass, 3).enough);
    EXPECT_TRUE(victims_for(pass, 3).jobs.empty());
    EXPECT_TRUE(victims_for(pass, 14).enough);
    EXPECT_EQ(victims_for(pass, 14).missing, 11u);
    EXPECT_FALSE(victims_for(pass, 15).enough);
    EXPECT_FALSE(victims_for(pass, 14, JobId{0}).enough);
  });
}

// Who has refused is asked only where it cannot be done without him, and then last.
TEST(VictimsFor, HaveNotRefusedIfTheOthersSuffice) {
  Stage::Setup setup;
  setup.rules.counted_refusals = 4;
  Stage stage(setup);
  const JobId unwilling = stage.run(malleable({1, 4}, 4));
  const JobId willing = stage.run(malleable({1, 4}, 4));
  const Reason why{Why::in_order};
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.resize(unwilling, 3, why)); });
  ASSERT_TRUE(stage.refused(unwilling, stage.now + whole_seconds(10)));
  stage.now += whole_seconds(20);
  stage.pass([&](Pass& p) {
    ASSERT_TRUE(p.resizable(unwilling));
    const Nodes idle = p.idle();
    EXPECT_EQ(victims_for(p, idle + 3, JobId::none).jobs, (std::vector{willing}));
    EXPECT_EQ(victims_for(p, idle + 4, JobId::none).jobs, (std::vector{willing, unwilling}));
    EXPECT_TRUE(victims_for(p, idle + 6, JobId::none).enough);
    EXPECT_FALSE(victims_for(p, idle + 7, JobId::none).enough);
  });
}

}  // namespace
}  // namespace ductile
