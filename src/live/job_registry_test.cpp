#include "live/job_registry.hpp"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

Time at(std::int64_t seconds) { return Time(whole_seconds(seconds)); }

/// Jobs as the controller tells them, and as the journal would remember them.
struct World {
  std::map<std::uint64_t, bool> failed{};  // of jobs that are over
  JobRegistry jobs{[this](std::uint64_t number) -> std::optional<bool> {
    const auto found = failed.find(number);
    return found == failed.end() ? std::nullopt : std::optional(found->second);
  }};
  UserLimits limits{};
  std::uint64_t next = 1;
  std::uint32_t arrived = 7;  // others were over before

  JobId id_of(std::uint64_t number) const { return jobs.numbers().id_of(number); }
  std::uint64_t submit(const Submission& what, std::uint32_t user = 1) {
    const std::uint64_t first = next;
    const auto batch = jobs.add_batch(first, what);
    Job job;
    job.spec.size = {1, what.nodes};
    job.spec.priority = what.priority;
    job.status = JobRegistry::is_conditional(what, limits) ? Status::held : Status::pending;
    for (std::uint32_t i = 0; i < std::max(what.array.count(), 1U); ++i) {
      JobRow row;
      row.id = JobId{arrived++};
      row.number = next++;
      row.owner.user = user;
      row.held = what.is_held ? Hold::user : Hold::none;
      if (!what.array.empty()) row.array = first;
      jobs.add(row, batch, job);
    }
    return first;
  }
  void start(std::uint64_t number) { jobs.started(id_of(number), at(0)); }
  void end(std::uint64_t number, EndState state = EndState::completed) {
    LiveJob& job = jobs.at(id_of(number));
    job.row.state = kEndWords[static_cast<std::size_t>(state)];
    failed[number] = state != EndState::completed;
    failed[job.batch->number] |= state != EndState::completed;
    jobs.over(id_of(number));
  }
  /// The jobs that are shown now.
  std::string shown(Time now = at(0), int most = 1000) {
    std::string text;
    jobs.judge(now, limits, [&](JobId id) {
      text += std::to_string(jobs.numbers().of(id)) + ' ';
      return --most > 0;
    });
    return text;
  }
  Wait wait(std::uint64_t number) { return jobs.at(id_of(number)).wait; }
};

Submission job_after(const std::string& dependency) {
  Submission what;
  what.dependencies = parse_dependencies(dependency);
  return what;
}

TEST(JobRegistry, KeepsBackWhatDependsOnOthers) {
  World world;
  for (int i = 1; i <= 3; ++i) world.submit({});
  world.submit(job_after("after:1"));       // 4
  world.submit(job_after("afterok:1:2"));   // 5
  world.submit(job_after("afternotok:2"));  // 6
  world.submit(job_after("afterany:3,after:1"));
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(world.wait(5), Wait::dependency);
  world.start(1);
  EXPECT_EQ(world.shown(), "4 ");
  world.end(1);
  EXPECT_EQ(world.shown(), "");
  world.end(2, EndState::failed);
  EXPECT_EQ(world.shown(), "6 ");
  EXPECT_EQ(world.wait(5), Wait::never);
  world.end(3, EndState::cancelled);
  EXPECT_EQ(world.shown(), "7 ");
  // Of jobs that were over before.
  EXPECT_EQ(world.submit(job_after("afterok:1")), 8u);
  EXPECT_EQ(world.submit(job_after("afterok:3")), 9u);
  EXPECT_EQ(world.shown(), "8 ");
  EXPECT_EQ(world.wait(9), Wait::never);
}

