#include "workload/corridor_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

CorridorInstance parse(std::string_view line) {
  return parse_corridor_instance(line, {.file = "a.jsonl", .line = 3});
}

TEST(CorridorFile, ReadsAnInstance) {
  const CorridorInstance its =
      parse(R"({"nodes":14,"idle_w":70.5,"lower_w":null,"upper_w":2500,"running":[)"
            R"({"id":8,"n":2,"min":1,"max":12,"constraint":"even","p_min_w":150,"p_max_w":170},)"
            R"({"id":3,"n":4,"rigid":true,"p_min_w":0,"p_max_w":0.0005}],"waiting":[)"
            R"({"id":9,"n":3,"p_min_w":250,"p_max_w":250}]})");
  EXPECT_EQ(its.problem.nodes, 14u);
  EXPECT_EQ(its.problem.idle_mw, 70'500);
  EXPECT_EQ(its.problem.lower_mw, std::nullopt);
  EXPECT_EQ(its.problem.upper_mw, 2'500'000);
  ASSERT_EQ(its.problem.running.size(), 2u);
  EXPECT_EQ(its.problem.running[0].id, 8u);
  EXPECT_EQ(its.problem.running[0].range, (SizeRange{1, 12}));
  EXPECT_EQ(its.problem.running[0].constraint.kind, SizeConstraint::Kind::even);
  EXPECT_TRUE(its.problem.running[1].rigid);
  EXPECT_EQ(its.problem.running[1].p_max_mw, 1);
  ASSERT_EQ(its.waiting.size(), 1u);
  EXPECT_EQ(its.waiting[0].n, 3u);
}

TEST(CorridorFile, ErrorsNameTheLineAndTheField) {
  EXPECT_THAT([] { parse(R"({"nodes":14,"idle_w":-1})"); },
              ThrowsMessage<InputError>(HasSubstr("a.jsonl:3: /idle_w: is no number from 0")));
  EXPECT_THAT([] { parse("{"); }, ThrowsMessage<InputError>(HasSubstr("a.jsonl:3: parse error")));
}

TEST(CorridorFile, WritesSizesById) {
  CorridorProblem problem;
  problem.running = {{.id = 12}, {.id = 5}};
  EXPECT_EQ(
      to_json(problem, {.feasible = true, .idle = 1, .change = 4, .changed = 2, .sizes = {7, 3}}),
      R"({"feasible":true,"idle":1,"change":4,"changed":2,"sizes":{"5":3,"12":7}})");
  EXPECT_EQ(to_json(problem, {}), R"({"feasible":false})");
}

}  // namespace
}  // namespace ductile
