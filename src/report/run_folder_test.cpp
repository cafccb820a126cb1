#include "report/run_folder.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/small_run.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

RunPage write_run(const fs::path& folder, const Workload& workload,
                  const SimulationSettings& settings) {
  RunFolder files(folder, workload);
  std::vector<Observer*> observers;
  files.add_observers(observers);
  const Summary summary = small_run(workload, settings, observers);
  files.finish(summary);
  files.write_summary(summary);
  return {.folder = folder.filename().string(), .path = folder, .summary = summary};
}

TEST(RunFolder, FilesOfARunByHand) {
  const fs::path folder = fresh_folder("by_hand");
  write_run(folder, small_workload(), small_settings());

  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  EXPECT_THAT(names,
              testing::ElementsAre("allocations.csv", "decisions.csv", "jobs.csv", "report.html",
                                   "resizes.csv", "series.csv", "summary.json", "trace.json"));
  EXPECT_EQ(content(folder / "jobs.csv"),
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
            "requested_time,success,final_state,starting_time,execution_time,finish_time,"
            "waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata,"
            "user,start_nodes,end_nodes,expands,shrinks,restarts,reason,static_runtime\n"
            "1,small,rigid,0,3,10,1,COMPLETED_SUCCESSFULLY,0,10,10,0,10,1,0-2,-1,,"
            "7,3,3,0,0,0,in-order,10\n"
            "3,small,rigid,2,1,8,1,COMPLETED_SUCCESSFULLY,2,8,10,0,8,1,3,-1,,"
            "7,1,1,0,0,0,backfilled,8\n"
            "2,small,rigid,1,4,5,1,COMPLETED_SUCCESSFULLY,10,5,15,9,14,2.8,0-3,-1,,"
            "7,4,4,0,0,0,in-order,5\n");
  EXPECT_EQ(content(folder / "allocations.csv"),
            "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n"
            "1,0,10,3,0-2,3,in-order,,,\n3,2,10,1,3,1,backfilled,,,\n"
            "2,10,15,4,0-3,4,in-order,,,\n");
  EXPECT_EQ(content(folder / "decisions.csv"),
            "time,id,decision,job,size_before,size,nodes,reason,for_job,limit\n"
            "0,1,start,1,0,3,0-2,in-order,,10\n"
            "2,2,start,3,0,1,3,backfilled,,10\n"
            "10,3,start,2,0,4,0-3,in-order,,15\n");
  EXPECT_EQ(content(folder / "series.csv"),
            "time,held,idle,claimed,out_of_service,pending,running,adaptive\n"
            "0,3,1,0,0,0,1,0\n1,3,1,0,0,1,1,0\n2,4,0,0,0,1,2,0\n10,4,0,0,0,0,1,0\n"
            "15,0,4,0,0,0,0,0\n");
  const auto summary = nlohmann::json::parse(content(folder / "summary.json"));
  EXPECT_EQ(summary["mean_wait_s"], 3);
}

TEST(RunFolder, TheTraceHasASliceForEachShareOfCores) {
  const fs::path folder = fresh_folder("cores");
  write_run(folder, small_sharing_workload(), small_sharing_settings());
  const auto trace = nlohmann::json::parse(content(folder / "trace.json"));
  std::vector<std::string> seen;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto& args = event["args"];
    seen.push_back(fmt::format(
        "{} {} {} {}", event["name"].get<std::string>(), event["ts"].get<int>() / 1'000'000,
        event["dur"].get<int>() / 1'000'000, args.value("cores", std::string("alone"))));
  }
  EXPECT_THAT(seen,
              testing::ElementsAre("job 2 10 4 4@0-1", "job 1 0 102 alone", "size 2 0 10 alone",
                                   "size 2 10 4 4@0-1", "size 2 14 88 alone"));
}

// 100 W idle and 300 W busy: a busy node draws 200 W above idle.
TEST(RunFolder, JobsHaveTheirEnergyAboveIdle) {
  const fs::path folder = fresh_folder("energy");
  SimulationSettings settings = small_settings();
  settings.platform.idle_w = 100;
  settings.platform.busy_w = 300;
  write_run(folder, small_workload(), settings);
  EXPECT_THAT(content(folder / "jobs.csv"), HasSubstr(",0-2,6000,,"));
  EXPECT_THAT(content(folder / "jobs.csv"), HasSubstr(",3,1600,,"));
}

TEST(RunFolder, ARejectedJobHasARowWithoutTimes) {
  const fs::path folder = fresh_folder("rejected");
  Workload workload = small_workload();
  workload.jobs[1].nodes = 5;
  write_run(folder, workload, small_settings());
  EXPECT_THAT(content(folder / "jobs.csv"),
              HasSubstr("2,small,rigid,1,5,5,0,REJECTED,,,,,,,,-1,,7,0,0,0,0,0,infeasible,5\n"));
  EXPECT_THAT(content(folder / "decisions.csv"), HasSubstr(",reject,2,"));
}

