#include "report/jobs_csv.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kNames =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "final_state,starting_time,finish_time,waiting_time,turnaround_time,user,start_nodes,end_nodes,"
    "reason,static_runtime\n";

std::filesystem::path file_of(const std::string& rows) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "jobs.csv";
  std::ofstream(path) << kNames << rows;
  return path;
}

TEST(JobsCsv, IsReadBackToTheMicrosecond) {
  const JobsCsvRows read = read_jobs_csv(
      file_of("7,\"a, b\",malleable,1.5,4,60,COMPLETED_SUCCESSFULLY,2.000001,10,0.500001,8.5,3,4,2,"
              "backfilled,7.25\n"
              "8,\"a, b\",rigid,2,900,60,REJECTED,,,,,3,0,0,infeasible,\n"));
  EXPECT_EQ(read.workload, "a, b");
  ASSERT_EQ(read.rows.size(), 2u);
  const JobsCsvRow& row = read.rows[0];
  EXPECT_EQ(row.job, 7u);
  EXPECT_EQ(row.submit, Time{Duration{1'500'000}});
  EXPECT_EQ(row.start, Time{Duration{2'000'001}});
  EXPECT_EQ(row.end, Time{whole_seconds(10)});
  EXPECT_EQ(row.waited, Duration{500'001});
  EXPECT_EQ(row.turnaround, Duration{8'500'000});
  EXPECT_EQ(row.static_runtime, Duration{7'250'000});
  EXPECT_EQ(row.size, 4u);
  EXPECT_EQ(row.end_nodes, 2u);
  EXPECT_EQ(row.user, 3);
  EXPECT_EQ(row.reason, "backfilled");
  EXPECT_FALSE(read.rows[1].start);
  EXPECT_FALSE(read.rows[1].end);
  EXPECT_FALSE(read.rows[1].static_runtime);
}

TEST(JobsCsv, SaysWhatIsDamaged) {
  const auto message = [](const std::string& rows, const char* expected) {
    EXPECT_THAT([&] { read_jobs_csv(file_of(rows)); },
                ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message("x,w,rigid,1,4,60,REJECTED,,,,,3,0,0,infeasible,\n", "jobs.csv:2: job_id");
  message("1,w,rigid,1,4,60,COMPLETED_KILLED,5,4,1,1,3,4,4,in-order,\n", "is before its start");
  message("1,w,rigid,1,4,60,COMPLETED_KILLED,5,,1,1,3,4,4,in-order,\n", "jobs.csv:2: finish_time");
}

TEST(JobsFiles, KeepsTheLastOnesUpToSoManyRows) {
  const std::string row = ",w,rigid,1,4,60,REJECTED,,,,,3,0,0,infeasible,\n";
  const std::filesystem::path folder = testing::TempDir();
  for (const char* const name : {"a.csv", "b.csv", "c.csv"}) {
    std::ofstream(folder / name) << kNames << "2" << row << "1" << row;
  }
  JobsFiles files(4);
  EXPECT_EQ(files.of(folder / "a.csv")->rows.front().job, 1u);
  files.of(folder / "b.csv");
  files.of(folder / "a.csv");
  EXPECT_EQ(files.read(), 2u);
  files.of(folder / "c.csv");  // no room for b any more
  files.of(folder / "a.csv");
  EXPECT_EQ(files.read(), 3u);
  files.of(folder / "b.csv");
  EXPECT_EQ(files.read(), 4u);
}

TEST(MeasuredJobs, RanAndCameInTheMeantime) {
  const JobsCsvRows jobs = read_jobs_csv(
      file_of("1,w,rigid,1,4,60,COMPLETED_SUCCESSFULLY,2,9,1,8,3,4,4,in-order,\n"
              "2,w,rigid,2,4,60,COMPLETED_SUCCESSFULLY,9,12,7,10,3,4,4,in-order,\n"
              "3,w,rigid,2,900,60,REJECTED,,,,,3,0,0,infeasible,\n"
              "4,w,rigid,5,4,60,COMPLETED_SUCCESSFULLY,12,19,7,14,3,4,4,in-order,\n"));
  EXPECT_EQ(measured_jobs(jobs, {}).size(), 3u);
  const auto part = measured_jobs(jobs, {.measured_from_s = 2, .measured_until_s = 5});
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part.front().job, 2u);
}

}  // namespace
}  // namespace ductile
