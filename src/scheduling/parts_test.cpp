#include "scheduling/parts.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "support/scripted.hpp"

namespace ductile::testing {
namespace {

Slice cores(std::uint16_t count) { return {.cores = count}; }

/// Without what is believed of ends, which move with the cores.
std::vector<Decision> but_limits(std::vector<Decision> decisions) {
  std::erase_if(decisions,
                [](const Decision& its) { return its.kind == Decision::Kind::set_limit; });
  return decisions;
}

TEST(Parts, AreWrittenInOneWay) {
  std::vector<Part> parts;
  put(parts, nodes({{4, 6}}), cores(2));
  put(parts, nodes({{0, 1}}), cores(3));
  put(parts, nodes({{2, 2}}), cores(2));
  EXPECT_EQ(parts,
            (std::vector<Part>{{nodes({{0, 1}}), cores(3)}, {nodes({{2, 2}, {4, 6}}), cores(2)}}));
  EXPECT_TRUE(is_sound(parts));
  EXPECT_EQ(nodes_in(parts), nodes({{0, 2}, {4, 6}}));
  EXPECT_EQ(find(parts, 5)->cores, 2);
  EXPECT_EQ(find(parts, 3), nullptr);
  put(parts, nodes({{0, 4}}), cores(2));
  EXPECT_EQ(parts, (std::vector<Part>{{nodes({{0, 6}}), cores(2)}}));
  erase(parts, nodes({{0, 6}}));
  EXPECT_TRUE(parts.empty());
}

TEST(Parts, OtherWaysOfWritingThemAreUnsound) {
  const auto sound = [](std::vector<Part> parts) { return is_sound(parts); };
  EXPECT_FALSE(sound({{nodes({{0, 1}}), cores(0)}}));
  EXPECT_FALSE(sound({{{}, cores(1)}}));
  EXPECT_FALSE(sound({{nodes({{0, 1}}), cores(2)}, {nodes({{1, 2}}), cores(1)}}));
  EXPECT_FALSE(sound({{nodes({{0, 0}}), cores(2)}, {nodes({{1, 2}}), cores(2)}}));
  EXPECT_FALSE(sound({{nodes({{3, 3}}), cores(2)}, {nodes({{1, 2}}), cores(1)}}));
}

/// Two malleable jobs of two nodes each, with 8 cores, and one that waits for four.
class Shared : public ::testing::Test {
 protected:
  Shared() : Shared(Stage::Setup{}) {}
  explicit Shared(Stage::Setup setup)
      : stage([&] {
          setup.platform.nodes = 4;
          setup.platform.cores_per_node = 8;
          setup.can.parts = true;
          return setup;
        }()) {
    a = stage.run(malleable({1, 4}, 2));
    b = stage.run(malleable({1, 4}, 2));
    guest = stage.submit(malleable({1, 4}, 4));
    stage.at(10);
  }

  Gain inside(JobId id, const NodeSet& on) {
    Gain gain{.job = id, .size = exactly(on.count())};
    gain.on = on;
    return gain;
  }
  bool share(Pass& pass, const std::vector<Cut>& cuts, const Gain& gain) {
    return pass.carry_out(cuts, {&gain, 1}, {Why::guest});
  }
  /// A and B keep five cores of each node.
  void share() {
    stage.pass([&](Pass& p) {
      EXPECT_TRUE(share(p, {{a, 2, cores(5)}, {b, 2, cores(5)}}, inside(guest, all)));
    });
  }
  std::vector<Part> part(const NodeSet& nodes, std::uint16_t count) {
    return {{nodes, cores(count)}};
  }

  const NodeSet all = nodes({{0, 3}}), of_a = nodes({{0, 1}}), of_b = nodes({{2, 3}});
  Stage stage;
  JobId a{}, b{}, guest{};
};

TEST_F(Shared, AGuestStartsWhenBothHaveYielded) {
  share();
  EXPECT_EQ(stage.job(guest).status, Status::pending);
  EXPECT_EQ(stage.job(guest).target, 4u);
  EXPECT_TRUE(stage.resized(a));
  EXPECT_TRUE(stage.close().empty());
  EXPECT_TRUE(stage.resized(b));
  const auto decisions = but_limits(stage.close());
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].after, (Holding{4, all, part(all, 3)}));
  EXPECT_EQ(stage.state().held, 4u);  // nodes, each once
  EXPECT_EQ(stage.job(a).holding.parts, part(of_a, 5));
}

