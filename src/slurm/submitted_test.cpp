#include "slurm/submitted.hpp"

#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/submission.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

class SubmittedTest : public ::testing::Test {
 public:
  SubmittedTest() {
    names.add({"n1", "n2", "n3", "n4"});
    for (const char* name : {"n1", "n2", "n3", "n4"}) machine[name] = {.name = name, .cpus = 16};
    machine["n3"].features = machine["n4"].features = "fast,big";
    machine["n4"].features += ",new";
    job.number = 7;
    job.name = "job";
    job.folder = "/data/a";
    job.limit = whole_seconds(600);
    job.partition = "adaptive";
  }
  Submission what() const { return submission_of(job, {names, machine, facts}); }

  std::string path = [] {
    std::string name = ::testing::TempDir() + "submitted-nodes";
    std::filesystem::remove(name);
    return name;
  }();
  NodeNames names{path};
  std::map<std::string, SlurmNode> machine{};
  SlurmFacts facts{};
  SlurmJob job{};
};

TEST_F(SubmittedTest, TheCommentSaysWhatSlurmDoesNotAsk) {
  job.admin_comment =
      "ductile:1 type=malleable nodes=3 min=2 max=4 sizes=even model=amdahl:0.1 watts=100-200 "
      "tasks=6 hold=user";
  const Submission s = what();
  EXPECT_EQ(s.unkept, "");
  EXPECT_EQ(s.type, JobType::malleable);
  EXPECT_EQ(s.nodes, 3U);
  EXPECT_EQ(s.min, 2U);
  EXPECT_EQ(s.max, 4U);
  EXPECT_EQ(s.watts, 200);
  EXPECT_EQ(s.least_watts, 100);
  EXPECT_TRUE(s.is_held);
  EXPECT_EQ(s.walltime, whole_seconds(600));
  EXPECT_EQ(to_json(submission_from_json(to_json(s))), to_json(s));
}

TEST_F(SubmittedTest, SizesAreReadAgainAsTheyWereWritten) {
  for (const char* line :
       {"ductile:1 type=malleable nodes=3", "ductile:1 type=moldable nodes=3 min=2",
        "ductile:1 type=evolving nodes=3 min=2 max=4 sizes=even",
        "ductile:1 type=malleable nodes=3 max=4 model=amdahl:0.1"}) {
    EXPECT_EQ(sizes_line(sizes_said(line)), line);
  }
  EXPECT_EQ(sizes_line({}), "");
}

TEST_F(SubmittedTest, WithoutACommentItIsWhatSlurmWasAsked) {
  job.cpus = 40;
  EXPECT_EQ(what().nodes, 3U);  // of 16 cores
  EXPECT_EQ(what().type, JobType::rigid);
  job.least = 2;
  job.most = 4;
  job.cpus = 2;
  EXPECT_EQ(what().type, JobType::moldable);
  EXPECT_EQ(what().min, 2U);
  EXPECT_EQ(what().max, 4U);
}

TEST_F(SubmittedTest, FeaturesAndExcludedNodesSayWhereItMayRun) {
  job.features = "fast&big";
  job.excluded = {"n3"};
  EXPECT_EQ(what().only, "2-3");
  EXPECT_EQ(what().never, "2");
  job.features = "new|other";
  EXPECT_EQ(what().only, "3");
  job.features = "none";
  EXPECT_THAT(what().unkept, HasSubstr("no node"));
  job.features = "[fast*2&new*1]";
  EXPECT_THAT(what().unkept, HasSubstr("--constraint"));
}

TEST_F(SubmittedTest, ItWaitsForWhatSlurmMakesItWaitFor) {
  job.dependency = "afterok:3(unfulfilled)";
  EXPECT_TRUE(what().is_held);
  job.dependency.clear();
  EXPECT_FALSE(what().is_held);
}

TEST_F(SubmittedTest, WhatCannotBeKeptIsNamed) {
  job.licenses = "matlab:2";
  EXPECT_THAT(what().unkept, HasSubstr("licences"));
  job.licenses.clear();
  job.reservation = "maint";
  EXPECT_THAT(what().unkept, HasSubstr("reservation"));
}

TEST_F(SubmittedTest, ACommentThatNobodyCanReadIsNoCrash) {
  for (const char* text :
       {"ductile:1 type=wavy", "ductile:1 nodes", "ductile:1 type=malleable nodes=0",
        "ductile:1 type=malleable nodes=2 sizes=prime", "ductile:1 type=rigid nodes=2 watts=x",
        "ductile:1 type=malleable nodes=99999999999999999999", "ductile:1 ="}) {
    job.admin_comment = text;
    const Submission s = what();
    EXPECT_NE(s.unkept, "") << text;
    EXPECT_NO_THROW(submission_from_json(to_json(s))) << text;
  }
}

TEST_F(SubmittedTest, WhereAJobWasStartedBeforeIsNothingThatItAsksFor) {
  job.admin_comment = "ductile:1 type=moldable nodes=2 min=1 max=4";
  const Fingerprint before = fingerprint_of(job);
  const Submission asked = what();
  job.required = {"n2", "n3"};
  job.least = job.most = 2;
  EXPECT_EQ(fingerprint_of(job), before);
  EXPECT_TRUE(are_alike(what(), asked));
  job.limit = whole_seconds(1200);
  EXPECT_FALSE(fingerprint_of(job) == before);
  EXPECT_FALSE(are_alike(what(), asked));
}

}  // namespace
}  // namespace ductile
