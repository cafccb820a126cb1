#include "experiment/targets_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complaint.hpp"
#include "support/small_targets.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

using ::ductile::testing::kSmallTargets;

class TargetsFile : public testing::SmallTargets {
 protected:
  std::string error_of(const std::string& text) const {
    return testing::complaint([&] { read(text); });
  }
};

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
  EXPECT_THAT(error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\nmostly = [\"B\"]\n"),
              HasSubstr("007.toml:7: mostly: there is no statement 'B'"));
  EXPECT_THAT(error_of(head + "[[target]]\nid = \"A1\"\nsays = \"x\"\nbut_one = [\"A\"]\n"
                              "not_run = \"x\"\n"),
              HasSubstr("007.toml:8: not_run: has statements"));
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
