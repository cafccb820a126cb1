#include "elastisim/protocol.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string answer(const std::string& jobs) {
  return R"({"code":4293673985,"jobs":[)" + jobs + "]}";
}

std::string complaint(const std::string& text) {
  try {
    parse_elastisim_reply(text, "here", 3, 8);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ElastisimProtocol, AnAnswerSaysWhatJobsAreToHave) {
  const auto orders = parse_elastisim_reply(
      answer(R"({"id":2,"assigned_node_ids":[7,0],"assigned_num_gpus_per_node":4,)"
             R"("kill_flag":false,"modified_runtime_args":false},{"id":0,"kill_flag":true,)"
             R"("assigned_node_ids":[]})"),
      "here", 3, 8);
  const std::vector<ElastisimOrder> expected = {{.job = 2, .nodes = {7, 0}, .gpus = 4},
                                                {.job = 0, .kill = true}};
  EXPECT_EQ(orders, expected);
  EXPECT_TRUE(parse_elastisim_reply(answer(""), "here", 0, 8).empty());
}

TEST(ElastisimProtocol, WhatIsNoAnswerIsNamedWithItsPlace) {
  const auto says = [](const std::string& text, const std::string& what) {
    EXPECT_NE(complaint(text).find(what), std::string::npos) << complaint(text);
  };
  says("", "here: ");
  says("[]", "here: /: is no object");
  says(R"({"jobs":[]})", "'code' is missing");
  says(R"({"code":-1,"jobs":[]})", "/code: is not that of an answer");
  says(R"({"code":1e300,"jobs":[]})", "/code: is not that of an answer");
  says(answer(R"({"id":3,"assigned_node_ids":[]})"), "/jobs/0/id: is no job");
  says(answer(R"({"id":18446744073709551615,"assigned_node_ids":[]})"), "/jobs/0/id: is no job");
  says(answer(R"({"id":1.5,"assigned_node_ids":[]})"), "/jobs/0/id: is no job");
  says(answer(R"({"id":1})"), "'assigned_node_ids' is missing");
  says(answer(R"({"id":1,"assigned_node_ids":[8]})"), "they have the numbers 0 to 7");
  says(answer(R"({"id":1,"assigned_node_ids":[2,2]})"), "names node 2 a second time");
  says(answer(R"({"id":1,"kill_flag":true},{"id":1,"kill_flag":true})"),
       "/jobs/1: names job 1 a second time");
  says(answer(R"({"id":1,"kill_flag":"no"})"), "/jobs/0/kill_flag: is neither true nor false");
}

TEST(ElastisimProtocol, QuestionsHaveTheirNumbers) {
  EXPECT_EQ(elastisim_question("12.5", ElastisimCall::evolving_request),
            R"({"code":4293673984,"time":12.5,"invocation_type":5)");
  EXPECT_EQ(elastisim_farewell(), R"({"code":4293674239})");
}

}  // namespace
}  // namespace ductile
