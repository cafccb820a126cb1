#include "scheduling/by_value.hpp"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/speedup.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using testing::malleable;
using testing::rigid;
using testing::sized;
using testing::Stage;

Stage::Setup of_nodes(Nodes nodes) {
  Stage::Setup setup;
  setup.platform.nodes = nodes;
  return setup;
}

/// Small steps, and resizes that cost what they are said to, if a test does not say otherwise.
struct Small {
  double exponent = 0.7;
  Decimal step = Decimal(0.34);
  double gain = 0.02;
  double pays = 10;
  double least_cost_s = 0;
  operator NodeValue() const { return {exponent, step, gain, pays, least_cost_s}; }
};

AdaptiveSpec model(const char* text) { return {.speedup = parse_speedup(text)}; }
AdaptiveSpec cost(double seconds) { return {.cost = {.fixed_s = seconds}}; }

/// Runs at its preferred size from now on.
JobId run(Stage& stage, const JobSpec& spec, const std::optional<AdaptiveSpec>& adaptive = {}) {
  const Time now = stage.now;
  const JobId id = stage.run(spec, spec.preferred, adaptive);
  stage.now = now;
  return id;
}

/// The same a moment ago, so that a pass can resize it; so much of it is left then.
JobId begun(Stage& stage, const JobSpec& spec, const std::optional<AdaptiveSpec>& adaptive = {}) {
  JobSpec its = spec;
  its.walltime += kTick;
  return run(stage, its, adaptive);
}

// ---- What a node is worth
// --------------------------------------------------------------------------------------

TEST(Worth, IsTheSpeedThatANodeBringsByWhatIsLeft) {
  Stage stage(of_nodes(32));
  const JobId linear = run(stage, malleable({1, 16}, 4, 100));
  const JobId amdahl = run(stage, malleable({1, 16}, 4, 200), model("amdahl:0.5"));
  stage.at(20);
  stage.pass([&](Pass& p) {
    const Worth its(p, linear, {});
    EXPECT_EQ(its.job(), linear);
    EXPECT_DOUBLE_EQ(its.speed(4), 1);
    EXPECT_DOUBLE_EQ(its.speed(2), 0.5);
    EXPECT_DOUBLE_EQ(its.speed(16), 4);
    EXPECT_DOUBLE_EQ(its.left_s(4), 80);
    EXPECT_DOUBLE_EQ(its.left_s(8), 40);
    EXPECT_DOUBLE_EQ(its.of_node(4, 8), std::pow(80, -0.7) / 4);
    EXPECT_DOUBLE_EQ(its.of_node(8, 4), std::pow(80, -0.7) / 4);  // of a cut the same
    EXPECT_DOUBLE_EQ(Worth(p, linear, {.exponent = 0}).of_node(1, 3), 0.25);
    EXPECT_DOUBLE_EQ(Worth(p, linear, {.exponent = 1}).of_node(1, 3), 0.25 / 80);
    const Worth other(p, amdahl, {});
    EXPECT_DOUBLE_EQ(other.left_s(4), 180);
    const double twice = (0.5 + 0.5 / 4) / (0.5 + 0.5 / 8);
    EXPECT_DOUBLE_EQ(other.speed(8), twice);
    EXPECT_DOUBLE_EQ(other.of_node(4, 8), std::pow(180, -0.7) * (twice - 1) / 4);
  });
}

// What is left is that of the work, at the preferred size, whatever the size is now.
TEST(Worth, CountsTheWorkThatIsLeft) {
  Stage stage;
  const JobId id = stage.run(malleable({1, 8}, 4, 100), 2, {});
  stage.at(40);  // 80 of 400 node-seconds are done
  stage.pass([&](Pass& p) {
    EXPECT_DOUBLE_EQ(Worth(p, id, {}).left_s(4), 80);
    EXPECT_DOUBLE_EQ(Worth(p, id, {}).left_s(2), 160);
  });
}

