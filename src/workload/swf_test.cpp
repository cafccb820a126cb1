#include "workload/swf.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"
#include "support/packing.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A line with the fields that matter.
struct Line {
  std::string job = "1", submit = "0", run = "10", allocated = "4", requested = "4",
              walltime = "20", user = "3", group = "2", partition = "1", status = "1";

  std::string text() const {
    return job + " " + submit + " -1 " + run + " " + allocated + " -1 -1 " + requested + " " +
           walltime + " -1 " + status + " " + user + " " + group + " -1 -1 " + partition +
           " -1 -1\n";
  }
};

Workload parse(const std::string& text, const SwfRules& rules = {}) {
  return parse_swf(text, "log.swf", rules);
}
WorkloadJob parse_job(const Line& line, const SwfRules& rules = {}) {
  const Workload workload = parse(line.text(), rules);
  EXPECT_EQ(workload.jobs.size(), 1u);
  return workload.jobs.empty() ? WorkloadJob{} : workload.jobs.front();
}

TEST(Swf, ReadsALine) {
  EXPECT_EQ(parse_job({}), (WorkloadJob{.name = 1,
                                        .submit = Time{},
                                        .runtime = whole_seconds(10),
                                        .walltime = whole_seconds(20),
                                        .nodes = 4,
                                        .user = 3,
                                        .group = 2}));
}

TEST(Swf, SelectsJobs) {
  const std::string text = "; UnixStartTime: 1000\n" + Line{}.text() +
                           Line{.job = "2", .submit = "50", .run = "60", .user = "4"}.text() +
                           Line{.job = "3", .submit = "100", .requested = "8", .group = "9"}.text();
  const auto names = [&](const SwfRules& rules) {
    const Workload workload = parse(text, rules);
    EXPECT_EQ(workload.skipped.filtered + workload.jobs.size(), 3u);
    std::vector<std::uint64_t> result;
    for (const WorkloadJob& job : workload.jobs) result.push_back(job.name);
    return result;
  };
  EXPECT_THAT(names({.users = {4, 17}}), ElementsAre(2));
  EXPECT_THAT(names({.groups = {9}}), ElementsAre(3));
  EXPECT_THAT(names({.min_size = 5}), ElementsAre(3));
  EXPECT_THAT(names({.shortest = whole_seconds(60)}), ElementsAre(2));
  EXPECT_THAT(names({.longest = whole_seconds(10)}), ElementsAre(1, 3));
  EXPECT_THAT(names({.from = LogTime{50}}), ElementsAre(2, 3));
  EXPECT_THAT(names({.from = LogTime{1, false}, .until = LogTime{100}}), ElementsAre(2));
  EXPECT_THAT(names({.from = LogTime{1050, true}, .until = LogTime{1100, true}}), ElementsAre(2));
  const Workload last = parse(text, {.last_jobs = 2});
  EXPECT_EQ(last.jobs.size(), 2u);
  EXPECT_EQ(last.jobs.front().name, 2u);
}

TEST(Swf, WhoComesBeforeTheLastJobsCountsNoMore) {
  const auto line = [](int job, int submit, int preceding, int think) {
    return fmt::format("{} {} 0 10 1 -1 -1 1 10 -1 1 1 -1 -1 -1 -1 {} {}\n", job, submit, preceding,
                       think);
  };
  const std::string text =
      line(4, 40, 3, 5) + line(1, 10, -1, -1) + line(3, 30, 2, -1) + line(2, 20, 1, 2);
  const Workload all = parse(text, {.follows_preceding = true});
  EXPECT_EQ(all.names_preceding, 3u);
  ASSERT_EQ(all.precedences.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all.precedences[i].job, i + 1);
    EXPECT_EQ(all.precedences[i].on, i);
  }
  EXPECT_EQ(all.precedences[2].think, whole_seconds(5));
  const Workload last = parse(text, {.last_jobs = 2, .follows_preceding = true});
  EXPECT_EQ(last.jobs.front().name, 3u);
  ASSERT_EQ(last.precedences.size(), 1u);
  EXPECT_EQ(last.precedences[0].job, 1u);
  EXPECT_EQ(last.precedences[0].on, 0u);
  EXPECT_EQ(last.precedences_lost, 1u);
  EXPECT_EQ(last.names_preceding, 2u);
  EXPECT_EQ(parse(text, {.last_jobs = 2}).names_preceding, 2u);
}

TEST(Swf, ADateNeedsTheDateOfTheBeginning) {
  EXPECT_THAT(
      [] {
        parse(Line{}.text(), {.until = LogTime{1000, true}});
      },
      ThrowsMessage<InputError>(HasSubstr("UnixStartTime")));
}

TEST(Swf, NeedsNoOrder) {
  const std::string text =
      Line{.job = "1", .submit = "30"}.text() + Line{.job = "2", .submit = "10"}.text() +
      Line{.job = "3", .submit = "30"}.text() + Line{.job = "4", .submit = "10"}.text();
  std::vector<std::uint64_t> names;
  for (const WorkloadJob& job : parse(text).jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre(2, 4, 1, 3));
}