TEST(JobRegistry, KnowsTheJobsOfTasks) {
  World world;
  Submission array;
  array.array = parse_array("3,7-9,20");
  ASSERT_EQ(world.submit(job_after("afterok:1")), 1u);
  ASSERT_EQ(world.submit(array), 2u);
  EXPECT_EQ(world.jobs.task(2, 3), world.id_of(2));
  EXPECT_EQ(world.jobs.task(2, 8), world.id_of(4));
  EXPECT_EQ(world.jobs.task(2, 20), world.id_of(6));
  for (const std::uint32_t task : {0U, 4U, 10U, 21U}) {
    EXPECT_EQ(world.jobs.task(2, task), JobId::none);
  }
  EXPECT_EQ(world.jobs.task(1, 0), JobId::none);
  EXPECT_EQ(world.jobs.task(3, 7), JobId::none);  // no array
}

TEST(JobRegistry, WhatWasFulfilledStaysSoWhenOtherThingsChange) {
  World world;
  world.submit({});  // 1
  Submission array = job_after("after:1");
  array.array = parse_array("1-2");
  world.submit(array);  // 2, 3
  world.start(1);
  EXPECT_EQ(world.shown(), "2 3 ");
  world.jobs.requeued(world.id_of(1));
  const auto batch = world.jobs.shared_batch(2);
  array.walltime = whole_seconds(7);
  world.jobs.hide(world.id_of(3));
  EXPECT_EQ(world.wait(3), Wait::changing);
  world.jobs.alter(*batch, array);
  EXPECT_EQ(batch->what.walltime, whole_seconds(7));
  EXPECT_EQ(world.shown(), "3 ");
  // Other ones are looked up.
  world.jobs.hide(world.id_of(3));
  array.dependencies = parse_dependencies("afterany:1");
  world.jobs.alter(*batch, array);
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(world.wait(3), Wait::dependency);
  world.start(1);
  world.end(1);
  EXPECT_EQ(world.shown(), "3 ");
}

// What has begun stays begun, also where it waits again: whoever looks later, a controller that
// begins anew for one, comes to the same.
TEST(JobRegistry, WhatWaitsAgainHasBegun) {
  World world;
  world.submit({});  // 1
  world.submit(job_after("after:1"));
  world.start(1);
  world.jobs.requeued(world.id_of(1));
  EXPECT_EQ(world.shown(), "2 ");
  world.submit(job_after("after:1"));
  EXPECT_EQ(world.shown(), "3 ");
  world.start(1);
  world.end(1);
  EXPECT_EQ(world.jobs.batch(1), nullptr);

  // Found in a journal.
  JobRow row;
  row.number = world.next++;
  row.restarts = 1;
  Job job;
  job.spec.size = {1, 1};
  world.jobs.add(row, world.jobs.add_batch(row.number, {}), job);
  world.submit(job_after("after:4"));
  EXPECT_EQ(world.shown(), "5 ");
  world.end(4);
  EXPECT_EQ(world.jobs.batch(4), nullptr);
}

// Thousands may become free at once.
TEST(JobRegistry, ShowsSoManyAtATime) {
  World world;
  world.submit({});  // 1
  for (int i = 2; i <= 6; ++i) world.submit(job_after("afterok:1"));
  world.end(1);
  EXPECT_EQ(world.shown(at(0), 2), "2 3 ");
  EXPECT_EQ(world.jobs.next(), Time{});  // at once again
  EXPECT_EQ(world.shown(at(0), 2), "4 5 ");
  EXPECT_EQ(world.shown(at(0), 2), "6 ");
  EXPECT_EQ(world.jobs.next(), kNever);
}

// Tasks are added over several turns: the first may be over before the last is there.
TEST(JobRegistry, AnArrayIsNotOverBeforeItIsWhole) {
  World world;
  Submission array;
  array.array = parse_array("1-3");
  const auto batch = world.jobs.add_batch(1, array);
  world.jobs.expect_more(*batch);
  Job job;
  job.spec.size = {1, 1};
  const auto add = [&](std::uint64_t number) {
    world.jobs.add({.id = JobId{world.arrived++}, .number = number, .array = 1}, batch, job);
  };
  add(1);
  world.start(1);
  world.end(1);
  ASSERT_NE(world.jobs.batch(1), nullptr);
  world.next = 9;
  const std::uint64_t begun = world.submit(job_after("after:1"));
  const std::uint64_t over = world.submit(job_after("afterok:1"));
  EXPECT_EQ(world.shown(), "");
  add(2);
  add(3);
  world.jobs.is_whole(*batch);
  EXPECT_EQ(world.shown(), "");
  world.start(2);
  world.start(3);
  EXPECT_EQ(world.shown(), std::to_string(begun) + ' ');
  world.end(2);
  EXPECT_EQ(world.shown(), "");
  world.end(3);
  EXPECT_EQ(world.shown(), std::to_string(over) + ' ');
}