TEST(Worth, BelievesATenthOfWhatHasRunAndASecondAtLeast) {
  Stage stage;
  const JobId slow = run(stage, malleable({1, 8}, 4, 100));
  stage.at(95);
  stage.pass([&](Pass& p) { EXPECT_DOUBLE_EQ(Worth(p, slow, {}).left_s(4), 9.5); });
  stage.at(300);  // it should have ended
  stage.pass([&](Pass& p) { EXPECT_DOUBLE_EQ(Worth(p, slow, {}).left_s(4), 30); });
  const JobId quick = run(stage, malleable({1, 8}, 4, 5));
  stage.now = at_s(304) + Duration{500'000};
  stage.pass([&](Pass& p) { EXPECT_DOUBLE_EQ(Worth(p, quick, {}).left_s(4), 1); });
}

// Looked at once, and also of jobs that start since.
TEST(Worths, KnowsThemAll) {
  Stage stage(of_nodes(32));
  const JobId a = run(stage, malleable({1, 16}, 4, 100));
  const JobId b = run(stage, malleable({1, 16}, 4, 200));
  run(stage, rigid(1, 10));
  const JobId waits = stage.submit(malleable({1, 16}, 4, 300));
  stage.pass([&](Pass& p) {
    Worths worths(p, {.exponent = 0.5, .pays = 3});
    EXPECT_EQ(worths.rules().pays, 3);
    EXPECT_DOUBLE_EQ(worths.of(b).left_s(4), 200);
    EXPECT_DOUBLE_EQ(worths.of(a).left_s(4), 100);
    ASSERT_TRUE(p.start(waits, exactly(2), {Why::in_order}));  // others change their places
    EXPECT_DOUBLE_EQ(worths.of(waits).left_s(4), 300);
    for (const JobId id : {a, b, waits, b, a}) {
      EXPECT_EQ(worths.of(id).job(), id);
      EXPECT_EQ(worths.of(id).of_node(2, 4), Worth(p, id, worths.rules()).of_node(2, 4));
    }
  });
}

// ---- Cuts
// --------------------------------------------------------------------------------------

std::vector<JobId> ranked(Pass& p, Nodes missing, const Small& rules = {}) {
  std::vector<JobId> jobs(p.running_malleable().begin(), p.running_malleable().end());
  Worths worths(p, rules);
  rank_by_loss(p, jobs, missing, worths);
  return jobs;
}

TEST(RankByLoss, WhoHasLongestToRunLosesLeast) {
  Stage stage(of_nodes(32));
  const JobId a = run(stage, malleable({1, 4}, 4, 100));
  const JobId b = run(stage, malleable({1, 4}, 4, 1000));
  const JobId c = run(stage, malleable({1, 4}, 4, 100));  // a tie: the smaller number
  const JobId d = run(stage, malleable({1, 8}, 8, 100));  // a node is half as much of it
  stage.pass([&](Pass& p) {
    EXPECT_EQ(ranked(p, 1), (std::vector{b, d, a, c}));
    EXPECT_EQ(ranked(p, 1, {.exponent = 0}), (std::vector{d, a, b, c}));
  });
}

// By the first node the one loses less, by all that is missing the other.
TEST(RankByLoss, CountsAllThatIsMissingOrAllThatItCanGive) {
  Stage stage(of_nodes(32));
  const JobId flat = run(stage, malleable({1, 8}, 8, 100), model("table:1=400:4=200:6=101:8=100"));
  const JobId steady = run(stage, malleable({1, 8}, 8, 100), model("powerlaw:0.5"));
  stage.pass([&](Pass& p) {
    EXPECT_EQ(ranked(p, 1), (std::vector{flat, steady}));
    EXPECT_EQ(ranked(p, 2), (std::vector{flat, steady}));
    EXPECT_EQ(ranked(p, 4), (std::vector{steady, flat}));
  });
  // It could not give four: of two it loses little.
  Stage other(of_nodes(32));
  const JobId two = run(other, malleable({6, 8}, 8, 100), model("table:1=400:4=200:6=101:8=100"));
  const JobId four = run(other, malleable({1, 8}, 8, 100), model("powerlaw:0.5"));
  other.pass([&](Pass& p) { EXPECT_EQ(ranked(p, 4), (std::vector{two, four})); });
}

TEST(CostOfCuts, IsTheSum) {
  Stage stage(of_nodes(32));
  const JobId a = run(stage, malleable({1, 4}, 4, 100), cost(3));
  const JobId b = run(stage, malleable({1, 4}, 4, 100), AdaptiveSpec{.cost = {.alpha_s = 2}});
  const JobId c = run(stage, malleable({1, 4}, 4, 100));
  stage.pass([&](Pass& p) {
    const Cut cuts[] = {{a, 2}, {b, 1}, {c, 3}};
    EXPECT_EQ(cost_of_cuts(p, cuts), whole_seconds(3 + 6));
    EXPECT_EQ(cost_of_cuts(p, {}), Duration{});
  });
}

TEST(StartsSoonAnyway, WithinATimeIfNobodyIsCut) {
  Stage stage;
  run(stage, rigid(4, 10));
  run(stage, malleable({1, 4}, 4, 100));  // its extra nodes do not count
  const JobId half = stage.submit(rigid(4, 50));
  const JobId all = stage.submit(rigid(8, 50));
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(starts_soon_anyway(p, half, 4, whole_seconds(10)));
    EXPECT_FALSE(starts_soon_anyway(p, half, 4, whole_seconds(10) - kTick));
    EXPECT_FALSE(starts_soon_anyway(p, half, 5, whole_seconds(10)));
    EXPECT_TRUE(starts_soon_anyway(p, all, 8, whole_seconds(100)));
    EXPECT_FALSE(starts_soon_anyway(p, all, 8, whole_seconds(99)));
  });
  stage.at(5);
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(starts_soon_anyway(p, half, 4, whole_seconds(5)));
    EXPECT_FALSE(starts_soon_anyway(p, half, 4, Duration{}));
  });
}

