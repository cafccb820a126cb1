#include "workload/elastisim.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Files = std::map<std::string, std::string>;

/// 8 nodes of 1 GFLOP/s.
Files files(const std::string& jobs, const std::string& model) {
  return {{"c.json", R"({"jobs_file": "j.json", "platform_file": "p.xml"})"},
          {"p.xml", "<platform><cluster id='c' radical='0-7' speed='1Gf' bw='1GBps'/></platform>"},
          {"j.json", R"({"jobs": [)" + jobs + "]}"},
          {"m.json", model}};
}

ElastisimInput read(Files files, ElastisimRules rules = {}) {
  rules.load = [files = std::move(files)](const std::string& path) {
    const auto found = files.find(path);
    if (found == files.end()) throw InputError({.file = path}, "cannot be read", "");
    return found->second;
  };
  return read_elastisim("c.json", rules);
}

std::string error_of(const Files& files) {
  return testing::complaint([&] { read(files); });
}

std::string job(const std::string& type, const std::string& sizes, const std::string& more = "") {
  return R"({"type": ")" + type + R"(", "submit_time": 0, )" + sizes +
         R"(, "application_model": "m.json")" + more + "}";
}
const std::string kTwoToFour = R"("num_nodes_min": 2, "num_nodes_max": 4)";

/// A phase that takes so long, a formula.
std::string phase(const std::string& delay, const std::string& more = "") {
  return R"({"tasks": [{"type": "idle", "delay": ")" + delay + R"(", "pattern": "uniform"}])" +
         more + "}";
}
std::string model(const std::string& phases, const std::string& more = "") {
  return R"({"phases": [)" + phases + "]" + more + "}";
}

TEST(Elastisim, RigidJobsTakeTheTimeOfAllTheirPhases) {
  const ElastisimInput input = read(
      files(job("rigid", R"("num_nodes": 4)", R"(, "walltime": 500, "arguments": {"steps": 3})"),
            model(phase("60 / num_nodes") + "," + phase("10", R"(, "iterations": "steps")"),
                  R"(, "on_init": )" + phase("7"))));
  EXPECT_EQ(input.machine.nodes, 8u);
  EXPECT_THAT(input.remarks, IsEmpty());
  EXPECT_EQ(input.workload.name, "j.json");
  ASSERT_EQ(input.workload.jobs.size(), 1u);
  const WorkloadJob& it = input.workload.jobs[0];
  EXPECT_EQ(it.nodes, 4u);
  EXPECT_EQ(it.runtime, whole_seconds(7 + 15 + 30));
  EXPECT_EQ(it.walltime, whole_seconds(500));
  EXPECT_EQ(it.adaptive, WorkloadJob::kRigid);
  EXPECT_TRUE(input.workload.adaptive.empty());
}

TEST(Elastisim, MoldableJobsHaveATimeForEachSize) {
  const ElastisimInput input =
      read(files(job("Moldable", kTwoToFour), model(phase("60 / num_nodes") + "," + phase("10"))));
  const WorkloadJob& it = input.workload.jobs.at(0);
  EXPECT_EQ(it.nodes, 4u);
  EXPECT_EQ(it.runtime, whole_seconds(25));
  EXPECT_EQ(it.walltime, it.runtime);
  EXPECT_EQ(input.workload.walltime_unknown, 1u);
  const AdaptiveJob& more = input.workload.adaptive.at(it.adaptive);
  EXPECT_EQ(more.type, JobType::moldable);
  EXPECT_EQ(more.size, (SizeRange{2, 4}));
  EXPECT_DOUBLE_EQ(more.speedup.relative_time(2, 4), 40.0 / 25);
  EXPECT_DOUBLE_EQ(more.speedup.relative_time(3, 4), 30.0 / 25);
  EXPECT_EQ(more.believed.speedup, more.speedup);
  ASSERT_EQ(more.phases.size(), 2u);
  EXPECT_THAT(more.phases[0].times_s.rows(), ElementsAre(30, 20, 15));
  EXPECT_THAT(more.phases[1].times_s.rows(), ElementsAre(10, 10, 10));
  EXPECT_FALSE(more.phases[0].scheduling_points);
}

