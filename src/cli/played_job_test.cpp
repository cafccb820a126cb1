#include "cli/played_job.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Time at(std::int64_t second) { return Time{} + whole_seconds(second); }

// Two nodes for 40 s.
WorkloadJob job_at(std::uint64_t name, std::int64_t second) {
  return {.name = name,
          .submit = at(second),
          .runtime = whole_seconds(40),
          .walltime = whole_seconds(50),
          .nodes = 2,
          .user = 7};
}

// A rigid job, and one of 1 to 4 nodes of this type.
Workload two_jobs(JobType type) {
  Workload workload;
  workload.jobs = {job_at(3, 100), job_at(4, 160)};
  workload.jobs[1].adaptive = 0;
  workload.adaptive = {{.type = type, .size = {1, 4}}};
  return workload;
}

PlayedPrograms programs() {
  PlayedPrograms programs;
  programs.timed = "/timed";
  programs.mpi = Mpi::mpich;
  return programs;
}

TEST(PlayedJob, TimesAreShorterAndBeginAtZero) {
  Workload workload = two_jobs(JobType::malleable);
  workload.adaptive[0].barrier = true;
  EXPECT_EQ(prepare_to_play(workload, 3, 8, whole_seconds(2)), 1);
  EXPECT_EQ(workload.jobs[0].submit, Time{});
  EXPECT_EQ(workload.jobs[1].submit, Time{} + seconds(7.5));
  EXPECT_EQ(workload.jobs[1].runtime, whole_seconds(5));
  EXPECT_EQ(workload.jobs[1].walltime, Duration{8'250'000});
  EXPECT_EQ(workload.jobs[0].user, workload.jobs[1].user);
  EXPECT_EQ(workload.adaptive[0].size.max, 3);
  EXPECT_FALSE(workload.adaptive[0].barrier);
}

TEST(PlayedJob, ARigidJobSleeps) {
  const Workload workload = two_jobs(JobType::malleable);
  const Submission s = played(workload, workload.jobs[0], programs());
  EXPECT_EQ(s.name, "job-3");
  EXPECT_EQ(s.type, JobType::rigid);
  EXPECT_EQ(s.nodes, 2);
  EXPECT_EQ(s.mpi, Mpi::none);
  EXPECT_THAT(s.program, ElementsAre(HasSubstr("sleep"), "40"));
}

TEST(PlayedJob, AMoldableOneByItsSize) {
  const Workload workload = two_jobs(JobType::moldable);
  const Submission s = played(workload, workload.jobs[1], programs());
  EXPECT_EQ(s.mpi, Mpi::none);
  EXPECT_EQ(s.program.back(), "80,40,26.666667,20");
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 4);
}

TEST(PlayedJob, OneThatIsResizedTakesItsTimeAtEachSizeAndAsks) {
  Workload workload = two_jobs(JobType::adaptive);
  AdaptiveJob& more = workload.adaptive[0];
  more.speedup = parse_speedup("amdahl:0.5");
  more.believed.speedup = parse_speedup("amdahl:0.25");
  more.believed.constraint = parse_constraint("pof2");
  more.steps = {{.progress = 0.25, .delta = 2, .at_least = 1},
                {.progress = 0.5, .delta = -1, .if_denied = true}};
  const Submission s = played(workload, workload.jobs[1], programs());
  // amdahl:0.5 takes 40 s at 2 nodes, so 53.3 s at 1.
  EXPECT_THAT(s.program, ElementsAre("/timed", "1", "53.333333,40,35.555556,33.333333", "0.25:2:1",
                                     "0.5:-1:0:again"));
  EXPECT_EQ(s.mpi, Mpi::mpich);
  EXPECT_EQ(s.tasks_per_node, 1);
  EXPECT_EQ(submit_line(s),
            "ductile submit -J job-4 --type adaptive -N 2 --min-nodes 1 --max-nodes 4 -t 00:50 "
            "--ntasks-per-node 1 --model amdahl:0.25 --sizes pof2 --mpi mpich -- /timed 1 "
            "53.333333,40,35.555556,33.333333 0.25:2:1 0.5:-1:0:again");
}

TEST(PlayedJob, ACommandFindsTheJobInItsEnvironment) {
  const Workload workload = two_jobs(JobType::malleable);
  PlayedPrograms with = programs();
  with.commands[static_cast<std::size_t>(JobType::rigid)] = Submission{.program = {"/it's"}};
  const Submission s = played(workload, workload.jobs[0], with);
  EXPECT_THAT(s.environment, ElementsAre("PLAY_JOB=3", "PLAY_NODES=2", "PLAY_RUNTIME_S=40"));
  EXPECT_THAT(submit_line(s), ::testing::EndsWith("-- '/it'\\''s'"));
}

TEST(PlayedJob, WhatCannotBePlayedIsToldBefore) {
  const auto refused = [](const Workload& workload, Nodes nodes, const char* what) {
    EXPECT_THAT([&] { check_can_be_played(workload, nodes); },
                ThrowsMessage<InputError>(HasSubstr(what)));
  };
  Workload workload = two_jobs(JobType::malleable);
  check_can_be_played(workload, 2);
  refused(workload, 1, "1 of 2 jobs need more than the 1 nodes that there are, the first is job 3");
  workload.adaptive[0].believed.constraint = parse_constraint("multiple:3");
  refused(workload, 2, "the first is job 4");
  workload = two_jobs(JobType::evolving);
  refused(workload, 1, "2 of 2 jobs need more");
  workload.adaptive[0].steps = {{.progress = 0.5, .delta = 1, .saves = 0.1}};
  refused(workload, 4, "1 jobs ask for nodes in a way that only the simulator knows");
  workload = two_jobs(JobType::evolving);
  workload.jobs[0].where = 1;
  refused(workload, 4, "1 jobs say on which nodes they may run");
  workload = two_jobs(JobType::evolving);
  workload.precedences = {{.job = 1, .on = 0}};
  refused(workload, 4, "dependencies of 1 jobs");
}

}  // namespace
}  // namespace ductile
