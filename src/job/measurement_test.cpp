#include "job/measurement.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using namespace std::chrono_literals;
using Clock = Measurement::Clock;

Measurement new_measurement(std::chrono::milliseconds interval = 1s) {
  return {interval, "/no/such/folder", "/no/such/folder", Clock::time_point{}};
}

TEST(Measurement, SumsUpSinceTheLastReport) {
  Measurement its = new_measurement();
  its.add(wire::Measured{.looks = 10, .in_mpi = 2});
  its.add(wire::Measured{.looks = 10, .in_mpi = 3});
  its.add(wire::Iterations{.count = 2, .total_ns = 30, .longest_ns = 20});
  its.add(wire::Iterations{.count = 1, .total_ns = 30, .longest_ns = 30});
  const auto report = its.report(Clock::time_point{1s});
  EXPECT_EQ(report["looks"], 20u);
  EXPECT_EQ(report["in_mpi"], 5u);
  EXPECT_DOUBLE_EQ(report["mtct"], 1.0 / 3);
  EXPECT_EQ(report["iterations"], 3u);
  EXPECT_DOUBLE_EQ(report["iteration_s"], 20e-9);
  EXPECT_DOUBLE_EQ(report["longest_iteration_s"], 30e-9);
  EXPECT_FALSE(report.contains("power_w"));
  EXPECT_TRUE(its.report(Clock::time_point{2s}).is_null());
  // What was known stays so.
  EXPECT_DOUBLE_EQ(its.last()["mtct"], 1.0 / 3);
  EXPECT_DOUBLE_EQ(its.last()["iteration_s"], 20e-9);
  EXPECT_TRUE(its.last()["power_w"].is_null());
}

TEST(Measurement, OfWhoIsInMpiAllTheTimeIsNoNumber) {
  Measurement its = new_measurement();
  its.add(wire::Measured{.looks = 4, .in_mpi = 4});
  EXPECT_TRUE(its.report(Clock::time_point{1s})["mtct"].is_null());
  EXPECT_TRUE(its.last()["mtct"].is_null());
}

TEST(Measurement, ForgetsWhatTwoGenerationsDidOnTheSameCores) {
  Measurement its = new_measurement();
  its.add(wire::Measured{.looks = 4, .in_mpi = 1});
  its.forget();
  EXPECT_TRUE(its.report(Clock::time_point{1s}).is_null());
}

TEST(Measurement, IsDueOnceInAnInterval) {
  Measurement its = new_measurement(3s);
  EXPECT_EQ(its.next(), Clock::time_point{3s});
  its.report(Clock::time_point{4s});
  EXPECT_EQ(its.next(), Clock::time_point{7s});
  EXPECT_EQ(new_measurement(0s).next(), Clock::time_point::max());
}

TEST(Measurement, HasTheWattsOfFiles) {
  const std::string file = ::testing::TempDir() + "watts_of_0";
  std::ofstream(file) << "80\n";
  Measurement its = new_measurement();
  EXPECT_FALSE(its.last().contains("watts"));
  its.read_watts(WattFiles(::testing::TempDir() + "watts_of_%n"));
  auto report = its.report(Clock::time_point{1s}, {"0"});
  EXPECT_EQ(report["watts"], 80);
  EXPECT_FALSE(report.contains("why_no_watts"));
  EXPECT_EQ(its.last()["watts"], 80);
  report = its.report(Clock::time_point{2s}, {"0", "1"});
  EXPECT_TRUE(report["watts"].is_null());
  EXPECT_NE(std::string(report["why_no_watts"]).find("watts_of_1' cannot be read"),
            std::string::npos);
  EXPECT_TRUE(its.last()["watts"].is_null());
}

TEST(Measurement, SaysThatThereAreNoCounters) {
  EXPECT_THROW(Measurement(1s, "/no/such/folder", "/usual", Clock::time_point{}), InputError);
}

}  // namespace
}  // namespace ductile
