#include "workload/generate.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "workload/esp.hpp"
#include "workload/info.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(GenerateRigid, HasTheDistributionsItSays) {
  const Workload workload = generate_rigid({.jobs = 200'000}, 42);
  const WorkloadInfo info = describe(workload, 500);
  EXPECT_EQ(info.jobs, 200'000u);
  EXPECT_EQ(info.users, 50u);
  EXPECT_EQ(info.size_nodes.min, 1);
  EXPECT_EQ(info.size_nodes.max, 64);
  EXPECT_NEAR(info.size_nodes.mean, 14.85, 0.15);
  EXPECT_NEAR(info.serial_share, std::log(2) / std::log(65), 0.003);
  EXPECT_EQ(info.runtime_s.min, 60);
  EXPECT_EQ(info.runtime_s.max, 86'400);
  EXPECT_NEAR(info.runtime_s.median, 3600, 40);
  EXPECT_NEAR(info.runtime_s.mean, 5929, 60);
  ASSERT_TRUE(info.offered_load);
  EXPECT_NEAR(*info.offered_load, 0.90, 0.02);
  EXPECT_EQ(info.requested_share, 1);
  EXPECT_NEAR(*info.accuracy_median, 2.0 / 3, 0.001);
}

TEST(GenerateRigid, JobsAreInOrderWithWholeSecondsAndNumberedFromOne) {
  const Workload workload = generate_rigid({.jobs = 1000}, 1);
  EXPECT_TRUE(std::ranges::is_sorted(workload.jobs, {}, &WorkloadJob::submit));
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    EXPECT_EQ(job.name, i + 1);
    EXPECT_EQ(job.submit.time_since_epoch() % whole_seconds(1), Duration{});
    EXPECT_EQ(job.runtime % whole_seconds(1), Duration{});
    EXPECT_GE(2 * job.walltime, 3 * job.runtime);
    EXPECT_LT(2 * job.walltime, 3 * job.runtime + whole_seconds(2));
  }
}

TEST(GenerateRigid, JobsDoNotMoveEachOther) {
  const Workload many = generate_rigid({.jobs = 1000}, 7);
  const Workload few = generate_rigid({.jobs = 100}, 7);
  EXPECT_TRUE(std::ranges::equal(few.jobs, std::span(many.jobs).first(100)));
  const Workload busy = generate_rigid({.jobs = 1000, .load = 2}, 7);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(busy.jobs[i].runtime, many.jobs[i].runtime);
    EXPECT_EQ(busy.jobs[i].nodes, many.jobs[i].nodes);
  }
  EXPECT_NE(generate_rigid({.jobs = 100}, 8).jobs, few.jobs);
}

TEST(GenerateRigid, IsTheSameOnEveryMachine) {
  const Workload workload = generate_rigid({.jobs = 3}, 42);
  ASSERT_EQ(workload.jobs.size(), 3u);
  std::ostringstream out;
  write_swf(out, workload, {});
  EXPECT_EQ(out.str(),
            "1 42 -1 5811 53 -1 -1 53 8717 -1 1 28 1 -1 -1 -1 -1 -1\n"
            "2 222 -1 2444 4 -1 -1 4 3666 -1 1 50 1 -1 -1 -1 -1 -1\n"
            "3 341 -1 2442 12 -1 -1 12 3663 -1 1 1 1 -1 -1 -1 -1 -1\n");
}

TEST(GenerateRigid, CanBeSavedAndReadBack) {
  const Workload workload = generate_rigid({.jobs = 2000}, 3);
  std::ostringstream out;
  write_swf(out, workload, {});
  EXPECT_EQ(parse_swf(out.str(), "rigid.swf", {}).jobs, workload.jobs);
}

TEST(GenerateRigid, RefusesWhatMakesNoWorkload) {
  const auto message = [](const RigidModel& model, const char* text) {
    EXPECT_THAT([&] { generate_rigid(model, 1); }, ThrowsMessage<InputError>(HasSubstr(text)));
  };
  message({.jobs = 1ull << 32}, "jobs");
  message({.max_size = 0}, "max_size: is 0");
  message({.nodes = 10, .max_size = 11}, "max_size: 11 is larger than the machine of 10 nodes");
  message({.load = 0}, "load");
  message({.load = NAN}, "load");
}

// Whatever is drawn: nothing overflows, and the log has what was generated.
TEST(WorkloadModels, AreReadBackAsTheyWereWhateverIsDrawn) {
  const std::vector<std::string> extremes = {"1",
                                             "1e8",
                                             "uniform:1..1e8",
                                             "loguniform:1..1e8",
                                             "exponential:1",
                                             "exponential:1e8",
                                             "lognormal:1:10",
                                             "lognormal:1e8:10",
                                             "lognormal:1e8:0"};
  const auto made = [](const std::string& text) {
    SCOPED_TRACE(text);
    std::ostringstream out;
    Workload workload;
    try {
      workload = parse_model(text).generate(1);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("load")) << text;
      return;
    }
    write_swf(out, workload, {});
    Workload again = parse_swf(out.str(), "made", {});
    ASSERT_EQ(again.jobs.size(), workload.jobs.size());
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      WorkloadJob expected = workload.jobs[i];
      expected.adaptive = WorkloadJob::kRigid;
      ASSERT_EQ(again.jobs[i], expected) << text << ", job " << i;
      ASSERT_LE(expected.runtime, whole_seconds(100'000'000));
      ASSERT_LE(expected.walltime, whole_seconds(100'000'000));
    }
  };
  for (const std::string& drawn : extremes) {
    for (const char* load : {"0.001", "2", "1000"}) {
      made(fmt::format("poisson:jobs=200,runtime={},max_runtime=1e8,load={}", drawn, load));
      made(fmt::format("cirne_like:jobs=200,request={},load={}", drawn, load));
      made(fmt::format("downey:jobs=200,table=002,runtime={},load={}", drawn, load));
      made(fmt::format("downey:jobs=200,work={},max_parallelism=1,load={}", drawn, load));
    }
    for (const std::string& size : {"1e9", "lognormal:1e6:10", "exponential:1e9"}) {
      made(fmt::format("poisson:jobs=200,size={},runtime={}", size, drawn));
    }
  }
  for (const char* work : {"1e12", "lognormal:1e12:10", "exponential:1e12", "uniform:1..1e12"}) {
    for (const char* load : {"0.001", "900"}) {
      made(fmt::format("downey:jobs=2000,load={},work={},max_parallelism=1", load, work));
      made(fmt::format("downey:jobs=200,load={},work={},sigma=lognormal:1000:10", load, work));
      made(fmt::format("downey:jobs=200,load={},work={},ask=any,type=malleable", load, work));
    }
  }
  made("cirne_like:jobs=200,accuracy=lognormal:1:10,request=lognormal:1e8:10");
  made("cirne_like:jobs=200,accuracy=0.000001,request=1");
  made("lublin:jobs=200,load=0.001");
  made("lublin:jobs=200,load=1000");
}