TEST(Elastisim, MalleableJobsHavePhases) {
  const ElastisimInput input = read(
      files(job("malleable", kTwoToFour),
            model(phase("40 / num_nodes", R"(, "iterations": 3)") + "," + phase("15") + "," +
                      phase("20", R"(, "scheduling_point": false, "iterations": 2)"),
                  R"(, "on_init": )" + phase("15") + R"(, "on_reconfiguration": )" +
                      phase("12 / num_nodes") + R"(, "on_expansion": )" + phase("num_nodes"))));
  const WorkloadJob& it = input.workload.jobs.at(0);
  EXPECT_EQ(it.runtime, whole_seconds(15 + 30 + 15 + 40));
  const AdaptiveJob& more = input.workload.adaptive.at(0);
  // Before each iteration of the first two phases but the very first there is a scheduling point.
  ASSERT_EQ(more.phases.size(), 4u);
  const auto expect = [&](std::size_t i, double until, std::uint32_t iterations, bool points) {
    EXPECT_DOUBLE_EQ(more.phases[i].until, until) << i;
    EXPECT_EQ(more.phases[i].iterations, iterations) << i;
    EXPECT_EQ(more.phases[i].scheduling_points, points) << i;
  };
  expect(0, 0.15, 1, false);
  expect(1, 0.45, 3, true);
  expect(2, 0.60, 1, false);
  expect(3, 1, 2, false);
  EXPECT_THAT(more.phases[1].times_s.rows(), ElementsAre(20, 40.0 / 3, 10));
  EXPECT_THAT(more.phases[3].times_s.rows(), ElementsAre(20, 20, 20));
  EXPECT_THAT(more.costs.after_s.rows(), ElementsAre(6, 4, 3));
  EXPECT_THAT(more.costs.growth_s.rows(), ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(more.believed.cost.fixed_s, 3);
  EXPECT_TRUE(more.steps.empty());
}

TEST(Elastisim, APhaseIsSplitWhereSchedulingPointsBegin) {
  const ElastisimInput input = read(files(
      job("malleable", kTwoToFour),
      model(phase("10", R"(, "iterations": 5, "scheduling_point": false)") + "," + phase("10") +
            "," + phase("10", R"(, "iterations": 4, "scheduling_point": false)"))));
  const AdaptiveJob& more = input.workload.adaptive.at(0);
  ASSERT_EQ(more.phases.size(), 4u);
  EXPECT_EQ(more.phases[0].iterations, 4u);
  EXPECT_FALSE(more.phases[0].scheduling_points);
  EXPECT_EQ(more.phases[1].iterations, 1u);
  EXPECT_TRUE(more.phases[1].scheduling_points);  // before the second phase
  EXPECT_FALSE(more.phases[2].scheduling_points);
  EXPECT_DOUBLE_EQ(more.phases[3].until, 1);
}

TEST(Elastisim, EvolvingJobsAskBeforeIterations) {
  const std::string asks =
      R"(, "iterations": 3, "evolving_request": "phase_iteration % 2 == 0 ? num_nodes - 1 : 9")";
  const ElastisimInput input = read(
      files(job("evolving", kTwoToFour, R"(, "arguments": {"m": 3})"),
            model(phase("10", asks) + "," + phase("5") + "," +
                  phase("5", R"(, "evolving_request": "m * num_nodes_max / num_nodes_min")"))));
  const WorkloadJob& it = input.workload.jobs.at(0);
  EXPECT_EQ(it.nodes, 2u);  // begins small
  const AdaptiveJob& more = input.workload.adaptive.at(0);
  ASSERT_EQ(more.steps.size(), 3u);  // not before the very first iteration
  EXPECT_EQ(more.steps[0].iterations, 1u);
  EXPECT_THAT(more.steps[0].wanted.rows(), ElementsAre(4, 4, 4));
  EXPECT_EQ(more.steps[1].iterations, 2u);
  EXPECT_THAT(more.steps[1].wanted.rows(), ElementsAre(2, 2, 3));
  EXPECT_EQ(more.steps[2].iterations, 4u);
  EXPECT_THAT(more.steps[2].wanted.rows(), ElementsAre(4, 4, 4));
  // It can be resized where it asks, and nowhere else.
  ASSERT_EQ(more.phases.size(), 3u);
  for (const Phase& phase : more.phases) EXPECT_FALSE(phase.scheduling_points);
}

TEST(Elastisim, AdaptiveJobsHaveNoSchedulingPointWhereTheyMayAsk) {
  const ElastisimInput input = read(
      files(job("adaptive", kTwoToFour),
            model(phase("10", R"(, "iterations": 3)") + "," +
                  phase("5", R"(, "iterations": 2, "evolving_request": "4")") + "," + phase("1"))));
  const AdaptiveJob& more = input.workload.adaptive.at(0);
  // Between the first three iterations, and before the last one.
  ASSERT_EQ(more.phases.size(), 5u);
  const auto expect = [&](std::size_t i, std::uint32_t iterations, bool points) {
    EXPECT_EQ(more.phases[i].iterations, iterations) << i;
    EXPECT_EQ(more.phases[i].scheduling_points, points) << i;
  };
  expect(0, 2, true);
  expect(1, 1, false);
  expect(2, 1, false);
  expect(3, 1, true);
  expect(4, 1, false);
  ASSERT_EQ(more.steps.size(), 2u);
  EXPECT_EQ(more.steps[0].iterations, 3u);
  EXPECT_EQ(more.steps[1].iterations, 4u);
}

TEST(Elastisim, RequestsBeyondTheLimitsAreClippedOrNotMade) {
  Files all =
      files(job("adaptive", kTwoToFour),
            model(phase("10", R"(, "iterations": 3, "evolving_request": "num_nodes * 2")")));
  EXPECT_THAT(read(all).workload.adaptive.at(0).steps.at(0).wanted.rows(), ElementsAre(4, 4, 4));
  all["c.json"] =
      R"({"jobs_file": "j.json", "platform_file": "p.xml", "clip_evolving_requests": false})";
  const ElastisimInput input = read(all);
  EXPECT_THAT(input.workload.adaptive.at(0).steps.at(0).wanted.rows(), ElementsAre(4, 3, 4));
  EXPECT_THAT(input.remarks, Contains(HasSubstr("clip_evolving_requests is false")));
}

TEST(Elastisim, OnlyJobsThatEvolveAsk) {
  for (const char* type : {"moldable", "malleable"}) {
    const ElastisimInput input =
        read(files(job(type, kTwoToFour),
                   model(phase("10", R"(, "iterations": 3, "evolving_request": "4")"))));
    EXPECT_TRUE(input.workload.adaptive.at(0).steps.empty()) << type;
  }
}

TEST(Elastisim, JobsAreNumberedInOrderOfSubmissionAndKeepTheirNumbers) {
  const auto at = [](const std::string& time, const std::string& nodes) {
    return R"({"type": "rigid", "submit_time": )" + time + R"(, "num_nodes": )" + nodes +
           R"(, "application_model": "m.json"})";
  };
  const Files all =
      files(at("30", "1") + "," + at("10.5", "2") + "," + at("30", "3") + "," + at("5", "9"),
            model(phase("10")));
  const ElastisimInput input = read(all);
  ASSERT_EQ(input.workload.jobs.size(), 3u);
  EXPECT_EQ(input.workload.skipped.too_large, 1u);
  // The first one does not fit; it is job 0 all the same.
  EXPECT_EQ(input.workload.jobs[0].name, 1u);
  EXPECT_EQ(input.workload.jobs[0].submit, Time{seconds(10.5)});
  EXPECT_EQ(input.workload.jobs[0].nodes, 2u);
  EXPECT_EQ(input.workload.jobs[1].name, 2u);
  EXPECT_EQ(input.workload.jobs[1].nodes, 1u);
  EXPECT_EQ(input.workload.jobs[2].name, 3u);
  EXPECT_EQ(input.workload.jobs[2].nodes, 3u);
  EXPECT_EQ(read(all, {.max_jobs = 2}).workload.jobs.size(), 2u);
}

TEST(Elastisim, AWalltimeHoldsAtAnySize) {
  const auto of = [](const std::string& walltime, ElastisimRules rules = {}) {
    const ElastisimInput input = read(
        files(job("malleable", kTwoToFour, R"(, "walltime": )" + walltime), model(phase("10"))),
        std::move(rules));
    return std::pair(input.workload.jobs.at(0).walltime,
                     input.workload.adaptive.at(0).believed.walltime_for);
  };
  EXPECT_EQ(of("25"), std::pair(whole_seconds(25), WalltimeFor::any_size));
  EXPECT_EQ(of("10"), std::pair(whole_seconds(10), WalltimeFor::any_size));
  // None, or one that is raised: what the job takes is believed.
  EXPECT_EQ(of("0"), std::pair(whole_seconds(10), WalltimeFor::belief));
  EXPECT_EQ(of("9"), std::pair(whole_seconds(10), WalltimeFor::belief));
  EXPECT_EQ(of("9", {.extend_walltime = false}),
            std::pair(whole_seconds(9), WalltimeFor::any_size));
}

TEST(Elastisim, WalltimesAreRaisedUnlessTheyKill) {
  const Files all =
      files(job("rigid", R"("num_nodes": 1)", R"(, "walltime": 6)"), model(phase("10")));
  const ElastisimInput raised = read(all);
  EXPECT_EQ(raised.workload.jobs[0].walltime, whole_seconds(10));
  EXPECT_EQ(raised.workload.walltime_raised, 1u);
  EXPECT_EQ(read(all, {.extend_walltime = false}).workload.jobs[0].walltime, whole_seconds(6));
}

TEST(Elastisim, JobsThatTakeNoTimeAreJobs) {
  for (const std::string& app :
       {model(""), model(phase("0", R"(, "evolving_request": "3", "iterations": 2)"))}) {
    for (const std::string& one : {job("rigid", R"("num_nodes": 2)"), job("moldable", kTwoToFour),
                                   job("malleable", kTwoToFour), job("evolving", kTwoToFour)}) {
      const ElastisimInput input = read(files(one, app));
      ASSERT_EQ(input.workload.jobs.size(), 1u);
      EXPECT_EQ(input.workload.jobs[0].runtime, kTick);
      EXPECT_EQ(input.workload.jobs[0].walltime, kTick);
      EXPECT_EQ(input.workload.skipped.total(), 0u);
    }
  }
  // At the size asked for, that is; at another one it may take its time.
  const ElastisimInput input =
      read(files(job("malleable", kTwoToFour), model(phase("4 - num_nodes"))));
  EXPECT_EQ(input.workload.jobs.at(0).runtime, kTick);
  EXPECT_THAT(input.workload.adaptive.at(0).phases.at(0).times_s.rows(), ElementsAre(2, 1, 0));
  EXPECT_THAT(input.remarks, IsEmpty());
}

TEST(Elastisim, TellsWhatElastisimWouldDoOtherwise) {
  const auto remarks = [](const std::string& jobs, const std::string& app) {
    return read(files(jobs, app)).remarks;
  };
  const std::string simple = model(phase("10"));
  const std::string one = R"("num_nodes": 1)";
  EXPECT_THAT(remarks(job("rigid", one, R"(, "walltime": 60.5)"), simple),
              ElementsAre(HasSubstr("walltime that is no whole number")));
  EXPECT_THAT(remarks(job("rigid", one, R"(, "arguments": {"alpha": 0.12345678})"), simple),
              ElementsAre(HasSubstr("keeps six decimals")));
  EXPECT_THAT(remarks(job("rigid", one, R"(, "arguments": {"n": 2})"), simple),
              ElementsAre(HasSubstr("inside of longer ones")));
  EXPECT_THAT(remarks(job("rigid", one, R"(, "arguments": {"work": 1, "work_b": 1})"), simple),
              ElementsAre(HasSubstr("inside of longer ones")));
  EXPECT_THAT(remarks(job("rigid", one, R"(, "attributes": {"priority": 2}, "color": 1)"), simple),
              ElementsAre(HasSubstr("'color' is not read"), HasSubstr("attributes")));
  EXPECT_THAT(remarks(job("rigid", one) + "," + job("rigid", one),
                      model(phase("10", R"(, "iterations": 0)") + "," + phase("5"))),
              ElementsAre(HasSubstr("without iterations are left out; ElastiSim")));
  EXPECT_THAT(remarks(job("malleable", R"("num_nodes_min": 2, "num_nodes_max": 20)"), simple),
              ElementsAre(HasSubstr("as large as the machine")));
  EXPECT_THAT(remarks(job("malleable", kTwoToFour + R"(, "num_gpus_per_node_max": 2)"), simple),
              ElementsAre(HasSubstr("num_gpus_per_node_max GPUs")));
  Files all = files(job("rigid", one), simple);
  all["c.json"] = R"({"jobs_file": "j.json", "platform_file": "p.xml",
                      "allow_oversubscription": true, "job_kill_grace_period": 5})";
  EXPECT_THAT(read(all).remarks,
              ElementsAre(HasSubstr("nodes are not shared"), HasSubstr("job_kill_grace_period")));
}

