#include "workload/batsim.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const BatsimRules kRules{
    .machine = {.flops_per_s = 1e9, .link_bytes_per_s = 1e9, .backbone_bytes_per_s = 3e9}};

BatsimInput parse(const std::string& text, const BatsimRules& rules = kRules) {
  return parse_batsim(text, "w.json", rules);
}

std::string file(const std::string& jobs, const std::string& profiles) {
  return R"({"nb_res": 8, "jobs": [)" + jobs + R"(], "profiles": {)" + profiles + "}}";
}

// How long a job of so many nodes takes that has the profile "p" among these.
double runtime_s(Nodes nodes, const std::string& profiles, const BatsimRules& rules = kRules) {
  const std::string job =
      fmt::format(R"({{"id": 1, "subtime": 0, "res": {}, "profile": "p"}})", nodes);
  const BatsimInput input = parse(file(job, profiles), rules);
  return input.workload.jobs.empty() ? 0 : to_seconds(input.workload.jobs.front().runtime);
}

TEST(Batsim, ReadsJobsOfDelays) {
  const BatsimInput input = parse(file(
      R"({"id": "w0!7", "subtime": 10.5, "res": 4, "walltime": 30, "profile": "a", "user": 3},
         {"id": 3, "subtime": 0, "res": 1, "profile": "b", "walltime": -1, "group": 2})",
      R"("a": {"type": "delay", "delay": 20.25}, "b": {"type": "DelayProfile", "delay": 0})"));
  EXPECT_EQ(input.nodes, 8u);
  EXPECT_THAT(input.remarks, IsEmpty());
  EXPECT_THAT(
      input.workload.jobs,
      ElementsAre(
          WorkloadJob{.name = 3, .submit = Time{}, .runtime = kTick, .nodes = 1, .group = 2},
          WorkloadJob{.name = 7,
                      .submit = Time{seconds(10.5)},
                      .runtime = seconds(20.25),
                      .walltime = whole_seconds(30),
                      .nodes = 4,
                      .user = 3}));
}

TEST(Batsim, JobsWithoutNumbersAreNumbered) {
  const BatsimInput input = parse(file(R"({"id": "late", "subtime": 5, "res": 1, "profile": "p"},
                    {"id": "soon", "subtime": 0, "res": 1, "profile": "p"})",
                                       R"("p": {"type": "delay", "delay": 1})"));
  EXPECT_EQ(input.workload.jobs.at(0).name, 2u);
  EXPECT_THAT(input.remarks, ElementsAre(HasSubstr("ids that are no numbers")));
}

// The times that Batsim's own examples expect on a machine of 1 Gflops and 1 GB/s, 3 GB/s between
// all, less the latency.
TEST(Batsim, ParallelTasksTakeAsLongAsTheirSlowestPart) {
  const auto homogeneous = [](const char* type, double cpu, double com, const char* more = "") {
    return fmt::format(R"("p": {{"type": "{}", "cpu": {}, "com": {}{}}})", type, cpu, com, more);
  };
  constexpr const char* kName = "ParallelTaskHomogeneousProfile";
  constexpr const char* kSpread = R"(, "generation_strategy": "DefinedAmountsSpreadUniformly")";
  EXPECT_EQ(runtime_s(1, homogeneous(kName, 10e9, 0)), 10);
  EXPECT_EQ(runtime_s(4, homogeneous("parallel_homogeneous", 10e9, 0)), 10);
  EXPECT_EQ(runtime_s(2, homogeneous(kName, 0, 10e9)), 10);
  EXPECT_EQ(runtime_s(2, homogeneous(kName, 0, 20e9, kSpread)), 10);
  EXPECT_EQ(runtime_s(5, homogeneous("ptask_homogeneous", 0, 3e9)), 20);
  EXPECT_EQ(runtime_s(5, homogeneous(kName, 0, 6e10, kSpread)), 20);
  EXPECT_EQ(runtime_s(5, homogeneous(kName, 30e9, 3e9)), 30);
  EXPECT_EQ(runtime_s(4, homogeneous("parallel_homogeneous_total", 40e9, 0)), 10);
  EXPECT_EQ(runtime_s(2, homogeneous("parallel_homogeneous_total", 0, 40e9)), 20);
  EXPECT_EQ(
      runtime_s(2, R"("p": {"type": "parallel", "cpu": [1e9, 7e9], "com": [9e9, 3e9, 0, 0]})"), 7);
  EXPECT_EQ(runtime_s(2, R"("p": {"type": "ptask", "com": [9e9, 3e9, 0, 0]})"), 3);
}