TEST(JobRegistry, KeepsBackTasksBeyondTheLimitOfTheirArray) {
  World world;
  Submission array;
  array.array = parse_array("0-4%2");
  EXPECT_EQ(world.submit(array), 1u);
  const std::uint64_t after = world.submit(job_after("afterok:1"));
  EXPECT_EQ(world.shown(), "1 2 ");
  EXPECT_EQ(world.wait(3), Wait::array);
  EXPECT_EQ(world.jobs.tasks(1).size(), 5u);
  world.start(2);
  world.end(2);
  EXPECT_EQ(world.shown(), "3 ");
  world.end(1);
  world.end(3);
  EXPECT_EQ(world.shown(), "4 5 ");
  world.end(4);
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(world.wait(after), Wait::dependency);
  world.end(5);
  EXPECT_EQ(world.shown(), "6 ");
  EXPECT_EQ(world.jobs.batch(1), nullptr);
}

TEST(JobRegistry, KeepsBackUntilItsTimeAndWhileUsersHoldIt) {
  World world;
  Submission later, held;
  later.begin = at(10);
  held.is_held = true;
  world.submit(later);
  world.submit(held);
  EXPECT_EQ(world.wait(1), Wait::unknown);
  EXPECT_EQ(world.shown(at(9)), "");
  EXPECT_EQ(world.wait(1), Wait::begin);
  EXPECT_EQ(world.wait(2), Wait::user);
  EXPECT_EQ(world.jobs.next(), at(10));
  EXPECT_EQ(world.shown(at(10)), "1 ");
  EXPECT_EQ(world.jobs.next(), kNever);
  world.jobs.release(world.id_of(2));
  world.jobs.release(world.id_of(2));
  EXPECT_EQ(world.shown(at(10)), "2 ");
  world.jobs.hold(world.id_of(1), Hold::user);
  EXPECT_EQ(world.shown(at(20)), "");
  world.jobs.release(world.id_of(1));
  EXPECT_EQ(world.shown(at(20)), "1 ");
}

TEST(JobRegistry, ShowsNoneOfThoseThatAreChanging) {
  World world;
  Submission two;
  two.array = parse_array("0-1");
  world.submit(two);
  JobRegistry& jobs = world.jobs;
  Batch& batch = *jobs.shared_batch(1);
  jobs.set_changing(batch, true);
  jobs.hide(world.id_of(1));
  jobs.hide(world.id_of(2));
  jobs.hold(world.id_of(2), Hold::admin);
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(world.wait(1), Wait::changing);
  EXPECT_EQ(world.wait(2), Wait::admin);
  two.name = "other";
  two.priority = 3;
  jobs.alter(batch, two);
  JobSpec spec;
  spec.priority = 3;
  spec.size = {1, 5};
  jobs.alter(world.id_of(1), spec);
  jobs.alter(world.id_of(2), spec);
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(jobs.at(world.id_of(1)).row.name, "other");
  EXPECT_EQ(jobs.at(world.id_of(1)).most, 5u);
  jobs.set_changing(batch, false);
  EXPECT_EQ(world.shown(), "1 ");
  jobs.release(world.id_of(2));
  EXPECT_EQ(world.shown(), "2 ");
}