// ---- Hand-out
// --------------------------------------------------------------------------------------

void hand_out(Pass& pass, const HandOutByValue& how, const Small& rules = {}) {
  Worths worths(pass, rules);
  hand_out_by_value(pass, worths, how);
}

/// Sizes after a hand-out.
std::vector<Nodes> sizes_after(Stage& stage, const Small& rules = {},
                               const HandOutByValue& how = {}) {
  stage.now += kTick;
  stage.pass([&](Pass& p) { hand_out(p, how, rules); });
  std::vector<Nodes> sizes;
  for (std::uint32_t i = 0; i < stage.state().jobs.size(); ++i) {
    sizes.push_back(stage.job(JobId{i}).size());
  }
  return sizes;
}
using Sizes = std::vector<Nodes>;

TEST(HandOutByValue, WhoHasLeastLeftGetsTheMost) {
  const auto after = [](const Small& value) {
    Stage stage(of_nodes(16));
    begun(stage, malleable({1, 16}, 4, 1000));
    begun(stage, malleable({1, 9}, 4, 100));
    return sizes_after(stage, value);
  };
  EXPECT_EQ(after({}), (Sizes{7, 9}));                // up to its largest size; the others go on
  EXPECT_EQ(after({.exponent = 0}), (Sizes{12, 4}));  // the same for both: the smaller number
}

// Speeds at 4, 5, 6, ...: of the one 1, 1.25, 1.3, ...; of the other 1, 1.1, 1.2, ...
TEST(HandOutByValue, AfterEachStepTheNextOneIsOffered) {
  const auto after = [](Nodes nodes) {
    Stage stage(of_nodes(nodes));
    begun(stage, malleable({4, 6}, 4, 1000), model("table:4=130:5=104:6=100"));
    begun(stage, malleable({4, 6}, 4, 1000), model("table:4=132:5=120:6=110"));
    return sizes_after(stage);
  };
  EXPECT_EQ(after(9), (Sizes{5, 4}));
  EXPECT_EQ(after(10), (Sizes{5, 5}));
  EXPECT_EQ(after(11), (Sizes{5, 6}));
  EXPECT_EQ(after(12), (Sizes{6, 6}));
}

// A third of nine are three; where there are two idle ones, or where it may have two more, two.
TEST(HandOutByValue, StepsAreAThird) {
  const auto after = [](Nodes idle, Nodes most, const Small& value = {}) {
    Stage stage(of_nodes(9 + idle));
    // Faster by 30 % at 12, by 1 % before.
    begun(stage, malleable({1, most}, 9, 1000),
          model("table:9=130:10=129.5:11=129:12=100:13=99.5"));
    return sizes_after(stage, value)[0];
  };
  EXPECT_EQ(after(3, 20), 12u);
  EXPECT_EQ(after(2, 20), 9u);  // to 11: too little
  EXPECT_EQ(after(9, 11), 9u);
  EXPECT_EQ(after(9, 12), 12u);
  EXPECT_EQ(after(9, 20), 12u);                         // to 16 there is no 2 % more
  EXPECT_EQ(after(3, 20, {.step = Decimal(0.1)}), 9u);  // to 10 there is not
  EXPECT_EQ(after(3, 20, {.step = Decimal(0.1), .gain = 0.003}), 12u);
  EXPECT_EQ(after(2, 20, {.gain = 0.007}), 11u);
}

