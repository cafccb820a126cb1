#include "cli/workload.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/swf_options.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// What `ductile workload ARGUMENTS...` prints.
std::string run(std::vector<std::string> arguments) {
  CLI::App app;
  add_workload_command(app);
  arguments.insert(arguments.begin(), "workload");
  std::ranges::reverse(arguments);  // as the library wants them
  ::testing::internal::CaptureStdout();
  try {
    app.parse(arguments);
  } catch (...) {
    ::testing::internal::GetCapturedStdout();
    throw;
  }
  return ::testing::internal::GetCapturedStdout();
}

class WorkloadCommand : public ::testing::Test {
 protected:
  ~WorkloadCommand() override { std::filesystem::remove(file_); }
  std::string file_ = ::testing::TempDir() + "workload_command_test.swf";
};

TEST_F(WorkloadCommand, GeneratesWhatInfoReads) {
  EXPECT_EQ(run({"generate", "rigid:jobs=200,nodes=80", "--seed", "3", "--out", file_}), "");
  const auto json = nlohmann::json::parse(run({"info", file_, "--json"}));
  EXPECT_EQ(json["name"], "workload_command_test");
  EXPECT_EQ(json["computer"], "synthetic, 80 nodes");
  EXPECT_EQ(json["nodes"], 80);
  EXPECT_EQ(json["jobs"], 200);
  EXPECT_EQ(json["skipped"], 0);
  EXPECT_EQ(json["requested_share"], 1.0);
  EXPECT_EQ(json["overrun_share"], 0.0);
  EXPECT_GT(json["offered_load"], 0.5);

  const std::string text = run({"info", file_, "--nodes", "32"});
  EXPECT_THAT(text, HasSubstr("workload_command_test\n  computer              synthetic, 80 nodes\n"
                              "  machine               32 nodes of 1 core\n"));
  EXPECT_THAT(text, HasSubstr("lines skipped: "));
  EXPECT_THAT(text, HasSubstr(" larger than the machine\n"));
  EXPECT_THAT(text, HasSubstr("run time (s)"));
}

TEST_F(WorkloadCommand, RulesChangeWhatIsRead) {
  run({"generate", "rigid:jobs=200,nodes=80", "--out", file_});
  const auto jobs = [&](std::vector<std::string> rules) {
    rules.insert(rules.begin(), {"info", file_, "--json"});
    return nlohmann::json::parse(run(rules));
  };
  EXPECT_EQ(jobs({"--jobs", "10"})["jobs"], 10);
  EXPECT_EQ(jobs({"--skip", "150"})["jobs"], 50);
  EXPECT_EQ(jobs({"--skip", "150", "--jobs", "10"})["jobs"], 10);
  EXPECT_EQ(jobs({"--skip", "200"})["jobs"], 0);
  EXPECT_EQ(jobs({"--partition", "5"})["filtered"], 200);
  EXPECT_EQ(jobs({"--cores-per-node", "8"})["nodes"], 10);
  EXPECT_EQ(jobs({"--min-runtime", "100000"})["runtime_s"]["min"], 100000);
  const auto clipped =
      jobs({"--nodes", "8", "--clip", "--size", "allocated", "--never-started", "drop"});
  EXPECT_EQ(clipped["jobs"], 200);
  EXPECT_GT(clipped["clipped"], 0);
  EXPECT_EQ(clipped["size_nodes"]["max"], 8);
  const auto small = jobs({"--max-size", "8"});
  EXPECT_EQ(small["size_nodes"]["max"], 8);
  EXPECT_EQ(small["skipped_by_cause"]["above_max_size"], clipped["clipped"]);
  for (const char* all : {"completed", "failed,completed", "any", "cancelled,any"}) {
    EXPECT_EQ(jobs({"--status", all})["jobs"], 200) << all;
  }
  EXPECT_EQ(jobs({"--status", "failed", "--status", "completed"})["jobs"], 200);
  EXPECT_EQ(jobs({"--status", "failed,unknown"})["skipped_by_cause"]["other_status"], 200);
}

TEST_F(WorkloadCommand, GeneratesToTheStandardOutput) {
  EXPECT_THAT(run({"generate", "rigid:jobs=1"}),
              HasSubstr("; Note: rigid:jobs=1,nodes=500,max_size=64,load=0.9, seed 1\n1 "));
}

TEST_F(WorkloadCommand, SaysWhatIsWrong) {
  EXPECT_THAT(
      [&] {
        run({"info", file_});
      },
      ThrowsMessage<InputError>(HasSubstr("cannot be read")));
  EXPECT_THAT(
      [&] {
        run({"generate", "rigid", "--out", ::testing::TempDir()});
      },
      ThrowsMessage<InputError>(HasSubstr("cannot be written")));
  EXPECT_THAT(
      [&] {
        run({"generate", "rigit"});
      },
      ThrowsMessage<InputError>(HasSubstr("no workload model 'rigit'")));
  EXPECT_THROW(run({}), CLI::ParseError);
  EXPECT_THROW(run({"info"}), CLI::ParseError);
  EXPECT_THROW(run({"info", "x", "--size", "huge"}), CLI::ParseError);
  EXPECT_THROW(run({"info", "x", "--max-size", "0"}), CLI::ParseError);
  EXPECT_THAT(
      [&] {
        run({"info", "x", "--status", "completed,done"});
      },
      ThrowsMessage<InputError>("--status: there is no 'done'; use completed, failed, cancelled, "
                                "partial, unknown, any"));
}

TEST_F(WorkloadCommand, AnEmptyLogIsNoError) {
  run({"generate", "rigid:jobs=5", "--out", file_});
  const std::string text = run({"info", file_, "--partition", "3"});
  EXPECT_THAT(text, HasSubstr("jobs                  0\n"));
  EXPECT_THAT(text, HasSubstr("5 lines that were not asked for\n"));
}

TEST(SkippedText, NamesTheCauses) {
  EXPECT_EQ(skipped_text({}), "");
  EXPECT_EQ(skipped_text({.no_size = 3, .too_large = 5, .filtered = 9}),
            "8 lines skipped: 3 without a size, 5 larger than the machine");
  EXPECT_EQ(skipped_text({.other_status = 2, .above_max_size = 1}),
            "3 lines skipped: 2 of another status, 1 larger than --max-size");
}

}  // namespace
}  // namespace ductile