// A phase that reads or writes files.
std::string files_phase(const std::string& bytes, const std::string& name = "") {
  return R"({"tasks": [{"type": "pfs_write", "bytes": )" + bytes + R"(, "pattern": "all_ranks")" +
         (name.empty() ? "" : R"(, "name": ")" + name + '"') + "}]}";
}

TEST(Elastisim, TellsWhoSharesWhatEachJobHasForItself) {
  const std::string one = job("rigid", R"("num_nodes": 2, "arguments": {"much": 1e9})");
  const std::string none = job("rigid", R"("num_nodes": 2, "arguments": {"much": 0})");
  const auto remarks = [](const std::string& jobs, const std::string& phases,
                          const std::string& link) {
    Files all = files(jobs, model(phases));
    all["p.xml"] =
        "<platform><zone id='z'><cluster id='c' radical='0-7' speed='1Gf' bw='1GBps'/>"
        "<host id='store' speed='1f'><prop id='pfs_host' value='true'/></host>"
        "<link id='l' latency='0' bandwidth=" +
        link + "/><zoneRoute src='c' dst='z'><link_ctn id='l'/></zoneRoute></zone></platform>";
    return read(all).remarks;
  };
  const std::string narrow = "'4GBps'", wide = "'8GBps'";
  const std::string writes = files_phase("\"much\"", "result") + "," + files_phase("5");
  EXPECT_THAT(remarks(one + "," + one, writes, narrow),
              ElementsAre(AllOf(HasSubstr("the file system for itself"),
                                HasSubstr("'result' (m.json: /phases/0/tasks/0), m.json: "
                                          "/phases/1/tasks/0"))));
  // Alone, with nothing to write, or where nodes together cannot ask for too much, it is right.
  EXPECT_THAT(remarks(one, writes, narrow), IsEmpty());
  EXPECT_THAT(remarks(one + "," + none, files_phase("\"much\""), narrow), IsEmpty());
  EXPECT_THAT(remarks(one + "," + one, writes, wide), IsEmpty());
  EXPECT_THAT(remarks(one + "," + one, writes, narrow + " sharing_policy='FATPIPE'"), IsEmpty());
  std::string many;
  for (int i = 0; i < 11; ++i) many += (i > 0 ? "," : "") + files_phase("5");
  EXPECT_THAT(remarks(one + "," + one, many, narrow), ElementsAre(HasSubstr(" and 3 more")));
}