TEST(Swf, BlanksCommentsAndLineEndsMayBeAnyhow) {
  const std::string tidy = Line{}.text();
  std::string untidy = "; comment\r\n\r\n \t \n  ;another\n\t" + tidy;
  untidy.pop_back();  // no end of the last line
  for (char& c : untidy) {
    if (c == ' ') c = '\t';
  }
  EXPECT_EQ(parse(untidy).jobs, parse(tidy).jobs);
  EXPECT_EQ(parse(tidy.substr(0, tidy.size() - 1) + " \r\n").jobs, parse(tidy).jobs);
  EXPECT_TRUE(parse("").jobs.empty());
  EXPECT_TRUE(parse("; nothing\n\n").jobs.empty());
}

TEST(Swf, SizeIsRequestedElseAllocatedOrTheOtherWayRound) {
  const SwfRules requested{};
  const SwfRules allocated{.size = SwfRules::Size::allocated};
  EXPECT_EQ(parse_job({.allocated = "6", .requested = "4"}, requested).nodes, 4u);
  EXPECT_EQ(parse_job({.allocated = "6", .requested = "-1"}, requested).nodes, 6u);
  EXPECT_EQ(parse_job({.allocated = "6", .requested = "0"}, requested).nodes, 6u);
  EXPECT_EQ(parse_job({.allocated = "6", .requested = "4"}, allocated).nodes, 6u);
  EXPECT_EQ(parse_job({.allocated = "-1", .requested = "4"}, allocated).nodes, 4u);
  EXPECT_EQ(parse_job({.allocated = "0", .requested = "4"}, allocated).nodes, 4u);
}

TEST(Swf, NodesAreProcessorsRoundedUp) {
  const SwfRules rules{.cores_per_node = 16};
  EXPECT_EQ(parse_job({.requested = "1"}, rules).nodes, 1u);
  EXPECT_EQ(parse_job({.requested = "16"}, rules).nodes, 1u);
  EXPECT_EQ(parse_job({.requested = "17"}, rules).nodes, 2u);
  EXPECT_EQ(parse_job({.requested = "2147483648"}).nodes, 1u << 31);
  EXPECT_THAT([] { parse("", {.cores_per_node = 0}); },
              ThrowsMessage<InputError>(HasSubstr("0 cores")));
}

TEST(Swf, WalltimeIsAtLeastTheRunTimeIfItIsExtended) {
  const Workload extended = parse(Line{.run = "30", .walltime = "20"}.text());
  EXPECT_EQ(extended.jobs.front().walltime, whole_seconds(30));
  EXPECT_EQ(extended.walltime_raised, 1u);
  const Workload kept =
      parse(Line{.run = "30", .walltime = "20"}.text(), {.extend_walltime = false});
  EXPECT_EQ(kept.jobs.front().walltime, whole_seconds(20));
  EXPECT_EQ(kept.walltime_raised, 0u);
}

TEST(Swf, UnknownWalltimeIsTheRunTime) {
  for (const char* unknown : {"-1", "0"}) {
    const Workload workload = parse(Line{.walltime = unknown}.text());
    EXPECT_EQ(workload.jobs.front().walltime, whole_seconds(10));
    EXPECT_EQ(workload.walltime_raised, 0u);
    EXPECT_EQ(workload.walltime_unknown, 1u);
    const Workload kept = parse(Line{.walltime = unknown}.text(), {.runtime_as_walltime = false});
    EXPECT_EQ(kept.jobs.front().walltime, Duration{});
    EXPECT_EQ(kept.walltime_unknown, 1u);
  }
}

TEST(Swf, MinimumRuntimeRaisesShortRunsButNotUnknownOnes) {
  const SwfRules rules{.min_runtime = whole_seconds(5)};
  EXPECT_EQ(parse_job({.run = "0"}, rules).runtime, whole_seconds(5));
  EXPECT_EQ(parse_job({.run = "4"}, rules).runtime, whole_seconds(5));
  EXPECT_EQ(parse_job({.run = "6"}, rules).runtime, whole_seconds(6));
  EXPECT_EQ(parse(Line{.run = "-1"}.text(), rules).skipped.no_runtime, 1u);
}