TEST_F(Shared, GuestsAreThoseOfWhoWasThereFirst) {
  using Jobs = std::vector<JobId>;
  EXPECT_EQ(stage.state().guests_of(a), Jobs{});
  share();
  EXPECT_EQ(stage.state().guests_of(a), std::nullopt);  // one is to come
  EXPECT_TRUE(stage.resized(a) && stage.resized(b));
  stage.close();
  EXPECT_EQ(stage.state().guests_of(a), Jobs{guest});
  EXPECT_EQ(stage.state().guests_of(b), Jobs{guest});
  EXPECT_EQ(stage.state().guests_of(guest), std::nullopt);
}

TEST_F(Shared, TheViewHasThemThereFromTheCutOn) {
  stage.pass([&](Pass& p) {
    const Time before = p.expected_end(a);
    EXPECT_TRUE(p.is_alone(a) && p.can_share(a));
    EXPECT_TRUE(share(p, {{a, 2, cores(4)}, {b, 2, cores(4)}}, inside(guest, all)));
    EXPECT_FALSE(p.is_alone(a) || p.can_share(a) || p.resizable(a));
    // 90 s were left, at half the speed.
    EXPECT_EQ(p.expected_end(a), later(before, whole_seconds(90)));
    // The guest needs 100 s at full speed.
    EXPECT_EQ(p.expected_end(guest), at_s(210));
    EXPECT_EQ(p.timeline().earliest({.nodes = 1}, whole_seconds(1), p.now()), at_s(210));
  });
}

TEST_F(Shared, IfOneKeepsItsCoresTheOtherHasThemBack) {
  share();
  EXPECT_TRUE(stage.resized(a));
  EXPECT_TRUE(stage.refused(b, at_s(30)));
  stage.close();
  EXPECT_EQ(stage.job(guest).claim, ClaimId::none);
  EXPECT_EQ(stage.state().queue.front(), guest);
  EXPECT_TRUE(stage.state().sharers.empty());
  // A was told to yield at this instant: it is left alone for a moment.
  EXPECT_EQ(stage.job(a).doing, Doing::nothing);
  stage.now += kTick;
  stage.tell(event::TimerFired{});
  const auto back = stage.close();
  ASSERT_GE(back.size(), 1u);
  EXPECT_EQ(back[0].job, a);
  EXPECT_EQ(back[0].after, (Holding{2, of_a, {}}));
  EXPECT_EQ(back[0].reason.why, Why::guest);
  // It is as fast as it was when it has them.
  EXPECT_EQ(stage.job(a).pace.share(), 5.0 / 8);
  EXPECT_TRUE(stage.resized(a));
  EXPECT_EQ(stage.job(a).pace.share(), 1.0);
}

TEST_F(Shared, SpareCoresAreOfferedAgain) {
  share();
  EXPECT_TRUE(stage.resized(a) && stage.resized(b));
  stage.close();
  stage.at(20);
  EXPECT_TRUE(stage.ended(guest));
  EXPECT_EQ(stage.close().size(), 2u);
  const DecisionId first = stage.job(a).decision;
  EXPECT_TRUE(stage.resized(a, {2, of_a, part(of_a, 5)}, at_s(25)));
  EXPECT_TRUE(stage.resized(b));
  EXPECT_EQ(stage.job(b).holding, (Holding{2, of_b, {}}));
  stage.close();
  EXPECT_EQ(stage.job(a).doing, Doing::nothing);
  EXPECT_EQ(stage.core.next_wake(), at_s(25));
  stage.at(25);
  stage.tell(event::TimerFired{});
  ASSERT_GE(stage.close().size(), 1u);
  EXPECT_NE(stage.job(a).decision, first);
  EXPECT_EQ(stage.job(a).doing, Doing::resizing);
}