TEST(Elastisim, TellsWhoSharesTheBackbone) {
  const std::string one = job("rigid", R"("num_nodes": 2)");
  const auto remarks = [](const std::string& jobs, const std::string& backbone) {
    Files all = files(jobs, model(R"({"tasks": [{"type": "cpu", "name": "exchange", "bytes": 1e9,
                                     "communication_pattern": "ring"}]})"));
    all["p.xml"] = "<platform><cluster id='c' radical='0-7' speed='1Gf' bw='1GBps' " + backbone +
                   "/></platform>";
    return read(all).remarks;
  };
  EXPECT_THAT(remarks(one + "," + one, "bb_bw='4GBps'"),
              ElementsAre(AllOf(HasSubstr("the backbone"), HasSubstr("'exchange'"))));
  EXPECT_THAT(remarks(one, "bb_bw='4GBps'"), IsEmpty());
  EXPECT_THAT(remarks(one + "," + one, "bb_bw='8GBps'"), IsEmpty());
  EXPECT_THAT(remarks(one + "," + one, ""), IsEmpty());
}

TEST(Elastisim, ArgumentsMayBeText) {
  const ElastisimInput input = read(files(
      job("rigid", R"("num_nodes": 1)", R"(, "arguments": {"d": "12.5"})"), model(phase("d * 2"))));
  EXPECT_EQ(input.workload.jobs.at(0).runtime, whole_seconds(25));
  // What no formula uses may be any text.
  const std::string named = R"(, "arguments": {"d": 3, "id": "5205826_ar2", "big": "1e99"})";
  EXPECT_EQ(read(files(job("rigid", R"("num_nodes": 1)", named), model(phase("d * 2"))))
                .workload.jobs.at(0)
                .runtime,
            whole_seconds(6));
}

