// Every file of this folder is played, with node identities and without; and what is wrong with a
// scenario, or with what comes of it, is told so that one can find it.
#include "support/scenario.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "policies/registry.hpp"

namespace ductile::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(DUCTILE_SOURCE_DIR) / "tests/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string case_name(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

class Scenarios : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenarios, Play) {
  const Scenario scenario = read_scenario(GetParam());
  const std::string wrong = difference(scenario, play(scenario));
  EXPECT_TRUE(wrong.empty()) << wrong;
}

TEST_P(Scenarios, DoNotDependOnIdentities) {
  Scenario scenario = read_scenario(GetParam());
  if (scenario.needs_identities()) return;
  for (auto& expected : scenario.expected) expected.text = without_identities(expected.text);
  const std::string wrong = difference(scenario, play_without_identities(scenario));
  EXPECT_TRUE(wrong.empty()) << wrong;
}

TEST_P(Scenarios, DifferUnderThePoliciesTheyNameAsUnlike) {
  const Scenario scenario = read_scenario(GetParam());
  for (const std::string& policy : scenario.unlike) {
    EXPECT_FALSE(difference(scenario, play_under(scenario, policy)).empty()) << policy;
  }
}

INSTANTIATE_TEST_SUITE_P(File, Scenarios, ::testing::ValuesIn(scenario_files()), case_name);

TEST(ScenarioFiles, ThereIsOneForEveryPolicy) {
  std::set<std::string> used;
  for (const auto& file : scenario_files()) {
    const Scenario scenario = read_scenario(file);
    if (!scenario.scripted) used.insert(scenario.policy.substr(0, scenario.policy.find(':')));
  }
  for (const PolicyInfo& policy : built_in_policies()) {
    EXPECT_TRUE(used.contains(policy.name))
        << "no file in tests/scenarios has a line 'policy " << policy.name << "'";
  }
}

TEST(ScenarioFiles, ThereIsOneForEveryOrder) {
  std::set<std::string> used;
  for (const auto& file : scenario_files()) {
    const std::string policy = read_scenario(file).policy;
    const std::size_t at = policy.find("order=");
    const std::string rest = at == std::string::npos ? "fcfs" : policy.substr(at + 6);
    used.insert(rest.substr(0, rest.find(',')));
  }
  for (const std::string_view order : kQueueOrderWords) {
    EXPECT_TRUE(used.contains(std::string(order)))
        << "no file in tests/scenarios has a policy with order=" << order;
  }
}

constexpr const char* kSmall =
    "platform nodes=4\n"
    "policy easy\n"
    "job 1 submit=0 nodes=3 walltime=10 run=10\n"
    "job 2 submit=1 nodes=4 walltime=5 run=5\n"
    "expect\n"
    "0 start 1 nodes=0-2 in-order\n"
    "10 end 1\n";

TEST(ScenarioFiles, AWrongExpectationIsShownSideBySide) {
  Scenario scenario = parse_scenario(std::string(kSmall) +
                                         "9   start 2 nodes=0-3 in-order\n"
                                         "15  end 2\n",
                                     "small.txt");
  EXPECT_EQ(difference(scenario, play(scenario)),
            "small.txt: what happened (+) is not what is expected (-)\n"
            "    0 start 1 nodes=0-2 in-order\n"
            "    10 end 1\n"
            "  - 9 start 2 nodes=0-3 in-order    (line 8)\n"
            "  + 10 start 2 nodes=0-3 in-order\n"
            "    15 end 2\n");
  scenario.expected[2].text = "10 start 2 nodes=0-3 in-order";
  EXPECT_EQ(difference(scenario, play(scenario)), "");
}

std::string error_of(const std::string& text) {
  try {
    parse_scenario(text, "bad.txt");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScenarioFiles, ErrorsNameTheLine) {
  EXPECT_EQ(
      error_of("platform nodes=4\npolicy easy\njob 1 nods=3 run=1\nexpect\n"),
      "bad.txt:3: 'nods=3' is not understood here; there are submit, nodes, walltime, run, "
      "user, group, type, min, max, model, constraint, cost, release, priority, account, barrier, "
      "partition, memory, only, never, reservation, watts, bound, dependency, preceding, think");
  EXPECT_EQ(error_of("platform nodes=4\nplatform nodes=4\n"),
            "bad.txt:2: a second platform; give it once");
  EXPECT_EQ(error_of("job 1 nodes=1 run=1\n"),
            "bad.txt:1: platform comes first; say it above this line");
  EXPECT_EQ(error_of("platform nodes=4\njob 1 nodes=1 run=x\n"),
            "bad.txt:2: run: 'x' is not a number; write it as in 12 or 0.5");
  EXPECT_EQ(error_of("# a comment\n\nplatform nodes=4\npolicy esay\n").substr(0, 42),
            "bad.txt:4: there is no policy 'esay'; ther");
  EXPECT_EQ(error_of("platform nodes=4\nunlike easy esay\n").substr(0, 42),
            "bad.txt:2: there is no policy 'esay'; ther");
  EXPECT_EQ(error_of("platform nodes=4\npolicy easy\nexpect\n1 begin 3\n").substr(0, 43),
            "bad.txt:4: there is no kind of line 'begin'");
  EXPECT_EQ(error_of("platform nodes=4\npolicy easy\n"),
            "bad.txt: no expect; write expect and what shall happen");
  EXPECT_THAT(error_of("platform nodes=4\npolicy easy\nat 1 start 1 1\nexpect\n"),
              HasSubstr("bad.txt:3: only a scripted policy"));
  EXPECT_EQ(error_of("platform nodes=4\npolicy script\nat 1 start 7 1\nexpect\n"),
            "bad.txt:3: there is no job 7; name a job of this file");
  EXPECT_EQ(error_of("platform nodes=4\nnode 1 4-5 down\n"),
            "bad.txt:2: the machine has no such node; nodes are numbered from 0");
}

}  // namespace
}  // namespace ductile::testing