TEST_F(Shared, WhoseMateEndsHasItsNodeWithAllCores) {
  share();
  EXPECT_TRUE(stage.ended(a));  // before it answered
  EXPECT_TRUE(stage.resized(b));
  const auto decisions = but_limits(stage.close());
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].after, (Holding{4, all, part(of_b, 3)}));
  stage.at(20);
  EXPECT_TRUE(stage.ended(b));
  EXPECT_EQ(stage.idle(), 0u);
  EXPECT_EQ(stage.state().held, 4u);
  const auto more = but_limits(stage.close());
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].after, (Holding{4, all, {}}));
  EXPECT_TRUE(stage.resized(guest));
  EXPECT_TRUE(stage.state().is_alone(stage.job(guest)));
}

TEST_F(Shared, CutsOfCoresNeedAGuestThere) {
  const JobId other = stage.submit(rigid(1, 10));
  stage.pass([&](Pass& p) {
    const std::vector<Cut> cut{{a, 2, cores(4)}};
    EXPECT_FALSE(p.start(guest, {1, 4}, {Why::in_order}, {cut, false}));
    EXPECT_FALSE(p.carry_out(cut, {}, {Why::guest}));
    // Of one of them there is no guest.
    const std::vector<Cut> both{{a, 2, cores(4)}, {b, 2, cores(4)}};
    EXPECT_FALSE(share(p, both, inside(guest, p.job(a).holding.nodes)));
    EXPECT_FALSE(share(p, cut, inside(guest, of_b)));
    EXPECT_FALSE(share(p, cut, inside(other, nodes({{0, 0}}))));      // rigid
    EXPECT_FALSE(share(p, cut, inside(guest, nodes({{0, 2}}))));      // and B keeps all
    EXPECT_FALSE(share(p, {{a, 1, cores(4)}}, inside(guest, of_a)));  // and a node
    EXPECT_FALSE(share(p, {{a, 2, cores(8)}}, inside(guest, of_a)));  // keeps all
    EXPECT_FALSE(share(p, {{a, 2, cores(0)}}, inside(guest, of_a)));  // keeps nothing
    EXPECT_FALSE(share(p, {cut[0], cut[0]}, inside(guest, of_a)));    // twice
    EXPECT_FALSE(share(p, cut, inside(guest, nodes({{0, 9}}))));      // no such nodes
    EXPECT_TRUE(share(p, cut, inside(guest, of_a)));
    EXPECT_FALSE(share(p, cut, inside(guest, of_a)));
  });
}

TEST_F(Shared, WhoSharesIsNotResized) {
  share();
  EXPECT_TRUE(stage.resized(a) && stage.resized(b));
  stage.close();
  stage.at(20);
  stage.tell(event::SizeOrdered{a, 1});
  stage.pass([&](Pass& p) {
    EXPECT_FALSE(p.resizable(b) || p.resizable(guest));
    EXPECT_EQ(p.extra(b), 0u);
  });
  EXPECT_EQ(stage.job(a).target, 2u);
}

TEST_F(Shared, WhoIsStoppedLeavesTheNodesToTheGuest) {
  share();
  EXPECT_TRUE(stage.resized(a) && stage.resized(b));
  stage.close();
  stage.at(20);
  stage.pass([&](Pass& p) {
    EXPECT_TRUE(p.stop(a, Stop::cancel, {Why::ordered}));
    EXPECT_EQ(p.incoming(), 0u);
  });
  EXPECT_TRUE(stage.tell(event::Ended{a, EndState::cancelled, false}));
  EXPECT_EQ(stage.idle(), 0u);
  EXPECT_EQ(stage.state().held, 4u);
}

TEST_F(Shared, ANodeThatFailsIsNoPlaceForAGuest) {
  share();
  EXPECT_TRUE(stage.tell(event::NodesChanged{nodes({{0, 0}}), Health::down}));
  stage.close();
  EXPECT_EQ(stage.job(guest).claim, ClaimId::none);
}