// Exactly that much is enough.
TEST(HandOutByValue, EachStepBringsAsMuchAsItShall) {
  for (const auto& [gain, size] : {std::pair(0.25, 5u), std::pair(0.2500001, 4u)}) {
    Stage stage(of_nodes(5));
    begun(stage, malleable({1, 8}, 4, 1000));
    EXPECT_EQ(sizes_after(stage, {.gain = gain})[0], size);
  }
}

TEST(HandOutByValue, StepsGoToAllowedSizes) {
  AdaptiveSpec powers;
  powers.constraint = parse_constraint("pof2");
  const auto after = [&](Nodes idle) {
    Stage stage(of_nodes(4 + idle));
    begun(stage, malleable({1, 64}, 4, 1000), powers);
    return sizes_after(stage)[0];
  };
  EXPECT_EQ(after(3), 4u);
  EXPECT_EQ(after(4), 8u);
  EXPECT_EQ(after(11), 8u);
  EXPECT_EQ(after(12), 16u);
}

TEST(HandOutByValue, NobodyGrowsPastItsUsefulSize) {
  Stage stage(of_nodes(64));
  begun(stage, malleable({1, 64}, 8, 1000), model("overhead:0.1"));
  // T(n) = 0.9 8/n + 0.1 n/8 is least at 24: 8, 10, 13, 17, 22; at 29 it would be slower.
  EXPECT_EQ(sizes_after(stage)[0], 22u);
  Stage wide(of_nodes(64));
  begun(wide, malleable({1, 64}, 4, 1000), model("downey:8:0"));
  EXPECT_EQ(sizes_after(wide)[0], 8u);
}

// From 4 to 5 nodes it wins a fifth of what is left.
TEST(HandOutByValue, AResizeOfARunningJobHasToPay) {
  const auto after = [](std::int64_t left_s, Nodes idle, const Small& value = {}) {
    Stage stage(of_nodes(4 + idle));
    begun(stage, malleable({1, 8}, 4, left_s), cost(1));
    return sizes_after(stage, value, {.benefit = Benefit::off})[0];
  };
  EXPECT_EQ(after(51, 1), 5u);
  EXPECT_EQ(after(50, 1), 4u);  // just as much
  EXPECT_EQ(after(50, 1, {.pays = 9.9}), 5u);
  EXPECT_EQ(after(3, 1, {.pays = 0}), 5u);
  // It costs no less than it is taken to.
  EXPECT_EQ(after(51, 1, {.least_cost_s = 1}), 5u);
  EXPECT_EQ(after(51, 1, {.least_cost_s = 1.1}), 4u);
  EXPECT_EQ(after(56, 1, {.least_cost_s = 1.1}), 5u);
  // All its steps together: 4 more win a half, by one resize.
  EXPECT_EQ(after(21, 4), 8u);
  EXPECT_EQ(after(20, 4), 4u);
}

TEST(HandOutByValue, WhatDoesNotPayGoesToOthers) {
  Stage stage(of_nodes(9));
  begun(stage, malleable({1, 8}, 4, 50), cost(1));  // a node is worth more to it
  begun(stage, malleable({1, 8}, 4, 1000), cost(1));
  EXPECT_EQ(sizes_after(stage), (Sizes{4, 5}));
}

// As far as idle nodes let it a step is shorter, and its nodes are worth more or less.
TEST(HandOutByValue, StepsAreThoseOfTheNodesThatAreLeft) {
  Stage stage(of_nodes(9));
  // To 3 it brings most of each node; the others by 2 nodes less than by one.
  begun(stage, malleable({1, 3}, 1, 10), model("table:1=100:3=20"));
  begun(stage, malleable({1, 3}, 1, 1000), model("table:1=100:2=99:3=34"));
  begun(stage, malleable({1, 3}, 1, 1000), model("table:1=100:2=60:3=45"));
  begun(stage, rigid(3, 1000));
  const NodeValue thrice = Small{.step = Decimal(2)};
  // 3 are idle. The first gets two; with the last one the third, not the second.
  stage.now += kTick;
  stage.pass([&](Pass& p) {
    Worths worths(p, thrice);
    EXPECT_GT(worths.of(JobId{1}).of_node(1, 3), worths.of(JobId{2}).of_node(1, 3));
    EXPECT_LT(worths.of(JobId{1}).of_node(1, 2), worths.of(JobId{2}).of_node(1, 2));
    hand_out_by_value(p, worths, {});
  });
  EXPECT_EQ(stage.job(JobId{0}).size(), 3u);
  EXPECT_EQ(stage.job(JobId{1}).size(), 1u);
  EXPECT_EQ(stage.job(JobId{2}).size(), 2u);
}