TEST(JobRegistry, KeepsUsersWithinTheirLimits) {
  World world;
  world.limits = {.jobs = 2, .nodes = 5};
  Submission two, high, huge;
  two.nodes = 2;
  high.nodes = 3;
  high.priority = 9;
  huge.nodes = 8;  // the limit was higher when it was submitted
  world.submit(two);
  world.submit(two);
  world.submit(high);
  world.submit(two, 2);
  world.submit(huge, 3);
  EXPECT_EQ(world.jobs.count_of(1), 3u);
  EXPECT_EQ(world.shown(), "3 1 4 5 ");
  EXPECT_EQ(world.wait(2), Wait::jobs_of_user);
  world.end(1);
  world.submit(high);
  EXPECT_EQ(world.shown(), "2 ");
  world.end(3);
  EXPECT_EQ(world.shown(), "6 ");
  world.limits.nodes = 2;
  world.submit(two);
  world.end(2);
  EXPECT_EQ(world.shown(), "");
  EXPECT_EQ(world.wait(7), Wait::nodes_of_user);
}

// A world gives numbers with gaps, and lower ones later; who came first goes first.
TEST(JobRegistry, NumbersAreAnyNumbers) {
  World world;
  Submission array;
  array.array = parse_array("0-2");
  array.is_held = true;
  world.next = 500;
  world.submit(array);
  world.next = 40;
  world.submit(job_after("afterok:501"));
  world.next = std::uint64_t{1} << 61;
  const std::uint64_t high = world.submit(array);
  EXPECT_EQ(world.id_of(500), JobId{7});
  EXPECT_EQ(world.id_of(40), JobId{10});
  EXPECT_EQ(world.id_of(high + 2), JobId{13});
  EXPECT_EQ(world.id_of(41), JobId::none);
  EXPECT_EQ(world.jobs.task(500, 2), JobId{9});
  EXPECT_EQ(world.jobs.tasks(high), (std::vector{JobId{11}, JobId{12}, JobId{13}}));
  for (const std::uint64_t number : {high + 2, high, std::uint64_t{502}}) {
    world.jobs.release(world.id_of(number));
  }
  EXPECT_EQ(world.shown(), fmt::format("502 {} {} ", high, high + 2));
  world.jobs.release(world.id_of(501));
  EXPECT_EQ(world.shown(), "501 ");
  world.start(501);
  world.end(501);
  EXPECT_EQ(world.shown(), "40 ");
  EXPECT_EQ(world.id_of(501), JobId::none);
  EXPECT_EQ(world.jobs.tasks(500), (std::vector{JobId{7}, JobId{9}}));
  world.end(40);
  EXPECT_EQ(world.jobs.dependencies(), 0u);
}

// A batch that is over leaves nothing, nor does one whose dependencies were fulfilled at once.
TEST(JobRegistry, ForgetsDependenciesOfWhatIsOver) {
  World w;
  const auto first = w.submit({});
  Submission what;
  what.dependencies = {{Dependency::Kind::afterany, first}, {Dependency::Kind::after, first}};
  what.array = parse_array("1-2");
  for (int i = 0; i < 3; ++i) {
    const auto second = w.submit(what);
    EXPECT_EQ(w.jobs.dependencies(), 1U);  // both are on the same job
    w.end(second, EndState::cancelled);
    w.end(second + 1, EndState::cancelled);
    EXPECT_EQ(w.jobs.dependencies(), 0U);
  }
  w.start(first);
  w.end(first);
  w.submit(what);
  EXPECT_EQ(w.jobs.dependencies(), 0U);
}

// What the world needs of it once, when it starts, is not kept.
TEST(JobRegistry, KeepNoScripts) {
  World w;
  Submission what;
  what.program = {"a", "b"};
  what.script = std::string(1 << 20, 'x');
  what.environment = {"A=1"};
  const Submission& kept = w.jobs.at(w.id_of(w.submit(what))).what();
  EXPECT_TRUE(kept.script.empty() && kept.program.empty() && kept.environment.empty());
  EXPECT_LT(kept.script.capacity(), 100u);
  EXPECT_EQ(kept.program.capacity() + kept.environment.capacity(), 0u);
}

}  // namespace
}  // namespace ductile
