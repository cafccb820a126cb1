#include "report/figures.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "report/run_folder.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

RunPage run_in(const fs::path& folder, const SimulationSettings& settings) {
  const Workload workload = small_workload();
  RunFolder files(folder, workload);
  std::vector<Observer*> observers;
  files.add_observers(observers);
  RunPage run{.folder = "", .path = folder, .summary = small_run(workload, settings, observers)};
  files.finish(run.summary);
  return run;
}

TEST(Figures, OfARunByHandHaveItsNumbers) {
  const fs::path folder = fs::path(testing::TempDir()) / "figures_by_hand";
  fs::remove_all(folder);
  const RunPage run = run_in(folder / "run", small_settings());
  EXPECT_EQ(write_figures(folder / "pictures", {&run, 1}, {}), 8U);
  const std::string rows = content(folder / "pictures" / ("gantt-" + run.summary.policy + ".csv"));
  EXPECT_EQ(rows, "job,from_s,until_s,first_node,last_node\n1,0,10,0,2\n3,2,10,3,3\n2,10,15,0,3\n");
  const std::string picture = content(folder / "pictures/utilization.svg");
  EXPECT_NE(picture.find(">nodes in use (%)</text>"), std::string::npos);
  EXPECT_NE(picture.find(">time (s)</text>"), std::string::npos);
}

TEST(Figures, OfRunsWithoutFilesAreRefused) {
  const RunPage run{.folder = "", .path = "/there/is/none", .summary = {}};
  const fs::path folder = fs::path(testing::TempDir()) / "figures_of_nothing";
  EXPECT_THROW(write_figures(folder, {&run, 1}, {}), InputError);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace ductile