TEST(Elastisim, SaysWhatIsWrongAndWhere) {
  const std::string simple = model(phase("10"));
  const std::string one = R"("num_nodes": 1)";
  const auto of = [](const std::string& jobs, const std::string& app) {
    return error_of(files(jobs, app));
  };
  Files all = files(job("rigid", one), simple);
  all["c.json"] = R"({"jobs": []})";
  EXPECT_THAT(error_of(all), HasSubstr("c.json: /: is a file of jobs, not a configuration"));
  all["c.json"] = R"({"jobs_file": "j.json"})";
  EXPECT_THAT(error_of(all), HasSubstr("c.json: /: 'platform_file' is missing"));
  all["c.json"] = R"({"jobs_file": "x.json", "platform_file": "p.xml"})";
  EXPECT_THAT(error_of(all), HasSubstr("x.json: cannot be read"));

  EXPECT_THAT(of("{}", simple), HasSubstr("j.json: /jobs/0: 'submit_time' is missing"));
  EXPECT_THAT(of(R"({"submit_time": 0})", simple), HasSubstr("j.json: /jobs/0: 'type' is missing"));
  EXPECT_THAT(of(job("elastic", one), simple),
              HasSubstr("/jobs/0/type: there is no 'elastic'; use rigid"));
  EXPECT_THAT(of(job("rigid", R"("num_nodes": 0)"), simple), HasSubstr("/jobs/0/num_nodes"));
  EXPECT_THAT(of(job("rigid", R"("num_nodes": 1.5)"), simple), HasSubstr("no whole number"));
  EXPECT_THAT(of(job("malleable", one), simple), HasSubstr("'num_nodes_min' is missing"));
  EXPECT_THAT(of(job("malleable", R"("num_nodes_min": 3, "num_nodes_max": 2)"), simple),
              HasSubstr("/jobs/0/num_nodes_max: is less than"));
  EXPECT_THAT(of(job("rigid", one, R"(, "walltime": -1)"), simple), HasSubstr("/walltime"));
  EXPECT_THAT(of(job("rigid", one, R"(, "arguments": {"a": "much"})"), model(phase("a"))),
              HasSubstr("m.json: /phases/0/tasks/0/delay: 'a' uses a, which is no number in the "
                        "job; give the job a number there (job at j.json:/jobs/0)"));
  EXPECT_THAT(of(job("rigid", one, R"(, "arguments": {"a": []})"), simple),
              HasSubstr("/arguments/a"));
  EXPECT_THAT(of(job("rigid", one), model(phase("a"))),
              HasSubstr("m.json: /phases/0/tasks/0/delay: 'a' uses a, which the job does not have; "
                        "give the job such an argument (job at j.json:/jobs/0)"));
  EXPECT_THAT(of(job("rigid", one), model(phase("1e9", R"(, "iterations": 1000000)"))),
              HasSubstr("takes more than"));
  EXPECT_THAT(of(job("evolving", kTwoToFour),
                 model(phase("1", R"(, "iterations": 9000000, "evolving_request": "3")"))),
              HasSubstr("too many evolving requests"));
  EXPECT_THAT(of(job("malleable", kTwoToFour),
                 model(phase("1"), R"(, "on_expansion": {"iterations": 1000000, "tasks": [
                       {"type": "idle", "delay": 1e9, "pattern": "uniform"}]})")),
              HasSubstr("/on_expansion: takes too long"));
  all = files(job("malleable", R"("num_nodes_min": 1, "num_nodes_max": 100000)"), simple);
  all["p.xml"] = "<platform><cluster id='c' radical='0-999999' speed='1f' bw='1Bps'/></platform>";
  EXPECT_THAT(error_of(all), HasSubstr("may have 100000 sizes; give it at most 65536"));
}