TEST_F(Shared, AWorldThatCanNoMoreDissolvesClaims) {
  share();
  Capabilities can = stage.state().capabilities;
  can.parts = false;
  EXPECT_TRUE(stage.tell(event::MachineChanged{stage.state().platform, can}));
  EXPECT_EQ(stage.job(guest).claim, ClaimId::none);
  Platform fewer = stage.state().platform;
  EXPECT_TRUE(stage.resized(a) && stage.resized(b));
  fewer.cores_per_node = 4;
  EXPECT_FALSE(stage.tell(event::MachineChanged{fewer, can}));
}

TEST_F(Shared, AllOfTheMemoryGoesRoundOnce) {
  Stage::Setup setup;
  setup.platform = {
      .nodes = 2,
      .classes = {{.name = "n", .nodes = nodes({{0, 1}}), .has = {.cores = 8, .memory_mb = 100}}}};
  setup.can.parts = true;
  Stage with(setup);
  const JobId mate = with.run(malleable({1, 2}, 2));
  const auto ask = [&](std::uint32_t memory) {
    Where where;
    where.each.memory_mb = memory;
    with.tell(
        event::Submitted{malleable({1, 2}, 2), std::nullopt, std::make_shared<const Where>(where)});
    return JobId{with.state().jobs.size() - 1};
  };
  const JobId large = ask(60), small = ask(30);
  with.at(10);
  with.pass([&](Pass& p) {
    const Slice keeps{.cores = 4, .memory_mb = 70};
    EXPECT_FALSE(share(p, {{mate, 2, keeps}}, inside(large, nodes({{0, 1}}))));
    EXPECT_TRUE(share(p, {{mate, 2, keeps}}, inside(small, nodes({{0, 1}}))));
  });
  EXPECT_TRUE(with.resized(mate));
  const auto decisions = but_limits(with.close());
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].after.parts[0].has, (Slice{.cores = 4, .memory_mb = 30}));
}

/// Three nodes of 8 cores, idle 100 W, busy 180 W: each busy core draws 10 W.
Stage::Setup with_watts() {
  Stage::Setup setup;
  setup.platform = {.nodes = 3, .cores_per_node = 8, .idle_w = 100, .busy_w = 180};
  setup.can.parts = true;
  return setup;
}
JobSpec using_cores(Nodes nodes, std::uint16_t each) {
  JobSpec spec = malleable({1, 3}, nodes);
  spec.cores = each;
  return spec;
}

TEST_F(Shared, ANodeDrawsByTheCoresThatAreBusy) {
  Stage with(with_watts());
  const auto above_idle_w = [&] { return static_cast<double>(with.state().jobs_mw) / 1000; };
  const JobId mate = with.run(using_cores(2, 6));
  EXPECT_EQ(above_idle_w(), 2 * 60);  // on nodes of its own: the cores that it can use
  const JobId guest = with.submit(using_cores(3, 3));
  with.at(10);
  with.pass([&](Pass& p) {
    EXPECT_TRUE(share(p, {{mate, 2, cores(4)}}, {.job = guest, .size = exactly(3), .on = of_a}));
  });
  EXPECT_TRUE(with.resized(mate));
  with.close();
  EXPECT_EQ(with.job(guest).holding.parts, part(of_a, 4));
  // The mate has four of the six that it could use; the guest uses three of its four, and three of
  // the idle node besides.
  EXPECT_EQ(above_idle_w(), 2 * 40 + 3 * 30);
  with.at(20);
  with.tell(event::Ended{guest, EndState::completed, false});
  with.close();
  EXPECT_TRUE(with.resized(mate));
  EXPECT_EQ(above_idle_w(), 2 * 60);
}

