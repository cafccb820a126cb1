#include "report/series.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

Time at(std::int64_t seconds) { return Time{whole_seconds(seconds)}; }

TEST(Series, ShowsEachChangeOfASmallRun) {
  const Workload workload = small_workload();
  Series series(workload);
  small_run(workload, small_settings(), {&series});
  const std::vector<Sample> expected = {{at(0), 3, 1, 0, 0, 0, 1},
                                        {at(1), 3, 1, 0, 0, 1, 1},
                                        {at(2), 4, 0, 0, 0, 1, 2},
                                        {at(10), 4, 0, 0, 0, 0, 1},
                                        {at(15), 0, 4, 0, 0, 0, 0}};
  EXPECT_EQ(series.samples(), expected);
  EXPECT_EQ(series.sampling_step(), Duration{});
}

TEST(Series, ShowsWhatAdaptiveJobsHold) {
  const Workload workload = small_resizing_workload();
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  Series series(workload);
  small_run(workload, settings, {&series});
  const std::vector<Sample> expected = {{at(0), 2, 2, 0, 0, 0, 1, 2},
                                        {at(4), 4, 0, 0, 0, 0, 2, 2},
                                        {at(8), 4, 0, 0, 0, 0, 1, 4},
                                        {at(14), 0, 4, 0, 0, 0, 0, 0}};
  EXPECT_EQ(series.samples(), expected);
}

TEST(Series, IsThinnedOutWhenItGetsLong) {
  Workload workload = small_workload();
  const WorkloadJob job = workload.jobs[2];
  workload.jobs.clear();
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    workload.jobs.push_back(job);
    workload.jobs.back().name = i + 1;
    workload.jobs.back().submit = at(static_cast<std::int64_t>(i) * 20);
  }
  Series series(workload);
  SimulationSettings settings = small_settings();
  settings.rules.check = false;  // slow, and not what this is about
  small_run(workload, settings, {&series});
  EXPECT_LE(series.samples().size(), 1u << 16);
  EXPECT_GT(series.samples().size(), 10'000u);
  EXPECT_GT(series.sampling_step(), Duration{});
  EXPECT_EQ(series.samples().back().running, 0u);
  for (std::size_t i = 1; i < series.samples().size(); ++i) {
    ASSERT_LT(series.samples()[i - 1].at, series.samples()[i].at);
  }
}

TEST(Series, ComesBackFromItsFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "series.csv";
  const std::vector<Sample> samples = {{Time{Duration{1'500'000}}, 3, 1, 2, 0, 7, 1, 2},
                                       {at(9), 0, 6, 0, 0, 0, 0, 0}};
  write_series(path, samples);
  EXPECT_EQ(read_series(path), samples);
  std::vector<Sample> powered = samples;
  powered[0].power_w = 1200.5;
  powered[1].power_cap_w = 700;
  write_series(path, powered);
  EXPECT_EQ(read_series(path), powered);
}

TEST(Series, AFileThatIsNoneIsAnInputError) {
  const auto path = std::filesystem::path(testing::TempDir()) / "bad.csv";
  EXPECT_THROW(read_series(path), InputError);
  const std::string header = "time,held,idle,claimed,out_of_service,pending,running,adaptive\n";
  const std::string powered = header.substr(0, header.size() - 1) + ",power_w,power_cap_w\n";
  for (const std::string& text :
       {std::string("time\n1\n"), header + "1,2,3\n", header + "1,2,3,4,5,6,7,8,9\n",
        header + "x,2,3,4,5,6,7,8\n", header + "1,2,3,4,5,6,7,-8\n",
        header + "1e300,2,3,4,5,6,7,8\n", powered + "1,2,3,4,5,6,7,8\n",
        powered + "1,2,3,4,5,6,7,8,9\n", powered + "1,2,3,4,5,6,7,8,,\n",
        powered + "1,2,3,4,5,6,7,8,9,x\n", powered + "1,2,3,4,5,6,7,8,9,10,\n"}) {
    std::ofstream(path) << text;
    EXPECT_THROW(read_series(path), InputError) << text;
  }
}

// Each node counts once, whoever shares it.
TEST(Series, SharedNodesAreHeldOnceByAdaptiveJobs) {
  const Workload workload = small_sharing_workload();
  Series series(workload);
  small_run(workload, small_sharing_settings(), {&series});
  ASSERT_EQ(series.samples().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(series.samples()[i].adaptive, i < 3 ? 2u : 0u) << i;
    EXPECT_EQ(series.samples()[i].held, i < 3 ? 2u : 0u) << i;
  }
}

}  // namespace
}  // namespace ductile