TEST(Elastisim, FindsFilesBesideTheOneThatNamesThem) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "elastisim";
  fs::create_directories(folder / "jobs");
  const auto write = [&](const fs::path& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  Files all = files(job("rigid", R"("num_nodes": 2)"), model(phase("10")));
  write("c.json", R"({"jobs_file": "jobs/j.json", "platform_file": "p.xml"})");
  write("p.xml", all["p.xml"]);
  write("jobs/j.json", all["j.json"]);
  write("jobs/m.json", all["m.json"]);
  const ElastisimInput input = read_elastisim((folder / "c.json").string(), {});
  EXPECT_EQ(input.workload.jobs.size(), 1u);
  fs::remove(folder / "jobs/m.json");
  EXPECT_THROW(read_elastisim((folder / "c.json").string(), {}), InputError);
}

// A study's files name each other from its own folder, or from where a container had them.
TEST(Elastisim, FindsTheFilesOfAStudyThatWasMoved) {
  namespace fs = std::filesystem;
  const fs::path study = fs::path(::testing::TempDir()) / "study";
  for (const std::string& base : {"data/input", "/data/input", "/somewhere/else", "."}) {
    fs::remove_all(study);
    fs::create_directories(study / "data/input");
    const auto write = [&](const std::string& name, const std::string& text) {
      std::ofstream(study / "data/input" / name) << text;
    };
    Files all = files(R"({"type": "rigid", "submit_time": 0, "num_nodes": 2,
                          "application_model": ")" +
                          base + R"(/m.json"})",
                      model(phase("10")));
    write("c.json",
          R"({"jobs_file": ")" + base + R"(/j.json", "platform_file": ")" + base + R"(/p.xml"})");
    for (const char* name : {"p.xml", "j.json", "m.json"}) write(name, all[name]);
    const std::string configuration = (study / "data/input/c.json").string();
    const ElastisimInput input = read_elastisim(configuration, {});
    EXPECT_EQ(input.workload.jobs.size(), 1u) << base;
    EXPECT_EQ(fs::path(input.workload.name).lexically_normal(), study / "data/input/j.json");
    fs::remove(study / "data/input/m.json");
    try {
      read_elastisim(configuration, {});
      ADD_FAILURE() << "a file that is not there was read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("/jobs/0/application_model: '" + base + "/m.json'"));
      EXPECT_THAT(error.what(), HasSubstr("is not there"));
    }
  }
}

}  // namespace
}  // namespace ductile