TEST(WorkloadModels, CanBeGeneratedByName) {
  EXPECT_EQ(parse_model("rigid").generate(5).jobs, generate_rigid({}, 5).jobs);
  EXPECT_EQ(parse_model("rigid:jobs=7").jobs(), 7u);
  EXPECT_EQ(parse_model("esp").generate(5).jobs, generate_esp({}, 5).jobs);
}

// Defaults are values that one could give.
TEST(WorkloadModels, HaveTheDefaultsTheySay) {
  for (const WorkloadModel& model : workload_models()) {
    const std::string plain(model.name);
    for (const ModelParameter& parameter : model.parameters) {
      const auto given = fmt::format("{}:{}={}", plain, parameter.name, parameter.fallback);
      EXPECT_EQ(parse_model(given).values, parse_model(plain).values) << given;
    }
    EXPECT_EQ(parse_model(plain).remark(), "");
    EXPECT_GT(parse_model(plain).number("nodes"), 0);
    EXPECT_EQ(parse_model(plain).generate(1).jobs.size(), parse_model(plain).jobs());
  }
}

TEST(ParseModel, TakesDefaultsForWhatIsNotGiven) {
  EXPECT_EQ(parse_model("rigid").text(), "rigid:jobs=10000,nodes=500,max_size=64,load=0.9");
  EXPECT_EQ(parse_model("rigid:").text(), parse_model("rigid").text());
  const ModelChoice choice = parse_model("rigid:load=1.25,jobs=1e3");
  EXPECT_EQ(choice.text(), "rigid:jobs=1000,nodes=500,max_size=64,load=1.25");
  EXPECT_EQ(parse_model(choice.text()).values, choice.values);
  EXPECT_EQ(choice.value("jobs"), "1000");
  EXPECT_EQ(choice.number("load"), 1.25);
  EXPECT_EQ(choice.generate(5).jobs, generate_rigid({.jobs = 1000, .load = 1.25}, 5).jobs);
}

TEST(ParseModel, ErrorsSayWhatThereIs) {
  const auto message = [](const char* text, const char* expected) {
    EXPECT_THAT([&] { parse_model(text); }, ThrowsMessage<InputError>(expected));
  };
  message("rigit",
          "there is no workload model 'rigit'; there are: rigid, esp, pi_heat, "
          "lublin, downey, cirne_like, poisson");
  message("",
          "there is no workload model ''; there are: rigid, esp, pi_heat, "
          "lublin, downey, cirne_like, poisson");
  message("rigid:size=3", "rigid: has no parameter 'size'; it has: jobs, nodes, max_size, load");
  message("rigid:jobs=3,jobs=4", "rigid: 'jobs' is given twice; give it once");
  message("rigid:jobs",
          "jobs: '' is not a whole number from 1 to 4000000000; the default is 10000");
  message("rigid:jobs=2.5",
          "jobs: '2.5' is not a whole number from 1 to 4000000000; the default is 10000");
  message("rigid:load=x", "load: 'x' is not a number from 0.001 to 1000; the default is 0.9");
  message("rigid:load=nan", "load: 'nan' is not a number from 0.001 to 1000; the default is 0.9");
  message("esp:round=down",
          "round: there is no 'down'; use auto, up, nearest; the default is auto");
  message("esp:malleable=", "malleable: a value is missing; the default is none");
  message(
      "esp:jobs=5",
      "esp: has no parameter 'jobs'; it has: nodes, unit, round, constraints, min, mode, premium, "
      "gap, malleable, evolving, pick, max, serial, ask, evolving_mode");
}

}  // namespace
}  // namespace ductile
