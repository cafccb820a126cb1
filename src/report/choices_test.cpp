#include "report/choices.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ductile {
namespace {

/// First come, first served lets job 3 wait behind job 2, until it is looked ahead again.
SimulationSettings of_two() {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy("portfolio:of=fcfs|easy,shift=1.5,check=0");
  return settings;
}

std::string written(const std::vector<ChoiceMade>& choices) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "choices.csv";
  write_choices(path, choices);
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Choices, OfARunByHand) {
  Choices choices;
  const Summary summary = small_run(small_workload(), of_two(), {&choices});
  ASSERT_EQ(choices.made().size(), 2u);
  EXPECT_FALSE(choices.made()[0].is_change());
  EXPECT_TRUE(choices.made()[1].is_change());
  EXPECT_EQ(choices.made()[1].ruled(), "fcfs");
  EXPECT_EQ(choices.made()[1].rules(), "easy");
  EXPECT_EQ(written(choices.made()),
            "time,occasion,goal,jobs,passes,member,turnaround,slowdown,longest_wait,score,ruled,"
            "rules\n"
            "1,first,turnaround,2,6,fcfs,12,1.2,9,12,1,1\n"
            "1,first,turnaround,2,6,easy,12,1.2,9,12,0,0\n"
            "2,queue,turnaround,3,6,fcfs,15,1.5,13,15,1,0\n"
            "2,queue,turnaround,3,6,easy,10.666666666666666,1.1333333333333333,9,"
            "10.666666666666666,0,1\n");
  EXPECT_EQ(summary.choices, 2u);
  EXPECT_EQ(summary.policy_changes, 1u);
  EXPECT_EQ(summary.look_ahead_passes, 12u);
  ASSERT_EQ(summary.ruled.size(), 2u);
  EXPECT_EQ(summary.ruled[0].first, "fcfs");
  EXPECT_DOUBLE_EQ(summary.ruled[0].second, 2.0 / 15);
  EXPECT_EQ(summary.ruled[1].first, "easy");
  EXPECT_DOUBLE_EQ(summary.ruled[1].second, 13.0 / 15);
  EXPECT_EQ(summary.mean_wait_s, 3);  // as under easy alone
}

TEST(Choices, SettingsWithCommasAreQuoted) {
  Choice choice{.members = {{"easy:order=sjf,half_life=2", {1, 2, 3}, 1}}};
  EXPECT_NE(written({{Time{}, choice}}).find(",\"easy:order=sjf,half_life=2\",1,2,3,1,1,1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace ductile