TEST(Swf, SkippedLinesAreCountedByCause) {
  const SwfRules rules{.nodes = 8, .drop_never_started = true, .partition = 1};
  const std::string text = Line{.allocated = "-1", .requested = "0"}.text() +  // no size
                           Line{.run = "0"}.text() +                           // no run time
                           Line{.run = "-1"}.text() +                          // no run time
                           Line{.run = "0", .allocated = "-1"}.text() +        // never started
                           Line{.run = "-1", .allocated = "0"}.text() +        // never started
                           Line{.requested = "9"}.text() +                     // too large
                           Line{.partition = "2"}.text() +                     // filtered
                           Line{}.text();
  const Workload workload = parse(text, rules);
  EXPECT_EQ(workload.jobs.size(), 1u);
  EXPECT_EQ(workload.skipped.no_size, 1u);
  EXPECT_EQ(workload.skipped.no_runtime, 2u);
  EXPECT_EQ(workload.skipped.never_started, 2u);
  EXPECT_EQ(workload.skipped.too_large, 1u);
  EXPECT_EQ(workload.skipped.filtered, 1u);
  EXPECT_EQ(workload.skipped.total(), 6u);
}

TEST(Swf, TooLargeCanBeClipped) {
  const Workload workload = parse(Line{.requested = "9"}.text(), {.nodes = 8, .clip = true});
  EXPECT_EQ(workload.jobs.front().nodes, 8u);
  EXPECT_EQ(workload.clipped, 1u);
  EXPECT_EQ(workload.skipped.total(), 0u);
}

TEST(Swf, JobsOfAStatus) {
  using Status = SwfRules::Status;
  std::string text;
  for (const char* status : {"0", "1", "2", "3", "4", "5", "-1", "6"}) {
    text += Line{.job = std::to_string(text.size()), .status = status}.text();
  }
  const auto kept = [&](std::vector<Status> status) {
    const Workload workload = parse(text, {.status = std::move(status)});
    EXPECT_EQ(workload.jobs.size() + workload.skipped.other_status, 8u);
    EXPECT_EQ(workload.skipped.total(), workload.skipped.other_status);
    return workload.jobs.size();
  };
  EXPECT_EQ(kept({}), 8u);
  EXPECT_EQ(kept({Status::completed}), 1u);
  EXPECT_EQ(kept({Status::failed}), 1u);
  EXPECT_EQ(kept({Status::cancelled}), 1u);
  EXPECT_EQ(kept({Status::partial}), 3u);
  EXPECT_EQ(kept({Status::unknown}), 2u);
  EXPECT_EQ(kept({Status::unknown, Status::completed}), 3u);
  EXPECT_EQ(parse_job({.status = "1.5"}).nodes, 4u);  // not looked at
  EXPECT_THAT([] { parse(Line{.status = "1.5"}.text(), {.status = {Status::completed}}); },
              ThrowsMessage<InputError>(HasSubstr("status (field 11): is not a whole number")));
}

TEST(Swf, JobsUpToASize) {
  const std::string text = Line{.requested = "8"}.text() + Line{.requested = "9"}.text() +
                           Line{.requested = "33"}.text();
  const Workload nodes = parse(text, {.cores_per_node = 4, .max_size = 2});
  EXPECT_EQ(nodes.jobs.size(), 1u);
  EXPECT_EQ(nodes.skipped.above_max_size, 2u);
  EXPECT_EQ(nodes.skipped.total(), 2u);
  // Before it is asked whether the machine is large enough.
  const Workload clipped = parse(text, {.nodes = 8, .clip = true, .max_size = 9});
  EXPECT_EQ(clipped.jobs.size(), 2u);
  EXPECT_EQ(clipped.clipped, 1u);
  EXPECT_EQ(clipped.skipped.above_max_size, 1u);
  EXPECT_EQ(parse(text, {.max_size = 9, .max_jobs = 2}).skipped.total(), 0u);
}

TEST(Swf, FirstJobsCanBeLeftOut) {
  std::string text = Line{.run = "0"}.text();  // no run time
  for (int i = 1; i <= 5; ++i) {
    text += Line{.job = std::to_string(i)}.text() + Line{.run = "0"}.text();
  }
  const Workload workload = parse(text, {.leave_out = 2, .max_jobs = 2});
  ASSERT_EQ(workload.jobs.size(), 2u);
  EXPECT_EQ(workload.jobs[0].name, 3u);
  EXPECT_EQ(workload.jobs[1].name, 4u);
  EXPECT_EQ(workload.skipped.no_runtime, 2u);  // behind the second job and behind the third
  EXPECT_EQ(parse(text, {.leave_out = 5}).jobs.size(), 0u);
  EXPECT_EQ(parse(text, {.leave_out = 9}).jobs.size(), 0u);
  EXPECT_EQ(parse(text, {}).jobs.size(), 5u);
}

TEST(Swf, StopsAfterTheJobsAskedFor) {
  const std::string text = Line{.run = "-1"}.text() + Line{.job = "2"}.text() +
                           Line{.job = "3"}.text() + "what follows is not looked at";
  const Workload workload = parse(text, {.max_jobs = 2});
  EXPECT_EQ(workload.jobs.size(), 2u);
  EXPECT_EQ(workload.skipped.no_runtime, 1u);
}

TEST(Swf, UnknownUsersAndGroupsAreZero) {
  const WorkloadJob job = parse_job({.user = "-1", .group = "-1"});
  EXPECT_EQ(job.user, 0u);
  EXPECT_EQ(job.group, 0u);
  EXPECT_EQ(parse_job({.user = "4294967295"}).user, 4294967295u);
}

