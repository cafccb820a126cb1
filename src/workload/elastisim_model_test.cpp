#include "workload/elastisim_model.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Model {
  ElastisimModel model;
  Remarks remarks;
};

Model read(const std::string& text) {
  const nlohmann::json json = parse_json(text, "a.json");
  Model result;
  result.model = read_elastisim_model({json, "a.json"}, result.remarks);
  return result;
}

std::string error_of(const std::string& text) {
  return testing::complaint([&] { read(text); });
}

std::string error_of_task(const std::string& task) {
  return error_of(R"({"phases": [{"tasks": [)" + task + "]}]}");
}

TEST(Model, HasPhasesOfTasks) {
  const auto [model, remarks] = read(R"({
    "on_init": {"tasks": [{"type": "IDLE", "delay": 3, "pattern": "uniform"}]},
    "on_expansion": {"iterations": 2, "tasks": []},
    "phases": [
      {"name": "first", "tasks": []},
      {"iterations": "n", "scheduling_point": false, "evolving_request": "num_nodes + 1", "tasks": [
        {"type": "cpu", "name": "x", "flops": "2 * n", "computation_pattern": "root_only",
         "bytes": 7, "communication_pattern": "ring", "coupled": true, "synchronized": true},
        {"type": "pfs_write", "bytes": 5, "pattern": "all_ranks", "async": true, "iterations": 4},
        {"type": "sequence", "tasks": [
          {"type": "bb_read", "bytes": 5, "pattern": "odd_ranks"},
          {"type": "gpu", "bytes": 5, "communication_pattern": "all_to_all", "coupled": true}]}]}]
  })");
  EXPECT_TRUE(remarks.empty());
  ASSERT_TRUE(model.on_init && model.on_expansion);
  EXPECT_FALSE(model.on_reconfiguration);
  EXPECT_EQ(model.on_init->tasks[0].type, ElastisimTask::Type::idle);
  EXPECT_DOUBLE_EQ(model.on_expansion->iterations.value({}), 2);
  ASSERT_EQ(model.phases.size(), 2u);
  EXPECT_DOUBLE_EQ(model.phases[0].iterations.value({}), 1);
  EXPECT_TRUE(model.phases[0].scheduling_point);
  EXPECT_FALSE(model.phases[0].evolving_request);
  const ElastisimPhase& phase = model.phases[1];
  EXPECT_DOUBLE_EQ(phase.iterations.value({{"n", 6}}), 6);
  EXPECT_FALSE(phase.scheduling_point);
  EXPECT_DOUBLE_EQ(phase.evolving_request->value({{"num_nodes", 6}}), 7);
  ASSERT_EQ(phase.tasks.size(), 3u);
  EXPECT_TRUE(phase.tasks[0].coupled);
  EXPECT_TRUE(phase.tasks[0].synchronized);
  EXPECT_EQ(phase.tasks[0].spread.kind, VectorPattern::Kind::root_only);
  EXPECT_EQ(phase.tasks[0].sent.kind, MatrixPattern::Kind::ring);
  EXPECT_TRUE(phase.tasks[1].async);
  EXPECT_DOUBLE_EQ(phase.tasks[1].iterations.value({}), 4);
  ASSERT_EQ(phase.tasks[2].tasks.size(), 2u);
  EXPECT_FALSE(phase.tasks[2].tasks[1].amount);
  EXPECT_FALSE(phase.tasks[2].tasks[1].coupled);  // of CPUs only
}

TEST(Model, CountsWhatIsNotTakenAsItIs) {
  const auto remarks = read(R"({"comment": "", "phases": [
    {"barrier": false, "evolving_request": 3, "tasks": []},
    {"barrier": false, "color": 1, "tasks": [
      {"type": "idle", "delay": 1, "pattern": "uniform", "color": 2}]}]})")
                           .remarks;
  EXPECT_EQ(remarks.size(), 4u);
  EXPECT_EQ(remarks.at("'color' is not read"), 2u);
  EXPECT_EQ(remarks.at("'comment' is not read"), 1u);
}

TEST(Model, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error_of("{\n \"phases\": }"), StartsWith("a.json: parse error at line 2"));
  EXPECT_THAT(error_of("[]"), HasSubstr("a.json: /: is no object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("'phases' is missing"));
  EXPECT_THAT(error_of(R"({"phases": 3})"), HasSubstr("a.json: /phases: is no array"));
  EXPECT_THAT(error_of(R"({"phases": [{}]})"), HasSubstr("/phases/0: 'tasks' is missing"));
  EXPECT_THAT(error_of(R"({"phases": [{"tasks": [], "barrier": 1}]})"),
              HasSubstr("/phases/0/barrier: is neither true nor false"));
  EXPECT_THAT(error_of(R"({"phases": [{"tasks": [], "iterations": []}]})"),
              HasSubstr("/phases/0/iterations: is neither a number nor a formula"));
  EXPECT_THAT(error_of(R"({"phases": [{"tasks": [], "iterations": "2 *"}]})"),
              HasSubstr("/phases/0/iterations: '2 *' is no formula"));
  EXPECT_THAT(error_of(R"({"phases": [], "on_init": {"iterations": 1.5, "tasks": []}})"),
              HasSubstr("/on_init/iterations: is no whole number"));
  EXPECT_THAT(error_of_task("{}"), HasSubstr("'type' is missing"));
  EXPECT_THAT(error_of_task(R"({"type": 3})"), HasSubstr("is no string"));
  EXPECT_THAT(error_of_task(R"({"type": "tpu"})"),
              HasSubstr("/phases/0/tasks/0/type: there is no 'tpu'; use cpu, gpu"));
  EXPECT_THAT(error_of_task(R"({"type": "cpu"})"), HasSubstr("neither computes nor"));
  EXPECT_THAT(error_of_task(R"({"type": "cpu", "flops": 1})"),
              HasSubstr("'computation_pattern' is missing"));
  EXPECT_THAT(error_of_task(R"({"type": "cpu", "flops": 1, "computation_pattern": "x"})"),
              HasSubstr("there is no 'x'; use all_ranks"));
  EXPECT_THAT(error_of_task(R"({"type": "cpu", "bytes": 1, "communication_pattern": "x"})"),
              HasSubstr("there is no 'x'; use all_to_all"));
  EXPECT_THAT(
      error_of_task(R"({"type": "cpu", "flops": [1, -2], "computation_pattern": "vector"})"),
      HasSubstr("/flops/1: is no number from 0"));
  EXPECT_THAT(error_of_task(R"({"type": "idle", "delay": 1e40, "pattern": "uniform"})"),
              HasSubstr("/delay: is no number"));
  std::string deep = R"({"type": "idle", "delay": 1, "pattern": "uniform"})";
  for (int i = 0; i < 20; ++i) deep = R"({"type": "sequence", "tasks": [)" + deep + "]}";
  EXPECT_THAT(error_of_task(deep), HasSubstr("too deep"));
}

}  // namespace
}  // namespace ductile
