#include "cli/run_identity.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class RunIdentity : public ::testing::Test {
 protected:
  RunIdentity() {
    fs::create_directories(folder_);
    std::ofstream(file_) << "123456789";
    command_.add_option("--trace", trace_, "a log");
    command_.add_option("--adaptive", adaptive_, "who adapts")->capture_default_str();
    command_.add_option("--overrun", overrun_, "extend [not what is meant] or kill [extend]");
    command_.add_option("--load", load_, "no default");
    command_.add_flag("--clip", clip_, "a flag");
    command_.add_option("--policy", policies_, "[easy]");
    command_.add_option("--seeds", seeds_, "[1]");
    command_.add_option("--out", out_, "a folder");
  }
  ~RunIdentity() override {
    unsetenv("DUCTILE_TRACES");
    fs::remove_all(folder_);
  }

  Json of(std::vector<std::string> arguments) {
    std::ranges::reverse(arguments);  // as the library wants them
    command_.parse(arguments);
    return common_identity(command_, {{"trace", file_}});
  }

  const std::string folder_ = ::testing::TempDir() + "run_identity";
  const std::string file_ = folder_ + "/log.swf";
  CLI::App command_{"", "simulate"};
  std::string trace_, adaptive_ = "auto", overrun_, seeds_, out_;
  std::vector<std::string> policies_;
  double load_ = 0;
  bool clip_ = false;
};

TEST_F(RunIdentity, HasWhatWasGivenAndWhatWasNot) {
  const Json run = of({"--trace", file_, "--policy", "easy", "--seeds", "1..3", "--out", "x"});
  EXPECT_EQ(run.at("options"), Json({{"trace", file_}}));
  EXPECT_EQ(
      run.at("defaults"),
      Json({{"adaptive", "auto"}, {"clip", false}, {"load", nullptr}, {"overrun", "extend"}}));
  // The check value of CRC-64/XZ.
  EXPECT_EQ(
      run.at("inputs"),
      Json::array(
          {{{"option", "trace"}, {"file", file_}, {"bytes", 9}, {"crc64", "995dc9bbdf1939fa"}}}));
  EXPECT_THAT(run.at("program").get<std::string>(), ::testing::StartsWith("ductile "));
}

TEST_F(RunIdentity, FlagsAreTrueAndNumbersAsTheyWereWritten) {
  const Json run = of({"--clip", "--load", "0.70", "--overrun=kill"});
  EXPECT_EQ(run.at("options"), Json({{"clip", true}, {"load", "0.70"}, {"overrun", "kill"}}));
}

TEST_F(RunIdentity, OfOneRunHasItsPolicyWithAllParameters) {
  const Json run = Json::parse(run_identity(of({}), Registry(), "backfill:depth=3", 7));
  EXPECT_EQ(run.at("policy"), "backfill:depth=3");
  EXPECT_EQ(run.at("parameters").at("depth"), "3");
  EXPECT_EQ(run.at("parameters").at("order"), "fcfs");
  EXPECT_EQ(run.at("seed"), 7);
}

TEST_F(RunIdentity, TheFolderOfAllLogsIsLeftOut) {
  setenv("DUCTILE_TRACES", folder_.c_str(), 1);
  const Json run = of({"--trace", file_});
  EXPECT_EQ(run.at("options").at("trace"), "log.swf");
  EXPECT_EQ(run.at("inputs")[0].at("file"), "log.swf");
  EXPECT_EQ(found_input("log.swf"), file_);
  EXPECT_EQ(found_input(file_), file_);
  EXPECT_EQ(found_input("no-such.swf"), "no-such.swf");
}

TEST_F(RunIdentity, WhatIsReadOnceHasNoSum) {
  EXPECT_EQ(read_content("/dev/null"), std::nullopt);
  EXPECT_THROW(read_content(folder_ + "/none"), InputError);
}

}  // namespace
}  // namespace ductile