TEST(Swf, TimesAreRoundedToMicroseconds) {
  const auto runtime = [](const char* text) { return parse_job({.run = text}).runtime.count(); };
  EXPECT_EQ(runtime("12.5"), 12'500'000);
  EXPECT_EQ(runtime("12."), 12'000'000);
  EXPECT_EQ(runtime(".25"), 250'000);
  EXPECT_EQ(runtime("1.0000004"), 1'000'000);
  EXPECT_EQ(runtime("1.0000005"), 1'000'001);
  EXPECT_EQ(runtime("1.9999999"), 2'000'000);
  EXPECT_EQ(runtime("0.0000001e7"), 1'000'000);
  EXPECT_EQ(runtime("1.9999999e0"), 2'000'000);
  EXPECT_EQ(runtime("1e3"), 1'000'000'000);
  EXPECT_EQ(runtime("00000000000000000000012"), 12'000'000);
  // More digits than a double has.
  EXPECT_EQ(runtime("123456789012.123456"), 123'456'789'012'123'456);
  EXPECT_EQ(parse_job({.submit = "-0.0000001"}).submit, Time{});
}

TEST(Swf, WholeNumbersMayBeWrittenAsDecimals) {
  EXPECT_EQ(parse_job({.job = "7.0", .requested = "4e0"}).name, 7u);
}

// Four nodes of 4 cores and 8 GB, two of 8 cores and 32 GB; `b` is known as 5.
std::shared_ptr<const PlatformFile> platform() {
  return std::make_shared<const PlatformFile>(parse_platform_file(R"(
    class = [{ name = "std", count = 4, cores = 4, memory = "8G" },
             { name = "big", count = 2, cores = 8, memory = "32G" }]
    partition = [{ name = "a" }, { name = "b", number = 5, classes = ["big"], max_time = "10" }]
    )",
                                                                  "platform"));
}
std::string line(const char* processors, const char* memory, const char* queue,
                 const char* partition, const char* time = "20") {
  return std::string("1 0 -1 10 -1 -1 -1 ") + processors + " " + time + " " + memory +
         " 1 1 1 -1 " + queue + " " + partition + " -1 -1\n";
}

TEST(Swf, APlatformHasPartitionsByNumber) {
  using From = SwfRules::PartitionsFrom;
  SwfRules rules{.platform = platform(), .partitions_from = From::partition};
  const Workload two = parse(line("16", "-1", "9", "5") + line("16", "-1", "9", "1") +
                                 line("16", "-1", "9", "-1") + line("8", "-1", "9", "5"),
                             rules);
  ASSERT_EQ(two.jobs.size(), 4u);
  EXPECT_EQ(two.where, (std::vector<Where>{{.partitions = 2}}));
  EXPECT_EQ(two.jobs[0].where, 1u);
  EXPECT_EQ(two.jobs[0].nodes, 2u);  // of 8 cores
  EXPECT_EQ(two.jobs[1].where, 0u);
  EXPECT_EQ(two.jobs[1].nodes, 4u);  // of 4 and more
  EXPECT_EQ(two.jobs[2].where, 0u);
  EXPECT_EQ(two.jobs[3].where, 1u);
  EXPECT_THAT([&] { parse(line("4", "-1", "9", "2"), rules); },
              ThrowsMessage<InputError>("log.swf:1: partition (field 16): no partition has the "
                                        "number 2; give it one in the platform file: number = 2"));
  rules.partitions_from = From::queue;
  EXPECT_EQ(parse(line("8", "-1", "5", "9"), rules).jobs.front().where, 1u);
  rules.partitions_from = From::none;
  EXPECT_EQ(parse(line("8", "-1", "9", "9"), rules).jobs.front().where, 0u);
}

TEST(Swf, JobsAskForTheMemoryOfNodes) {
  SwfRules rules{.platform = platform(), .uses_memory = true};
  const auto gigabytes = [](int number) { return std::to_string(number * (1 << 20)); };
  const auto read = [&](const char* processors, const std::string& memory) {
    return parse(line(processors, memory.c_str(), "-1", "-1"), rules);
  };
  EXPECT_TRUE(read("4", "-1").where.empty());
  EXPECT_TRUE(read("4", gigabytes(2)).where.empty());  // 8 GB of a node, which all have
  // As much as the next class has: all who need more than 8 GB wait together.
  const Where big{.each = {.memory_mb = 32 << 10}};
  EXPECT_EQ(read("4", gigabytes(3)).where, std::vector{big});
  EXPECT_EQ(read("4", gigabytes(8)).where, std::vector{big});
  EXPECT_EQ(read("1", gigabytes(9)).where, std::vector{big});
  EXPECT_EQ(read("4", gigabytes(9)).skipped.nowhere, 1u);
  EXPECT_EQ(read("12", gigabytes(3)).skipped.too_large, 1u);
  rules.uses_memory = false;
  EXPECT_EQ(read("4", gigabytes(9)).jobs.size(), 1u);
}

TEST(Swf, WhatIsSaidBesideTheLogHoldsInstead) {
  AskedByJobs beside{.asked = {{.partitions = "b"}, {.memory_mb = 9000}, {.partitions = "a,b"}},
                     .of = {{1, 0}}};
  const auto read = [&](std::size_t which, const std::string& text) {
    beside.of.at(1) = which;
    return parse(text, {.platform = platform(),
                        .partitions_from = SwfRules::PartitionsFrom::partition,
                        .uses_memory = true,
                        .asked = std::make_shared<AskedByJobs>(beside)});
  };
  // Of partition b. How many nodes it has is counted where the log has it, as sizes beside it are.
  const Workload b = read(0, line("8", "-1", "-1", "1"));
  EXPECT_EQ(b.where, (std::vector<Where>{{.partitions = 2}}));
  EXPECT_EQ(b.jobs.at(0).nodes, 2u);
  EXPECT_EQ(read(0, line("8", "-1", "-1", "1", "601")).skipped.not_allowed, 1u);
  EXPECT_EQ(read(0, line("12", "-1", "-1", "1")).skipped.too_large, 1u);
  // Its memory, and the partition of the log.
  const Where big{.each = {.memory_mb = 32 << 10}};
  EXPECT_EQ(read(1, line("4", "1024", "-1", "1")).where, std::vector{big});
  EXPECT_EQ(read(1, line("8", "1024", "-1", "5")).where, (std::vector<Where>{{.partitions = 2}}));
  // Of several, those that allow its time.
  EXPECT_EQ(read(2, line("4", "-1", "-1", "5", "600")).where,
            (std::vector<Where>{{.partitions = 3}}));
  EXPECT_TRUE(read(2, line("4", "-1", "-1", "5", "601")).where.empty());
}

TEST(Swf, APartitionHasALimit) {
  const SwfRules rules{.platform = platform(),
                       .partitions_from = SwfRules::PartitionsFrom::partition};
  EXPECT_EQ(parse(line("4", "-1", "-1", "5", "600"), rules).jobs.size(), 1u);
  const Workload none = parse(line("4", "-1", "-1", "5", "601"), rules);
  EXPECT_EQ(none.jobs.size(), 0u);
  EXPECT_EQ(none.skipped.not_allowed, 1u);
  EXPECT_EQ(none.skipped.total(), 1u);
  EXPECT_EQ(parse(line("4", "-1", "-1", "1", "601"), rules).jobs.size(), 1u);
}

/// A job of one node with wait time, preceding job and think time.
std::string ordered(int job, int submit_s, int wait_s, int user, const std::string& preceding) {
  return std::to_string(job) + " " + std::to_string(submit_s) + " " + std::to_string(wait_s) +
         " 10 1 -1 -1 1 10 -1 1 " + std::to_string(user) + " -1 -1 -1 -1 " + preceding + "\n";
}

TEST(Swf, JobsFollowTheirPrecedingOnes) {
  const std::string text = ordered(7, 30, -1, 1, "5 2.5") + ordered(5, 10, -1, 1, "-1 -1") +
                           ordered(6, 20, -1, 1, "7 -1") + ordered(8, 40, -1, 1, "99 3") +
                           ordered(9, 50, -1, 1, "0 0");
  const Workload counted = parse(text);
  EXPECT_TRUE(counted.precedences.empty());
  EXPECT_EQ(counted.names_preceding, 3u);
  const SwfRules rules{.follows_preceding = true};
  const Workload workload = parse(text, rules);
  // By submission: 5, 6, 7, 8, 9.
  EXPECT_EQ(workload.precedences,
            (std::vector<Precedence>{
                {.job = 1, .on = 2, .line = 3},
                {.job = 2, .on = 0, .sets_submit = true, .think = seconds(2.5), .line = 1}}));
  EXPECT_EQ(workload.precedences_lost, 1u);
  std::ostringstream out;
  write_swf(out, workload, {});
  EXPECT_NE(out.str().find("7 -1\n"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("5 2.5\n"), std::string::npos) << out.str();
  const Workload again = parse_swf(out.str(), "again", rules);
  EXPECT_EQ(again.jobs, workload.jobs);
  ASSERT_EQ(again.precedences.size(), 2u);
  EXPECT_EQ(again.precedences[1].think, seconds(2.5));
  // Those that are left out are nobody's.
  const Workload rest = parse(text, {.leave_out = 2, .follows_preceding = true});
  EXPECT_TRUE(rest.precedences.empty());
  EXPECT_EQ(rest.names_preceding, 2u);
  EXPECT_EQ(rest.precedences_lost, 2u);
}

TEST(Swf, APrecedingJobIsTheOneOfItsNumber) {
  const std::string text =
      ordered(1, 0, -1, 1, "-1 -1") + ordered(1, 5, -1, 1, "-1 -1") + ordered(2, 9, -1, 1, "1 0");
  const SwfRules rules{.follows_preceding = true};
  EXPECT_EQ(testing::complaint([&] { parse(text, rules); }),
            "log.swf:3: preceding job (field 17): the log has 1 more than once; number the jobs of "
            "the log");
  EXPECT_EQ(testing::complaint([&] { parse(ordered(2, 9, -1, 1, "1.5 0"), rules); }),
            "log.swf:1: preceding job (field 17): is not a whole number; correct it");
  EXPECT_EQ(parse(ordered(2, 9, -1, 1, "1.5 0")).jobs.size(), 1u);
}

TEST(Swf, SessionsFollowFromWaitTimes) {
  const SwfRules rules{.longest_think = whole_seconds(1200)};
  // The first one runs from 5 to 15.
  const std::string first = ordered(1, 0, 5, 1, "-1 -1");
  const Workload workload = parse(first + ordered(2, 40, 0, 1, "-1 -1"), rules);
  EXPECT_EQ(workload.precedences, (std::vector<Precedence>{{.job = 1,
                                                            .on = 0,
                                                            .from = Precedence::From::session,
                                                            .sets_submit = true,
                                                            .think = whole_seconds(25)}}));
  EXPECT_EQ(testing::complaint([&] { parse(first + ordered(2, 40, -1, 1, "-1 -1"), rules); }),
            "log.swf:2: wait time (field 3): is not known, and sessions of users follow from it; "
            "leave --feedback away, or such jobs out (--status)");
  EXPECT_EQ(parse(first + ordered(2, 40, -1, -1, "-1 -1"), rules).jobs.size(), 2u);
}

TEST(Swf, FieldsThatAreNotUsedMayBeAnyNumber) {
  EXPECT_EQ(parse("1 0 -1 10 4 -1.5e300 18446744073709551616 4 20 -99999999999999999999 1 "
                  "1 1 1 1 1 1 1e18\n")
                .jobs.size(),
            1u);
}

struct Bad {
  Line line;
  std::string message;
};

TEST(Swf, ErrorsNameLineFieldAndRemedy) {
  const std::string correct = "correct it, or write -1 if it is not known";
  const std::vector<Bad> all = {
      {{.job = "x1"},
       "job number (field 1): \"x1\" is not a number; " + correct + "; comments begin with ';'"},
      {{.job = "-1"}, "job number (field 1): is negative; number the jobs from 1"},
      {{.job = "1.5"}, "job number (field 1): is not a whole number; correct it"},
      {{.job = "1000000000000000000"},
       "job number (field 1): is larger than 999999999999999999; " + correct},
      {{.submit = "-1"},
       "submit time (field 2): is negative; count the seconds from the first submission"},
      {{.submit = "1000000000001"}, "submit time (field 2): is beyond 10^12 s; " + correct},
      {{.run = "-1e13"}, "run time (field 4): is beyond 10^12 s; " + correct},
      {{.run = "nan"}, "run time (field 4): \"nan\" is not a number; "},
      {{.run = "inf"}, "run time (field 4): \"inf\" is not a number; "},
      {{.run = "1e999"}, "run time (field 4): \"1e999\" is not a number; "},
      {{.run = "-"}, "run time (field 4): \"-\" is not a number; "},
      {{.run = "."}, "run time (field 4): \".\" is not a number; "},
      {{.run = "+1"}, "run time (field 4): \"+1\" is not a number; "},
      {{.run = "1.2.3"}, "run time (field 4): \"1.2.3\" is not a number; "},
      {{.run = "0x10"}, "run time (field 4): \"0x10\" is not a number; "},
      {{.run = std::string("1\0", 2)}, "run time (field 4): \"1?\" is not a number; "},
      {{.run = std::string(50, '9') + "x"},
       "run time (field 4): \"" + std::string(40, '9') + "...\" is not a number; "},
      {{.requested = "2147483649"},
       "requested processors (field 8): is larger than 2147483648; " + correct},
      {{.allocated = "1e300"},
       "allocated processors (field 5): is larger than 2147483648; " + correct},
      {{.walltime = "9e12"}, "requested time (field 9): is beyond 10^12 s; " + correct},
      {{.user = "4294967296"}, "user (field 12): is larger than 4294967295; " + correct},
  };
  for (const Bad& bad : all) {
    EXPECT_THAT([&] { parse("; comment\n" + Line{}.text() + bad.line.text()); },
                ThrowsMessage<InputError>(HasSubstr("log.swf:3: " + bad.message)));
  }
}

TEST(Swf, ALineHas18Fields) {
  const std::string line = Line{}.text();
  EXPECT_THAT([&] { parse(line + "2 0 -1 10\n"); },
              ThrowsMessage<InputError>(
                  "log.swf:2: allocated processors (field 5): the line ends before it; a line has "
                  "18 fields, -1 for what is not known; is the file complete?"));
  EXPECT_THAT([&] { parse(line.substr(0, line.size() - 3)); },
              ThrowsMessage<InputError>(HasSubstr("log.swf:1: think time (field 18)")));
  EXPECT_THAT([&] { parse("-1 " + line); },
              ThrowsMessage<InputError>("log.swf:1: the line has more than 18 fields; keep the 18 "
                                        "of the Standard Workload Format"));
}

TEST(Swf, LinesHaveALimit) {
  const std::string line = Line{}.text();
  const std::string most = ";" + std::string((64 << 10) - 1, 'x') + "\n";
  EXPECT_EQ(parse(most + line).jobs.size(), 1u);
  for (const std::string& end :
       {std::string("\n"), std::string(1 << 20, 'x') + "\n", std::string()}) {
    EXPECT_THAT([&] { parse(line + ";" + std::string(64 << 10, 'x') + end); },
                ThrowsMessage<InputError>(HasSubstr("log.swf:2: the line is longer than 64 KiB")));
  }
}

TEST(Swf, LongFilesAreReadInParts) {
  std::string text;
  for (int i = 1; i <= 20'000; ++i) text += Line{.job = std::to_string(i)}.text();
  const Workload workload = parse(text);
  ASSERT_EQ(workload.jobs.size(), 20'000u);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    ASSERT_EQ(workload.jobs[i].name, i + 1);
  }
  EXPECT_EQ(parse(testing::gzip(text)).jobs, workload.jobs);
  EXPECT_EQ(parse(testing::xz(text)).jobs, workload.jobs);
  EXPECT_EQ(parse(testing::zstd(text)).jobs, workload.jobs);
}

TEST(Swf, HalfAFileIsNoWorkload) {
  std::string text;
  for (int i = 1; i <= 20'000; ++i) text += Line{.job = std::to_string(i)}.text();
  const std::string packed = testing::gzip(text);
  EXPECT_THAT([&] { parse(packed.substr(0, packed.size() / 2)); },
              ThrowsMessage<InputError>(HasSubstr("ends too early")));
}

TEST(Swf, HeaderIsRead) {
  SwfHeader header;
  parse_swf(
      "; Version: 2.2\n"
      ";Computer:  IBM SP2 \r\n"
      ";\tInstallation: here: there\n"
      "; MaxJobs: 28490\n"
      "; MaxRecords: 28489\n"
      "; MaxNodes: 100 (of two kinds)\n"
      "; MaxNodes: 200\n"
      "; MaxProcs: 1,600\n"
      "; MaxQueues: many\n"
      "; MaxPartitions: 3\n"
      "; UnixStartTime: 843480031\n"
      "; TimeZoneString: Europe/Stockholm\n"
      "; StartTime: Mon Sep 23 14:00:31 CEST 1996\n"
      "; EndTime:   Fri Aug 29 10:55:01 CEST 1997\n"
      "; Note: one\n"
      ";       no key\n"
      ";\n"
      "; Note: two\n" +
          Line{}.text() + "; Note: too late\n",
      "log.swf", {}, &header);
  EXPECT_EQ(header.version, "2.2");
  EXPECT_EQ(header.computer, "IBM SP2");
  EXPECT_EQ(header.installation, "here: there");
  EXPECT_EQ(header.max_jobs, 28490);
  EXPECT_EQ(header.max_records, 28489);
  EXPECT_EQ(header.max_nodes, 100);
  EXPECT_EQ(header.max_procs, std::nullopt);
  EXPECT_EQ(header.max_queues, std::nullopt);
  EXPECT_EQ(header.max_partitions, 3);
  EXPECT_EQ(header.unix_start_time, 843480031);
  EXPECT_EQ(header.time_zone, "Europe/Stockholm");
  EXPECT_EQ(header.start_time, "Mon Sep 23 14:00:31 CEST 1996");
  EXPECT_EQ(header.end_time, "Fri Aug 29 10:55:01 CEST 1997");
  EXPECT_EQ(header.notes, "one\ntwo\n");
}

TEST(Swf, NotesAreBounded) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "; Note: " + std::string(60'000, 'x') + "\n";
  SwfHeader header;
  parse_swf(text, "log.swf", {}, &header);
  EXPECT_EQ(header.notes.size(), 60'001u);
}

TEST(Swf, HeaderTellsTheNodesOfTheMachine) {
  SwfHeader header;
  EXPECT_EQ(header.nodes(1), std::nullopt);
  header.max_nodes = 1024;
  EXPECT_EQ(header.nodes(8), 1024u);
  header.max_procs = 8192;
  EXPECT_EQ(header.nodes(1), 8192u);
  EXPECT_EQ(header.nodes(8), 1024u);
  EXPECT_EQ(header.nodes(10'000), 1024u);
  header.max_procs = std::int64_t{1} << 40;
  EXPECT_EQ(header.nodes(1), 1024u);
  header.max_nodes = -1;
  EXPECT_EQ(header.nodes(1), std::nullopt);
}

class SwfFile : public ::testing::Test {
 protected:
  SwfFile() {
    std::string text = "\n; MaxProcs: 100\n";
    for (int i = 1; i <= 20'000; ++i) text += Line{.job = std::to_string(i)}.text();
    std::ofstream(path_, std::ios::binary) << testing::gzip(text);
  }
  ~SwfFile() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "swf_test.swf.gz";
};

TEST_F(SwfFile, IsReadAndNamed) {
  SwfHeader header;
  std::uint64_t done = 0, total = 0;
  const Workload workload = read_swf(path_, {}, &header, [&](std::uint64_t now, std::uint64_t all) {
    EXPECT_LE(done, now);
    done = now;
    total = all;
  });
  EXPECT_EQ(workload.name, "swf_test");
  EXPECT_EQ(workload.jobs.size(), 20'000u);
  EXPECT_EQ(header.max_procs, 100);
  EXPECT_EQ(done, std::filesystem::file_size(path_));
  EXPECT_EQ(total, std::filesystem::file_size(path_));
}

TEST_F(SwfFile, HeaderCanBeReadAlone) {
  EXPECT_EQ(read_swf_header(path_).max_procs, 100);
  EXPECT_EQ(read_swf_header(path_).nodes(1), 100u);
}

TEST(Swf, MissingFileIsAnError) {
  EXPECT_THAT([] { read_swf("no/such.swf", {}); },
              ThrowsMessage<InputError>(HasSubstr("no/such.swf: cannot be read")));
}

TEST(Swf, HeaderIsWrittenAsItIsRead) {
  SwfHeader header;
  header.version = "2.2";
  header.computer = "generated";
  header.max_nodes = 500;
  header.unix_start_time = 0;
  header.notes = "one\ntwo\n";
  std::ostringstream out;
  write_swf(out, {}, header);
  EXPECT_EQ(out.str(),
            "; Version: 2.2\n; Computer: generated\n; MaxNodes: 500\n; UnixStartTime: 0\n"
            "; Note: one\n; Note: two\n");
  SwfHeader again;
  parse_swf(out.str(), "log.swf", {}, &again);
  EXPECT_EQ(again.notes, header.notes);
}

TEST(Swf, JobsAreWrittenWithDecimalsOnlyWhereNeeded) {
  Workload workload;
  workload.jobs.push_back({.name = 7,
                           .submit = Time{Duration{1'500'000}},
                           .runtime = whole_seconds(10),
                           .walltime = Duration{20'000'001},
                           .nodes = 3,
                           .user = 5});
  std::ostringstream out;
  write_swf(out, workload, {}, 16);
  EXPECT_EQ(out.str(), "7 1.5 -1 10 48 -1 -1 48 20.000001 -1 1 5 -1 -1 -1 -1 -1 -1\n");
}

RC_GTEST_PROP(Swf, WhatIsWrittenIsReadBack, ()) {
  const auto time = [](std::int64_t least) {
    return Duration{*rc::gen::inRange<std::int64_t>(least, std::int64_t{1} << 50)};
  };
  const auto cores = *rc::gen::inRange<std::uint32_t>(1, 100);
  Workload workload;
  Duration submit{};
  const int jobs = *rc::gen::inRange(0, 30);
  for (int i = 0; i < jobs; ++i) {
    submit += Duration{*rc::gen::inRange<std::int64_t>(0, 10'000'000)};
    workload.jobs.push_back({.name = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000),
                             .submit = Time{submit},
                             .runtime = time(1),
                             .walltime = time(0),
                             .nodes = *rc::gen::inRange<Nodes>(1, 1'000'000),
                             .user = *rc::gen::arbitrary<std::uint32_t>(),
                             .group = *rc::gen::arbitrary<std::uint32_t>()});
  }
  std::ostringstream out;
  write_swf(out, workload, {}, cores);
  const SwfRules rules{
      .cores_per_node = cores, .extend_walltime = false, .runtime_as_walltime = false};
  RC_ASSERT(parse(out.str(), rules).jobs == workload.jobs);
}

RC_GTEST_PROP(Swf, DecimalsAreReadAsTheCLibraryReadsThem, ()) {
  // Up to here a double holds microseconds, and rounding it is the same.
  const auto whole = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
  const auto digits = *rc::gen::container<std::string>(rc::gen::inRange('0', ':'));
  const std::string text = std::to_string(whole) + "." + digits;
  const double value = std::strtod(text.c_str(), nullptr);
  const std::int64_t read = parse_job({.run = text}).runtime.count();
  RC_ASSERT(std::abs(static_cast<double>(read) - value * 1e6) <= 0.5 + 1e-3 * value / 1e6);
}

}  // namespace
}  // namespace ductile