TEST(Batsim, SequencesAreDoneOneAfterTheOther) {
  EXPECT_EQ(runtime_s(2, R"("p": {"type": "composed", "repeat": 3, "seq": ["q", "a"]},
                            "q": {"type": "SequentialCompositionProfile", "seq": ["a", "c"]},
                            "a": {"type": "delay", "delay": 1.5},
                            "c": {"type": "parallel_homogeneous", "cpu": 2e9, "com": 0})"),
            15);
}

TEST(Batsim, WhatIsNotSupportedIsNamedOrLeftOut) {
  const std::string jobs =
      R"({"id": 1, "subtime": 0, "res": 1, "profile": "s"},
         {"id": 2, "subtime": 0, "res": 1, "profile": "d", "extra_data": "x"})";
  const std::string profiles =
      R"("s": {"type": "composed", "seq": ["d", "t"]}, "d": {"type": "delay", "delay": 1},
         "t": {"type": "smpi", "trace": "t.txt"})";
  EXPECT_THAT(
      [&] { parse(file(jobs, profiles)); },
      ThrowsMessage<InputError>(AllOf(HasSubstr("w.json: /jobs/0/profile"),
                                      HasSubstr("type 'smpi'"), HasSubstr("--unsupported skip"))));
  BatsimRules rules;
  rules.skip_unsupported = true;
  const BatsimInput input = parse(file(jobs, profiles), rules);
  EXPECT_EQ(input.workload.jobs.size(), 1u);
  EXPECT_EQ(input.workload.skipped.no_runtime, 1u);
  EXPECT_THAT(input.remarks, ElementsAre("'extra_data' is not read",
                                         "left out: profiles of type 'smpi' are not supported"));
}

TEST(Batsim, ErrorsSayWhere) {
  const auto refuses = [](const std::string& text, const std::string& words) {
    EXPECT_THAT([&] { parse(text, {}); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("w.json: "), HasSubstr(words))));
  };
  const std::string delay = R"("p": {"type": "delay", "delay": 1})";
  const auto job = [](const std::string& more) { return "{\"id\": 1" + more + "}"; };
  const std::string good = R"(, "subtime": 0, "res": 1, "profile": "p")";
  refuses("[]", "/: is no object");
  refuses(R"({"jobs_file": "x"})", "--from elastisim");
  refuses(R"({"jobs": []})", "'profiles' is missing");
  refuses(file(job(""), delay), "/jobs/0: 'subtime' is missing");
  refuses(file(job(R"(, "subtime": -1, "res": 1, "profile": "p")"), delay), "/jobs/0/subtime");
  refuses(file(job(R"(, "subtime": 0, "res": 0, "profile": "p")"), delay), "/jobs/0/res");
  refuses(file(job(R"(, "subtime": 0, "res": 1, "profile": "q")"), delay), "no profile 'q'");
  refuses(file(job(good) + "," + job(good), delay), "/jobs/1/id: '1' is there twice");
  refuses(file(job(good), R"("p": {"type": "composed", "seq": ["p"]})"), "a part of itself");
  refuses(file(job(good), R"("p": {"type": "parallel_homogeneous", "cpu": 1})"), "give --flops");
  refuses(file(job(good), R"("p": {"type": "parallel", "cpu": [1, 2]})"), "has 2 numbers");
  refuses(file(job(good), R"("p": {"type": "composed", "seq": ["q"], "repeat": 1e20},
                             "q": {"type": "delay", "delay": 1})"),
          "takes more than");
  refuses(file(job(good), R"("p": {"type": "ptask_homogeneous", "cpu": 1,
                                   "generation_strategy": "Somehow"})"),
          "there is no 'Somehow'");
}

RC_GTEST_PROP(Batsim, WhatIsWrittenIsReadAgain, ()) {
  Workload workload;
  const auto count = *rc::gen::inRange<std::size_t>(0, 20);
  Time submit{};
  for (std::size_t i = 0; i < count; ++i) {
    submit += Duration{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)};
    workload.jobs.push_back({.name = i + 1,
                             .submit = submit,
                             .runtime = Duration{*rc::gen::inRange<std::int64_t>(1, 100'000'000)},
                             .walltime = Duration{*rc::gen::inRange<std::int64_t>(0, 100'000'000)},
                             .nodes = *rc::gen::inRange<Nodes>(1, 100),
                             .user = *rc::gen::inRange<std::uint32_t>(0, 5),
                             .group = *rc::gen::inRange<std::uint32_t>(0, 5)});
  }
  for (const BatsimVersion version : {BatsimVersion::v4, BatsimVersion::v5}) {
    std::ostringstream out;
    write_batsim(out, workload, 100, version);
    const BatsimInput again = parse(out.str(), {});
    RC_ASSERT(again.workload.jobs == workload.jobs);
    RC_ASSERT(again.nodes == 100u);
    RC_ASSERT(again.remarks.empty());
  }
}

}  // namespace
}  // namespace ductile