// Of the job that has run for 200 s instead of 100 nothing is believed to be left.
TEST(HandOutByValue, WhatOneMayNotHaveGoesToOthers) {
  for (const Benefit benefit : {Benefit::on, Benefit::off}) {
    Stage stage(of_nodes(9));
    begun(stage, malleable({1, 8}, 4, 100));
    begun(stage, malleable({1, 8}, 4, 10'000));
    stage.at(200);
    EXPECT_EQ(sizes_after(stage, Small{}, {.benefit = benefit}),
              benefit == Benefit::on ? (Sizes{4, 5}) : (Sizes{5, 4}));
  }
}

TEST(HandOutByValue, AStartCostsNothing) {
  for (const bool to_starts : {true, false}) {
    Stage stage;
    const JobId id = stage.submit(malleable({1, 8}, 4, 10), cost(5));
    stage.pass([&](Pass& p) {
      p.start(id, exactly(4), {Why::in_order});
      hand_out(p, {.to_starts = to_starts});
      EXPECT_EQ(p.job(id).size(), to_starts ? 8u : 4u);
    });
  }
}

// Its growth brings its end forward by a tenth of a second less than the resize costs.
TEST(HandOutByValue, NobodyIsExpandedWhoseEndThatDoesNotBringForward) {
  for (const auto& [benefit, size] : {std::pair(Benefit::on, 4u), std::pair(Benefit::off, 5u)}) {
    Stage stage(of_nodes(5));
    begun(stage, malleable({1, 8}, 4, 10), cost(2.1));
    EXPECT_EQ(sizes_after(stage, {.pays = 0}, {.benefit = benefit})[0], size);
  }
}

TEST(HandOutByValue, MoldableJobsGrowOnlyAsTheyStart) {
  const auto after = [](const HandOutByValue& how) {
    Stage stage(of_nodes(64));
    const JobId id = stage.submit(sized(JobType::moldable, {1, 60}, 5, 100));
    stage.pass([&](Pass& p) {
      p.start(id, exactly(2), {Why::in_order});
      hand_out(p, how);
    });
    const Nodes size = stage.job(id).size();
    stage.at(1);
    stage.pass([&](Pass& p) { hand_out(p, how); });
    EXPECT_EQ(stage.job(id).size(), size);
    return size;
  };
  EXPECT_EQ(after({}), 10u);
  EXPECT_EQ(after({.to_starts = false}), 2u);
  EXPECT_EQ(after({.moldable = 3.5}), 17u);
  EXPECT_EQ(after({.moldable = 0}), 2u);
  EXPECT_EQ(after({.moldable = 100}), 60u);
}

// On 16 nodes 8 are busy until 100 s; then a job takes 12. So four are left for longer.
TEST(HandOutByValue, WhatMoldableJobsGetDisturbsNoReservation) {
  const auto after = [](JobType type, std::int64_t walltime_s, bool reserved = false) {
    Stage stage(of_nodes(16));
    run(stage, rigid(8, 100));
    const JobId id = stage.submit(sized(type, {2, 16}, 8, walltime_s));
    const JobId head = stage.submit(rigid(12, 10));
    stage.pass([&](Pass& p) {
      p.start(id, exactly(2), {Why::backfilled});
      Timeline plan = timeline_for(p, {.extra_is_free = true});
      EXPECT_EQ(reserve_earliest(p, plan, head), at_s(100));
      Left left(plan);
      hand_out(p, {.left = &left, .reserved = reserved});
    });
    return stage.job(id).size();
  };
  EXPECT_EQ(after(JobType::moldable, 25), 8u);   // at two nodes it ends at 100 s
  EXPECT_EQ(after(JobType::moldable, 26), 8u);   // at three it ends before
  EXPECT_EQ(after(JobType::moldable, 250), 4u);  // nobody can take that back
  EXPECT_EQ(after(JobType::malleable, 250), 8u);
  EXPECT_EQ(after(JobType::malleable, 250, true), 4u);
}

TEST(HandOutByValue, WhoShrankBelowItsSmallestSizeKeepsThat) {
  Stage stage;
  const JobId id = begun(stage, sized(JobType::adaptive, {3, 8}, 4, 100));
  stage.at(1);
  stage.tell(event::EvolvingRequested{RequestId{0}, id, -2, 0});
  stage.pass([&](Pass& p) { EXPECT_TRUE(p.grant(RequestId{0}, {Why::evolving})); });
  stage.resized(id);
  EXPECT_EQ(sizes_after(stage)[0], 2u);
}

// ---- Rebalancing
// --------------------------------------------------------------------------------------

/// Sizes after moves on a machine without idle nodes; jobs at their preferred sizes.
struct Running {
  JobSpec spec;
  std::optional<AdaptiveSpec> adaptive{};
};
Sizes sizes_after(const std::vector<Running>& jobs, std::uint32_t moves = 4,
                  const Small& rules = {}, Benefit benefit = Benefit::on) {
  Nodes all = 0;
  for (const Running& each : jobs) all += each.spec.preferred;
  Stage stage(of_nodes(all));
  for (const Running& each : jobs) begun(stage, each.spec, each.adaptive);
  stage.now += kTick;
  stage.pass([&](Pass& p) {
    Worths worths(p, rules);
    rebalance(p, worths, moves, benefit);
  });
  while (!stage.core.unanswered().empty()) {
    stage.resized(stage.core.unanswered()[0].job);
    stage.close();
  }
  Sizes sizes;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) sizes.push_back(stage.job(JobId{i}).size());
  return sizes;
}

// Job 1 has 100 s left at 6 nodes; at 8 it wins 25 s. Job 0 has longest to run: by two nodes of 12
// it is slower by a sixth, for the 75 s until it could have them back, 12.5 s. Then 15 s are won
// for 12, and then 13.8 for 17.3.
const Running kLong{malleable({1, 12}, 12, 10'000)}, kShort{malleable({1, 20}, 6, 100)};

TEST(Rebalance, ThoseGetNodesWhoWinMoreThanOthersLose) {
  EXPECT_EQ(sizes_after({kLong, kShort}), (Sizes{10, 8}));
  EXPECT_EQ(sizes_after({kShort, kLong}), (Sizes{8, 10}));
  EXPECT_EQ(sizes_after({kLong, kShort}, 1), (Sizes{10, 8}));
  EXPECT_EQ(sizes_after({kLong, kShort}, 0), (Sizes{12, 6}));
  EXPECT_EQ(sizes_after({kLong}), (Sizes{12}));
}

// Of jobs of the same size neither wins.
TEST(Rebalance, MovesNothingBetweenEquals) {
  EXPECT_EQ(sizes_after({{malleable({1, 6}, 6, 10'000)}, kShort}), (Sizes{6, 6}));
}

// 10 (1 + 0.2) s are less than 12.5 s, 10 (1 + 0.3) s are not.
TEST(Rebalance, ThatPaysForBothResizes) {
  const auto after = [](double its, double of_the_other, const Small& rules = {}) {
    return sizes_after({{kLong.spec, cost(of_the_other)}, {kShort.spec, cost(its)}}, 4, rules);
  };
  EXPECT_EQ(after(1, 0.2), (Sizes{10, 8}));
  EXPECT_EQ(after(1, 0.3), (Sizes{12, 6}));
  EXPECT_EQ(after(0.3, 1), (Sizes{12, 6}));
  EXPECT_EQ(after(0.3, 1, {.pays = 5}), (Sizes{10, 8}));
  // Each of them costs no less than this.
  EXPECT_EQ(after(0, 0), (Sizes{10, 8}));
  EXPECT_EQ(after(0, 0, {.least_cost_s = 0.62}), (Sizes{10, 8}));
  EXPECT_EQ(after(0, 0, {.least_cost_s = 0.63}), (Sizes{12, 6}));
  EXPECT_EQ(after(0, 0.65, {.least_cost_s = 0.59}), (Sizes{10, 8}));
  EXPECT_EQ(after(0, 0.65, {.least_cost_s = 0.61}), (Sizes{12, 6}));
}

// A job that ends soon loses no more than how much later it ends: 50 s / 5 = 10 s, and 15 are won.
TEST(Rebalance, NobodyLosesMoreThanItsOwnDelay) {
  const auto after = [](std::int64_t left_s) {
    return sizes_after({{malleable({1, 12}, 12, left_s), cost(0.7)}, {kShort.spec, cost(0.7)}}, 1);
  };
  EXPECT_EQ(after(50), (Sizes{10, 8}));
  EXPECT_EQ(after(10'000), (Sizes{12, 6}));
}

// By a little less than a third, and by 29 %, of 75 s; 25 are won.
TEST(Rebalance, WinsATenthMoreThanIsLost) {
  const auto giver = [](const char* text) {
    return Running{malleable({1, 6}, 6, 10'000), model(text)};
  };
  EXPECT_EQ(sizes_after({giver("powerlaw:0.05"), kShort}, 1), (Sizes{6, 6}));
  EXPECT_EQ(sizes_after({giver("powerlaw:0.15"), kShort}, 1), (Sizes{4, 8}));
}

// The one has 12 nodes, so that each is worth half as much to it, if it had as much left. With 30 s
// it is worth more, though little would be lost.
TEST(Rebalance, TakesFromThoseToWhomNodesAreWorthLess) {
  const auto after = [](std::int64_t left_s) {
    return sizes_after({{malleable({1, 12}, 12, left_s)}, {malleable({1, 9}, 6, 100)}}, 1);
  };
  EXPECT_EQ(after(40), (Sizes{10, 8}));
  EXPECT_EQ(after(30), (Sizes{12, 6}));
}

TEST(Rebalance, TakesFromTheOneThatLosesLeast) {
  const Running longer{malleable({1, 12}, 12, 20'000)};
  EXPECT_EQ(sizes_after({kLong, longer, kShort}, 1), (Sizes{12, 10, 8}));
  EXPECT_EQ(sizes_after({longer, kLong, kShort}, 1), (Sizes{10, 12, 8}));
  EXPECT_EQ(sizes_after({longer, longer, kShort}, 1), (Sizes{10, 12, 8}));  // the smaller number
}

// All of the step comes from one job that stays allowed: not one from each of two.
TEST(Rebalance, OneJobGivesTheStep) {
  const Running one{malleable({11, 12}, 12, 10'000)};
  EXPECT_EQ(sizes_after({one, one, kShort}), (Sizes{12, 12, 6}));
  AdaptiveSpec thirds;
  thirds.constraint = parse_constraint("multiple:3");
  EXPECT_EQ(sizes_after({{kLong.spec, thirds}, kShort}), (Sizes{12, 6}));
}

// The next step of the first is worth the most, and there is nobody to take it from: that is all.
TEST(Rebalance, OnlyTheStepOfTheHighestValueIsTried) {
  AdaptiveSpec dear = cost(2);
  EXPECT_EQ(sizes_after({kLong, {malleable({1, 20}, 6, 90), dear}, kShort}), (Sizes{12, 6, 6}));
  EXPECT_EQ(sizes_after({kLong, {malleable({1, 20}, 6, 110), dear}, kShort}, 1), (Sizes{10, 6, 8}));
}

TEST(Rebalance, StepsAreThoseOfTheHandOut) {
  // To 8 it would be faster by 1 %.
  const Running flat{malleable({1, 20}, 6, 100), model("table:6=100:8=99:9=50")};
  EXPECT_EQ(sizes_after({kLong, flat}), (Sizes{12, 6}));
  EXPECT_EQ(sizes_after({kLong, flat}, 1, {.step = Decimal(0.5)}), (Sizes{9, 9}));
  // At its largest size.
  EXPECT_EQ(sizes_after({kLong, {malleable({1, 6}, 6, 100)}}), (Sizes{12, 6}));
  EXPECT_EQ(sizes_after({kLong, {malleable({1, 7}, 6, 100)}}), (Sizes{11, 7}));
}

// Moldable jobs keep what they have, and rigid ones.
TEST(Rebalance, OnlyMalleableJobsTakePart) {
  EXPECT_EQ(sizes_after({{sized(JobType::moldable, {1, 12}, 12, 10'000)}, kShort}), (Sizes{12, 6}));
  EXPECT_EQ(sizes_after({kLong, {sized(JobType::moldable, {1, 12}, 6, 100)}}), (Sizes{12, 6}));
}

}  // namespace
}  // namespace ductile
