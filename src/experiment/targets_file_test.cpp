#include "experiment/targets_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complaint.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kSmallExperiment = R"(title = "An experiment"
policy = ["easy", "fcfs"]
[[statement]]
id = "A"
figure = "mean_turnaround_s"
runs = "fcfs"
against = "easy"
percent = 40
[[otherwise]]
name = "half"
jobs = 5
)";

class TargetsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_ / "targets");
    std::ofstream(folder_ / "e.toml") << kSmallExperiment;
  }
  PaperTargets read(const std::string& text) const {
    const fs::path path = folder_ / "targets" / "007.toml";
    std::ofstream(path) << text;
    return read_targets(path.string(), folder_.string());
  }
  std::string error_of(const std::string& text) const {
    return testing::complaint([&] { read(text); });
  }
  fs::path folder_;
};

constexpr const char* kSmallTargets = R"(title = "A paper"
source = "A journal"
[[experiment]]
file = "e.toml"
seeds = "1..2"
[[target]]
id = "A1"
says = "forty | percent"
statements = ["A"]
[[target]]
id = "A2"
says = "lost"
not_comparable = "its table is MISSING"
[[target]]
id = "A3"
says = "on a machine"
not_run = "it needs hours"
[[figure]]
name = "Fig. 1"
targets = ["A1"]
[[figure]]
name = "Fig. 2"
none = "a drawing"
[[open]]
point = "the piece of the log"
choice = "the first"
)";

TEST_F(TargetsFile, AreOfTheStatementsOfExperiments) {
  const PaperTargets paper = read(kSmallTargets);
  ASSERT_EQ(paper.targets.size(), 3u);
  EXPECT_EQ(paper.experiments.at(0).seeds, "1..2");
  EXPECT_THAT(paper.targets[0].statements, ::testing::ElementsAre("A"));
  EXPECT_EQ(paper.figures.at(1).none, "a drawing");
  EXPECT_EQ(paper.open.at(0).choice, "the first");
}

TEST_F(TargetsFile, ErrorsSayTheLineAndTheRemedy) {
  const std::string head = "title = \"A\"\n[[experiment]]\nfile = \"e.toml\"\n";
  EXPECT_THAT(error_of("title = \"A\"\n[[experiment]]\nfile = \"f.toml\"\n"),
              HasSubstr("007.toml:3: file: "));
  EXPECT_THAT(
      error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\nstatements = [\"B\"]\n"),
      HasSubstr("007.toml:7: statements: there is no statement 'B'; it has to be one of e.toml"));
  EXPECT_THAT(error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\n"),
              HasSubstr("007.toml:4: target: 'A1' has no verdict"));
  EXPECT_THAT(error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\nverdict = \"met\"\n"),
              HasSubstr("verdict: target has no such field"));
  EXPECT_THAT(error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\nnot_run = \"y\"\n"
                              "[[target]]\nid = \"A1\"\nsays = \"x\"\nnot_run = \"y\"\n"),
              HasSubstr("id: 'A1' is there twice"));
  EXPECT_THAT(error_of(head), HasSubstr("has no target"));
  EXPECT_THAT(error_of("goal = 1\n"), HasSubstr("goal: there is no such field"));
}

}  // namespace
}  // namespace ductile
