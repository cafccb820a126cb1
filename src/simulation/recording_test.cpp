#include "simulation/recording.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "simulation/simulation.hpp"
#include "support/small_log.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

SimulationSettings recorded() {
  SimulationSettings settings = small_settings();
  settings.rules.record = true;
  return settings;
}

std::string record(const Workload& workload, const SimulationSettings& settings) {
  const std::string path = path_of("run.log");
  {
    Recorder recorder(path);
    Observer* const observers[] = {&recorder};
    simulate(workload, settings, observers);
  }
  return text_of(path);
}

TEST(Recorder, WritesWhatHappenedAndWhatWasDecided) {
  const std::string log = record(small_workload(), recorded());
  EXPECT_EQ(log, sealed_log(kSmallLog));
  EXPECT_NE(log.find("\nend 23 "), std::string::npos);
}

TEST(Recorder, TheFileAppearsWhenTheRunIsFinished) {
  const std::string path = path_of("appears.log");
  std::filesystem::remove(path);
  {
    Recorder recorder(path);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists(path + ".part"));
  }  // the run failed
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));

  // What was there before stays until then.
  std::ofstream(path) << "old";
  { Recorder recorder(path); }
  EXPECT_EQ(text_of(path), "old");
  {
    Recorder recorder(path);
    Observer* const observers[] = {&recorder};
    simulate(small_workload(), recorded(), observers);
    EXPECT_NE(text_of(path), "old");
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  }
}

TEST(Recorder, ThatCannotWriteIsAnError) {
  EXPECT_THROW(Recorder(path_of("no/such/folder/run.log")), InputError);
  // The folder in which the log was to appear is a log's name by now.
  const std::string path = path_of("taken.log");
  Recorder recorder(path);
  std::filesystem::create_directories(path + "/in the way");
  Observer* const observers[] = {&recorder};
  EXPECT_THROW(simulate(small_workload(), recorded(), observers), RunError);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(Recorder, OfARunThatWasStoppedEndsThere) {
  SimulationSettings settings = recorded();
  const std::atomic<bool> stop = true;
  settings.stop = &stop;
  std::string begun = kSmallLog;
  begun.resize(begun.find("E 0"));  // before the first instant
  EXPECT_EQ(record(small_workload(), settings), sealed_log(begun));
}

TEST(SealedLog, EndsEveryLine) {
  const std::string log = kSmallLog;
  EXPECT_EQ(sealed_log(log.substr(0, log.size() - 1)), sealed_log(log));
  EXPECT_EQ(sealed_log(""), "end 0 0000000000000000\n");
}

}  // namespace
}  // namespace ductile