TEST_F(Shared, WattsThatAJobSaysAreThoseOfItsCores) {
  Stage with(with_watts());
  AdaptiveSpec says;
  says.watts_per_node = 160;  // 10 W for each of six cores
  with.tell(event::Submitted{using_cores(2, 6), says});
  const JobId mate{0}, guest = with.submit(using_cores(2, 8));
  with.pass([&](Pass& p) { EXPECT_TRUE(p.start(mate, exactly(2), {Why::in_order})); });
  EXPECT_EQ(with.state().jobs_mw, 2 * 60'000);
  with.at(10);
  with.pass([&](Pass& p) { EXPECT_TRUE(share(p, {{mate, 2, cores(3)}}, inside(guest, of_a))); });
  EXPECT_TRUE(with.resized(mate));
  with.close();
  EXPECT_EQ(with.state().jobs_mw, 2 * 30'000 + 2 * 50'000);
}

// Class b has half of the cores of class a; all of its four draw 20 W, as one of a does.
TEST_F(Shared, BusyCoresOfAnotherClassDrawAsItSays) {
  Stage::Setup setup;
  setup.platform = {
      .nodes = 2,
      .cores_per_node = 8,
      .busy_w = 160,
      .classes = {{.name = "a", .nodes = nodes({{0, 0}}), .has = {.cores = 8}, .busy_w = 160},
                  {.name = "b", .nodes = nodes({{1, 1}}), .has = {.cores = 4}, .busy_w = 20}}};
  setup.can.parts = true;
  Stage with(setup);
  with.run(using_cores(1, 2));
  EXPECT_EQ(with.state().jobs_mw, 40'000);
  with.run(using_cores(1, 2));
  EXPECT_EQ(with.state().jobs_mw, 40'000 + 10'000);
}

TEST_F(Shared, TheIdealModelCountsAllCores) {
  Stage::Setup setup;
  setup.rules.share = ShareModel::ideal;
  setup.platform = {.nodes = 3, .cores_per_node = 8};
  setup.can.parts = true;
  Stage with(setup);
  const JobId mate = with.run(malleable({1, 2}, 2));
  const JobId third = with.submit(malleable({1, 3}, 3));
  with.at(10);
  with.pass([&](Pass& p) {
    Gain gain{.job = third, .size = {1, 3}};
    gain.on = nodes({{0, 1}});
    EXPECT_TRUE(share(p, {{mate, 2, cores(2)}}, gain));  // and the idle node
    EXPECT_EQ(p.idle(), 0u);
  });
  EXPECT_EQ(with.job(mate).pace.share(), 0.25);
  EXPECT_TRUE(with.resized(mate));
  with.close();
  EXPECT_EQ(with.job(third).pace.share(), (0.75 + 0.75 + 1) / 3);
}

TEST_F(Shared, AGuestOfThisPassIsPromisedNoMoreNodes) {
  Stage::Setup setup;
  setup.platform = {.nodes = 4, .cores_per_node = 8};
  setup.can.parts = setup.can.instant_cores = true;
  Stage with(setup);
  const JobId mate = with.run(malleable({1, 2}, 2));
  const JobId gives = with.run(malleable({1, 2}, 2));
  const JobId third = with.submit(malleable({1, 4}, 2));
  with.at(10);
  with.pass([&](Pass& p) {
    EXPECT_TRUE(share(p, {{mate, 2, cores(4)}}, inside(third, nodes({{0, 1}}))));
    const std::vector<Cut> cuts{{gives, 1}};
    EXPECT_FALSE(p.resize(third, exactly(3), {Why::hand_out}, {.cuts = cuts}));
  });
  EXPECT_EQ(with.job(third).claim, ClaimId::none);
}

// Of its work per core a job bound by memory does half beside one that is so, too, 0.8 beside one
// that computes, and that one 0.9 beside it.
class Contending : public Shared {
 protected:
  static Stage::Setup setup(ShareModel share) {
    Stage::Setup setup;
    setup.platform = {.nodes = 4, .cores_per_node = 8};
    setup.can.parts = true;
    setup.rules.share = share;
    setup.rules.contention = parse_contention("1:0.9:1:0.8:0.5:1:1:1:1");
    return setup;
  }
  static JobSpec bound(JobSpec spec, Bound by) {
    spec.bound = by;
    return spec;
  }
  /// Two mates with two nodes each, and a guest on half of the cores of all four.
  void begin(Stage& with) {
    a = with.run(bound(malleable({1, 4}, 2), Bound::memory));
    b = with.run(bound(malleable({1, 4}, 2), Bound::compute));
    guest = with.submit(bound(malleable({1, 4}, 4), Bound::memory));
    with.at(10);
    with.pass([&](Pass& p) {
      EXPECT_TRUE(share(p, {{a, 2, cores(4)}, {b, 2, cores(4)}}, inside(guest, all)));
    });
  }
};

TEST_F(Contending, EachLosesByThoseWhoAreThere) {
  Stage with(setup(ShareModel::worst));
  begin(with);
  EXPECT_TRUE(with.resized(a));
  EXPECT_TRUE(with.resized(b, {2, of_b, part(of_b, 4)}, at_s(100)));  // and is left alone
  EXPECT_EQ(with.job(a).pace.share(), 0.5);                           // the guest is not there yet
  EXPECT_EQ(with.job(a).limit, at_s(190));
  with.close();
  EXPECT_EQ(with.job(a).pace.share(), 0.25);
  EXPECT_EQ(with.job(b).pace.share(), 0.45);
  EXPECT_EQ(with.job(guest).pace.share(), 0.25);  // as on the nodes of A
  // B does its 90 s first, by 210 s, and leaves the guest its cores and half of its work, at a
  // quarter of its speed still; so A has that guest to its end.
  const Duration near = 2 * kTick;  // B started a tick after A
  EXPECT_LE(abs(with.job(b).limit - at_s(210)), near);
  EXPECT_EQ(with.job(a).limit, at_s(370));
  with.at(20);
  EXPECT_TRUE(with.ended(guest));
  EXPECT_EQ(with.job(a).pace.share(), 0.5);  // alone on the cores that it still has
  EXPECT_EQ(with.job(b).pace.share(), 0.5);
  with.close();
  // 90 s were left, of which A has done a quarter of 10 s, and B 4.5 s.
  EXPECT_EQ(with.job(a).limit, at_s(195));
  EXPECT_LE(abs(with.job(b).limit - at_s(191)), near);
}

TEST_F(Contending, ByTheIdealModelEachNodeCountsForItself) {
  Stage with(setup(ShareModel::ideal));
  begin(with);
  EXPECT_TRUE(with.resized(a) && with.resized(b));
  with.close();
  EXPECT_DOUBLE_EQ(with.job(guest).pace.share(), (0.25 + 0.25 + 0.4 + 0.4) / 4);
  // A ends first: there the guest has whole nodes and loses nothing any more.
  with.at(20);
  EXPECT_TRUE(with.ended(a));
  EXPECT_DOUBLE_EQ(with.job(guest).pace.share(), (0.5 + 0.5 + 0.4 + 0.4) / 4);
  with.close();
  EXPECT_TRUE(with.resized(guest));
  EXPECT_DOUBLE_EQ(with.job(guest).pace.share(), (1 + 1 + 0.4 + 0.4) / 4);
  EXPECT_EQ(with.job(b).pace.share(), 0.45);
}

// What it lost so far stays as it was believed to be.
TEST_F(Contending, WhatIsLearnedHoldsFromThenOn) {
  Stage with(setup(ShareModel::worst));
  begin(with);
  EXPECT_TRUE(with.resized(a) && with.resized(b));
  with.close();
  EXPECT_EQ(with.job(a).pace.share(), 0.25);
  with.at(20);
  const event::ContentionLearned learned{parse_contention("1:0.5:1:1:0.8:1:1:1:1")};
  EXPECT_TRUE(with.tell(learned));
  EXPECT_FALSE(with.tell(learned));  // it is known
  EXPECT_EQ(with.job(a).pace.share(), 0.4);
  EXPECT_EQ(with.job(b).pace.share(), 0.25);
  EXPECT_EQ(with.job(guest).pace.share(), 0.4);
  EXPECT_TRUE(with.ended(guest));
  with.close();
  // As before: 90 s were left at 10 s, of which A has done a quarter of 10 s, and B 4.5 s.
  EXPECT_EQ(with.job(a).limit, at_s(195));
  EXPECT_LE(abs(with.job(b).limit - at_s(191)), 2 * kTick);
}

TEST_F(Contending, NobodyLosesAnythingAnyMore) {
  Stage with(setup(ShareModel::worst));
  begin(with);
  EXPECT_TRUE(with.resized(a) && with.resized(b));
  with.close();
  with.at(20);
  EXPECT_TRUE(with.tell(event::ContentionLearned{}));
  for (const JobId id : {a, b, guest}) EXPECT_EQ(with.job(id).pace.share(), 0.5);
}

/// A job on nodes 0 and 1, inside of which a guest has half of the cores; nodes 2 and 3 idle.
class MovesOn : public ::testing::Test {
 protected:
  void begin(bool moves) {
    Stage::Setup setup;
    setup.platform = {.nodes = 4, .cores_per_node = 8};
    setup.can.parts = true;
    setup.can.moves = moves;
    stage.emplace(setup);
    mate = stage->run(malleable({1, 4}, 2));
    guest = stage->submit(malleable({1, 4}, 2));
    stage->at(10);
    Gain gain{.job = guest, .size = exactly(2)};
    gain.on = shared;
    const Cut cut{mate, 2, cores(4)};
    stage->pass([&](Pass& p) { EXPECT_TRUE(p.carry_out({&cut, 1}, {&gain, 1}, {Why::guest})); });
    EXPECT_TRUE(stage->resized(mate));
    stage->close();
    ASSERT_EQ(stage->job(guest).pace.share(), 0.5);
    stage->at(20);
  }
  const Job& job(JobId id) const { return stage->job(id); }

  std::optional<Stage> stage;
  JobId mate{}, guest{};
  const NodeSet shared = nodes({{0, 1}}), others = nodes({{2, 3}});
};

TEST_F(MovesOn, AndItsMateHasItsCoresAgain) {
  begin(true);
  stage->pass([&](Pass& p) {
    EXPECT_TRUE(p.is_guest(guest) && !p.is_guest(mate));
    EXPECT_EQ(p.not_alone(guest), shared);
    // Half of its work of 10 s is done.
    EXPECT_EQ(p.end_alone(guest), at_s(115));
    EXPECT_TRUE(p.move_on(guest, {Why::guest}));
    EXPECT_EQ(p.idle(), 0u);
    EXPECT_FALSE(p.move_on(guest, {Why::guest}));  // it is under way
    EXPECT_EQ(p.incoming(), 0u);                   // what it leaves is its mate's
  });
  EXPECT_EQ(job(guest).pace.share(), 0.5);
  EXPECT_TRUE(stage->resized(guest));
  EXPECT_EQ(job(guest).holding.nodes, others);
  EXPECT_TRUE(job(guest).holding.parts.empty());
  EXPECT_EQ(job(guest).limit, at_s(115));
  stage->close();
  EXPECT_TRUE(stage->resized(mate));
  EXPECT_TRUE(job(mate).holding.parts.empty());
  EXPECT_EQ(job(mate).pace.share(), 1);
}

TEST_F(MovesOn, OrStaysWhereItIsIfItRefuses) {
  begin(true);
  const Holding before = job(guest).holding;
  stage->pass([&](Pass& p) { EXPECT_TRUE(p.move_on(guest, {Why::guest})); });
  EXPECT_TRUE(stage->resized(guest, before, at_s(100)));
  EXPECT_EQ(job(guest).holding, before);
  stage->close();
  EXPECT_EQ(stage->core.state().idle.count(), 2u);
  EXPECT_EQ(job(guest).pace.share(), 0.5);
}

TEST_F(MovesOn, NeedsAWorldThatMovesJobs) {
  begin(false);
  stage->pass([&](Pass& p) { EXPECT_FALSE(p.move_on(guest, {Why::guest})); });
}

}  // namespace
}  // namespace ductile::testing