TEST(RunFolder, JobsThatFailAndAreKilled) {
  const fs::path folder = fresh_folder("killed");
  Workload workload = small_workload();
  workload.jobs[1].walltime = whole_seconds(3);
  SimulationSettings settings = small_settings();
  settings.kill_overrun = true;
  settings.on_failure = SimulationSettings::OnFailure::kill;
  settings.node_events = {{Time{whole_seconds(3)}, NodeSet{{{3, 3}}}, Health::down},
                          {Time{whole_seconds(9)}, NodeSet{{{3, 3}}}, Health::up}};
  write_run(folder, workload, settings);
  const std::string jobs = content(folder / "jobs.csv");
  EXPECT_THAT(jobs,
              HasSubstr("2,small,rigid,1,4,3,0,COMPLETED_WALLTIME_REACHED,10,3,13,9,12,4,0-3,"));
  EXPECT_THAT(jobs, HasSubstr("3,small,rigid,2,1,8,0,COMPLETED_KILLED,2,1,3,0,1,1,3,"));
  EXPECT_THAT(content(folder / "series.csv"), HasSubstr("\n3,3,0,0,1,1,1,0\n"));
}

TEST(RunFolder, TheTraceIsJsonWithASliceForEachJob) {
  const fs::path folder = fresh_folder("trace");
  write_run(folder, small_workload(), small_settings());
  const auto trace = nlohmann::json::parse(content(folder / "trace.json"));
  std::vector<nlohmann::json> slices;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event);
  }
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[1]["name"], "job 3");
  EXPECT_EQ(slices[1]["cat"], "backfilled");
  EXPECT_EQ(slices[1]["ts"], 2'000'000);
  EXPECT_EQ(slices[1]["dur"], 8'000'000);
  EXPECT_EQ(slices[1]["args"]["nodes"], "3");
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[2]["args"]["wait_s"], 9);
  EXPECT_EQ(trace["otherData"]["starts_left_out"], 0);
}

TEST(RunFolder, TheSameRunGivesTheSameBytes) {
  const fs::path a = fresh_folder("same_a"), b = fresh_folder("same_b");
  write_run(a, small_workload(), small_settings());
  write_run(b, small_workload(), small_settings());
  for (const char* file : {"jobs.csv", "allocations.csv", "resizes.csv", "decisions.csv",
                           "series.csv", "trace.json", "report.html"}) {
    EXPECT_EQ(content(a / file), content(b / file)) << file;
  }
}

TEST(RunFolder, NothingIsLeftOfARunThatFails) {
  const fs::path folder = fresh_folder("fails");
  const Workload workload = small_workload();
  { RunFolder files(folder, workload); }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(RunFolder, AComparisonNamesTheFolders) {
  const fs::path folder = fresh_folder("comparison");
  SimulationSettings settings = small_settings();
  std::vector<RunPage> pages;
  pages.push_back(write_run(folder / "easy-s1", small_workload(), settings));
  settings.policy = make_policy("fcfs");
  pages.push_back(write_run(folder / "fcfs-s1", small_workload(), settings));
  write_comparison(folder, pages);
  const auto summary = nlohmann::json::parse(content(folder / "summary.json"));
  ASSERT_EQ(summary["runs"].size(), 2u);
  EXPECT_EQ(summary["runs"][1]["folder"], "fcfs-s1");
  EXPECT_EQ(summary["runs"][1]["policy"], "fcfs");
  EXPECT_NE(content(folder / "report.html").find("\"folder\":\"fcfs-s1\""), std::string::npos);
}

TEST(RunFolder, AComparisonHasALineForEachRun) {
  const fs::path folder = fresh_folder("lines");
  fs::create_directories(folder);
  RunPage first, second;
  first.folder = "easy_order=sjf-s1";
  first.summary.policy = "backfill:depth=5,order=sjf";
  first.summary.jobs = 3;
  first.summary.mean_wait_s = 1.5;
  second.folder = "easy-s1";
  second.summary.variant = "a \"b\"";
  second.summary.policy = "easy";
  second.summary.stopped = true;
  second.summary.jobs_in_all = 7;
  write_comparison(folder, {first, second});
  const std::string text = content(folder / "runs.csv");
  const std::string header = text.substr(0, text.find('\n'));
  EXPECT_THAT(header,
              testing::StartsWith("folder,variant,policy,seed,jobs,skipped,nodes,makespan_s,"));
  EXPECT_THAT(header, testing::EndsWith(",measured_from_s,measured_until_s,jobs_in_all,mean_hops,"
                                        "links_used_mean,links_used_max"));
  EXPECT_THAT(text, HasSubstr("\neasy_order=sjf-s1,,\"backfill:depth=5,order=sjf\",1,3,0,0,0,,"));
  EXPECT_THAT(text, HasSubstr("\neasy-s1,\"a \"\"b\"\"\",easy,1,0,"));
  EXPECT_THAT(text, testing::EndsWith(",,,7,,,\n"));
}

}  // namespace
}  // namespace ductile
