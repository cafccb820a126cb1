#include "scheduling/runtime_prediction.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile {
namespace {

Time at(int s) { return Time{whole_seconds(s)}; }

struct StartAll final : Policy {
  void schedule(Pass& pass) const override {
    while (pass.pending() > 0) {
      const JobId id = pass.first_pending();
      if (!pass.start(id, exactly(pass.job(id).spec.preferred), {Why::in_order})) return;
    }
  }
};

/// A core of four nodes, and its jobs by user 7.
struct World {
  StartAll policy{};
  Core core{{.nodes = 4}, {}, {}, policy.traits};
  RuntimePrediction predictions{};

  JobId submit(int now_s, int requested_s, JobType type = JobType::rigid) {
    const JobId id{core.state().jobs.size()};
    const Duration requested = whole_seconds(requested_s);
    event::Submitted submitted{{.name = index(id) + 1, .user = 7, .type = type}, std::nullopt};
    submitted.job.submitted = at(now_s);
    submitted.job.size = type == JobType::rigid ? exactly(2) : SizeRange{1, 4};
    submitted.job.preferred = 2;
    submitted.job.walltime = predictions.walltime(7, requested);
    if (type != JobType::rigid) submitted.adaptive = AdaptiveSpec{};
    predictions.submitted(id, requested, submitted.job.walltime);
    tell(now_s, submitted);
    return id;
  }
  void tell(int now_s, const Event& event) {
    EXPECT_TRUE(core.apply(at(now_s), event));
    core.close(at(now_s), policy);
  }
  void end(int now_s, JobId id) {
    predictions.ending(core.state(), id, at(now_s));
    tell(now_s, event::Ended{id, EndState::completed, false});
  }
  Time limit(JobId id) const { return core.job(id).limit; }
};

TEST(RuntimePrediction, IsTheMeanOfTheLastTwoOfTheUser) {
  RuntimePrediction its;
  EXPECT_EQ(its.walltime(7, whole_seconds(100)), whole_seconds(100));
  its.took(7, whole_seconds(10));
  EXPECT_EQ(its.walltime(7, whole_seconds(100)), whole_seconds(100));
  its.took(7, whole_seconds(30));
  EXPECT_EQ(its.walltime(7, whole_seconds(100)), whole_seconds(20));
  EXPECT_EQ(its.walltime(7, whole_seconds(15)), whole_seconds(15));
  EXPECT_EQ(its.walltime(8, whole_seconds(100)), whole_seconds(100));
  its.took(7, whole_seconds(50));
  EXPECT_EQ(its.walltime(7, whole_seconds(100)), whole_seconds(40));
}

TEST(RuntimePrediction, OutlivedIsRaisedUpToTheRequest) {
  World world;
  world.end(10, world.submit(0, 600));
  world.end(30, world.submit(10, 600));
  const JobId id = world.submit(30, 600);
  EXPECT_EQ(world.limit(id), at(45));
  world.predictions.watch(world.core.state(), id);
  EXPECT_EQ(world.predictions.next(), at(45));
  EXPECT_EQ(world.predictions.due(at(44)), JobId::none);
  EXPECT_FALSE(world.predictions.outlived(world.core.state(), id, at(44)));
  for (const int limit_s : {45 + 60, 105 + 300, 630}) {
    const Time now = world.limit(id);
    EXPECT_EQ(world.predictions.due(now), id);
    const auto believed = world.predictions.outlived(world.core.state(), id, now);
    ASSERT_TRUE(believed);
    ASSERT_TRUE(world.core.apply(now, *believed));
    world.predictions.watch(world.core.state(), id);
    EXPECT_EQ(world.limit(id), at(limit_s));
    // The time asked for is another thing.
    EXPECT_EQ(world.core.state().end_with(world.core.job(id), whole_seconds(600)), at(630));
  }
  EXPECT_FALSE(world.predictions.outlived(world.core.state(), id, at(630)));
  EXPECT_EQ(world.predictions.next(), kNever);
}

// What a job takes at a lower frequency is no more than what it would take at the full one.
TEST(RuntimePrediction, IsOfTheFullFrequency) {
  struct StartSlowed final : Policy {
    void schedule(Pass& pass) const override {
      const JobId id = pass.first_pending();
      if (id != JobId::none) pass.start(id, exactly(2), {Why::in_order}, {.step = 1});
    }
  };
  for (const JobType type : {JobType::rigid, JobType::malleable}) {
    World world;
    Rules rules;
    rules.slow_for_power = true;
    world.core = Core({.nodes = 4, .idle_w = 0, .busy_w = 100, .steps = {{0.5, 0.25}}}, {}, rules,
                      world.policy.traits);
    const StartSlowed slowed;
    world.core.apply(at(0), event::CorridorChanged{0, 199});
    const JobId id = world.submit(0, 600, type);
    // Half of the time at half of the speed, then at all of it.
    world.core.apply(at(0), event::ConfigChanged{world.policy.traits});
    world.core.close(at(0), slowed);
    ASSERT_EQ(world.core.job(id).step, 1);
    EXPECT_EQ(world.limit(id), at(1200));
    EXPECT_EQ(world.core.state().end_with(world.core.job(id), whole_seconds(300)), at(600));
    world.core.apply(at(20), event::CorridorChanged{0, 200});
    world.core.close(at(20), slowed);
    ASSERT_EQ(world.core.job(id).step, 0);
    EXPECT_EQ(world.limit(id), at(610));
    EXPECT_EQ(world.core.state().end_with(world.core.job(id), whole_seconds(300)), at(310));
    world.end(40, id);
    EXPECT_EQ(world.predictions.last_of(7), std::vector{whole_seconds(30)});
  }
}

Platform of_speed(double speed) {
  Platform machine{.nodes = 4};
  machine.classes = {{.name = "n", .nodes = NodeSet{{{0, 3}}}, .speed = speed}};
  return machine;
}

// What a job takes on slower nodes is no more than what it would take at speed 1.
TEST(RuntimePrediction, IsOfSpeed1) {
  for (const JobType type : {JobType::rigid, JobType::malleable}) {
    World world;
    world.core = Core(of_speed(0.5), {}, {}, world.policy.traits);
    const JobId id = world.submit(0, 300, type);
    EXPECT_EQ(world.limit(id), at(600));
    world.end(200, id);
    EXPECT_EQ(world.predictions.last_of(7), std::vector{whole_seconds(100)});
  }
}

// Of a job on nodes that became slower a fixed limit does not tell what it has had.
TEST(RuntimePrediction, IsOfThePresentSpeedUnderFixedLimits) {
  for (const auto rule : {Rules::Limit::fixed, Rules::Limit::scaled}) {
    const bool is_fixed = rule == Rules::Limit::fixed;
    World world;
    world.core = Core(of_speed(1), {}, {.limit = rule}, world.policy.traits);
    const JobId id = world.submit(0, 300);
    world.tell(100, event::MachineChanged{of_speed(0.5), {}});
    EXPECT_EQ(world.limit(id), at(is_fixed ? 300 : 500));
    EXPECT_EQ(world.core.state().end_with(world.core.job(id), whole_seconds(150)),
              at(is_fixed ? 300 : 200));
    world.end(200, id);
    EXPECT_EQ(world.predictions.last_of(7), std::vector{whole_seconds(is_fixed ? 100 : 150)});
  }
}

TEST(RuntimePrediction, IsTakenUpWhereItWas) {
  World world;
  world.end(10, world.submit(0, 600));
  world.end(30, world.submit(10, 600));
  EXPECT_EQ(world.predictions.last_of(7), (std::vector{whole_seconds(10), whole_seconds(20)}));
  EXPECT_TRUE(world.predictions.last_of(8).empty());
  const JobId id = world.submit(30, 600);
  RuntimePrediction again;
  for (const Duration took : world.predictions.last_of(7)) again.took(7, took);
  EXPECT_EQ(again.walltime(7, whole_seconds(600)), whole_seconds(15));
  // The next step is the third: 15 minutes, or what was requested.
  again.submitted(id, whole_seconds(10'000), whole_seconds(15), 2);
  again.watch(world.core.state(), id);
  EXPECT_EQ(again.due(at(45)), id);
  EXPECT_EQ(again.outlived(world.core.state(), id, at(45))->walltime, whole_seconds(15 + 900));
  again.forget(id);
  EXPECT_EQ(again.next(), kNever);
}

TEST(RuntimePrediction, CountsTheWorkOfAJobThatWasResized) {
  World world;
  const JobId id = world.submit(0, 100, JobType::malleable);
  world.tell(10, event::SizeOrdered{id, 4});
  world.tell(10, event::Resized{id, world.core.job(id).decision, {4, {}}, {}});
  EXPECT_EQ(world.limit(id), at(55));
  world.end(20, id);  // 10 s of two nodes, then 10 s of four
  world.predictions.took(7, whole_seconds(30));
  EXPECT_EQ(world.predictions.walltime(7, whole_seconds(100)), whole_seconds(30));

  // And so does a new belief: of 60 s at two nodes, 5 are done at four.
  const JobId next = world.submit(20, 100, JobType::malleable);
  EXPECT_EQ(world.limit(next), at(50));
  world.tell(21, event::SizeOrdered{next, 4});
  world.tell(21, event::Resized{next, world.core.job(next).decision, {4, {}}, {}});
  EXPECT_EQ(world.limit(next), Time{seconds(21 + 14.5)});
  event::Believed believed{next, 0, 0, 0};
  believed.walltime = whole_seconds(61);
  world.tell(31, believed);  // 1 s of two nodes, 10 s of four: 40 s of two nodes are left
  EXPECT_EQ(world.limit(next), at(51));
}

TEST(RuntimePrediction, BelievedOfAWaitingJobChangesWhatItNeeds) {
  World world;
  world.submit(0, 600);
  world.submit(0, 600);
  const JobId waits = world.submit(0, 600);
  EXPECT_EQ(world.core.state().start_need(world.core.job(waits)).walltime, whole_seconds(600));
  event::Believed believed{waits, 0, 0, 0};
  believed.walltime = whole_seconds(5);
  world.tell(1, believed);
  EXPECT_EQ(world.core.state().start_need(world.core.job(waits)).walltime, whole_seconds(5));
  EXPECT_EQ(world.core.state().queue.front(), waits);
}

TEST(RuntimePrediction, StaysWhenAnotherLimitIsAskedFor) {
  World world;
  world.predictions.took(7, whole_seconds(10));
  world.predictions.took(7, whole_seconds(10));
  const JobId id = world.submit(0, 100);
  const State& state = world.core.state();
  EXPECT_EQ(world.limit(id), at(10));
  for (const int more : {50, 200, 11}) {
    EXPECT_FALSE(world.predictions.asked(state, id, whole_seconds(more)));
    EXPECT_EQ(world.predictions.requested(state, id), whole_seconds(more));
  }
  const auto less = world.predictions.asked(state, id, whole_seconds(9));
  ASSERT_TRUE(less);
  EXPECT_EQ(less->walltime, whole_seconds(9));
  world.tell(1, *less);
  EXPECT_EQ(world.limit(id), at(9));
  // From now on nothing is predicted of it.
  const auto more = world.predictions.asked(state, id, whole_seconds(20));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->walltime, whole_seconds(20));
  world.tell(2, *more);
  EXPECT_FALSE(world.predictions.asked(state, id, whole_seconds(20)));
  EXPECT_EQ(world.limit(id), at(20));
}

}  // namespace
}  // namespace ductile
