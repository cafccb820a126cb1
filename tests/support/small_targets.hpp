// A small experiment, and the targets of a paper that it shows, for tests of what reads and judges
// them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "experiment/targets_file.hpp"

namespace ductile::testing {

inline constexpr const char* kSmallExperiment = R"(title = "An experiment"
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

/// A folder with this experiment, and a file of targets beside it.
class SmallTargets : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_ / "targets");
    std::ofstream(folder_ / "e.toml") << kSmallExperiment;
  }
  PaperTargets read(const std::string& text) const {
    const std::filesystem::path path = folder_ / "targets" / "007.toml";
    std::ofstream(path) << text;
    return read_targets(path.string(), folder_.string());
  }
  std::filesystem::path folder_;
};

inline constexpr const char* kSmallTargets = R"(title = "A paper"
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

}  // namespace ductile::testing
