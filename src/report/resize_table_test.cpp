#include "report/resize_table.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// Job 1 began on 4 nodes and gave two of them to job 2, which began on 5; then it grew.
RunPage run_of(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::create_directories(folder);
  std::ofstream(folder / "jobs.csv")
      << "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_"
         "time,"
         "final_state,starting_time,finish_time,waiting_time,turnaround_time,user,start_nodes,"
         "end_nodes,reason,static_runtime\n"
         "1,w,malleable,0,4,60,COMPLETED_SUCCESSFULLY,0,9,0,9,1,4,4,in-order,\n"
         "2,w,evolving,1,5,60,COMPLETED_SUCCESSFULLY,1,9,0,8,1,5,5,shrunk-for,\n";
  std::ofstream(folder / "resizes.csv")
      << "time,until,job,type,first_size,before,ordered,after,reason,for_job,outcome,cost_node_s\n"
         "1,1,1,malleable,4,4,2,2,shrunk-for,2,done,0\n"
         "2,2,1,malleable,4,2,4,2,hand-out,,refused,\n"
         "3,3,1,malleable,4,2,4,4,hand-out,,done,0\n";
  RunPage run{.folder = name, .path = folder, .summary = {}};
  run.summary.policy = "elastic";
  run.summary.nodes = 16;
  run.summary.expands = run.summary.shrinks = 1;
  run.summary.backfilled = 2;
  return run;
}

TEST(ResizeTables, CountWhatChanged) {
  const RunPage run = run_of("resizes_of_one");
  EXPECT_EQ(resize_tables({&run, 1}, ResizeFormat::csv),
            "policy,table,row,column,count,share\n"
            "elastic,reason,hand-out,grown,1,0.5\n"
            "elastic,reason,shrunk-for,shrunk,1,0.5\n"
            "elastic,type,malleable,grown,1,0.5\n"
            "elastic,type,malleable,shrunk,1,0.5\n"
            "elastic,first size,3–4,hand-out,1,0.5\n"
            "elastic,first size,3–4,shrunk-for,1,0.5\n"
            "elastic,gave,3–4,5–8,1,1\n"
            "elastic,gave by type,malleable,evolving,1,1\n"
            "elastic,jobs,3–4,grown,1,0.5\n"
            "elastic,jobs,3–4,shrunk,1,0.5\n"
            "elastic,events,all,grown,1,0.25\n"
            "elastic,events,all,shrunk,1,0.25\n"
            "elastic,events,all,backfilled,2,0.5\n");
  const std::string text = resize_tables({&run, 1}, ResizeFormat::text);
  EXPECT_NE(text.find("elastic: 2 resizes in 1 run\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n3–4           100.0 %  100.0 %      1\n"), std::string::npos) << text;
}

TEST(ResizeTables, OfRunsOfOnePolicyAreOfAllTogether) {
  const RunPage runs[] = {run_of("resizes_a"), run_of("resizes_b")};
  EXPECT_EQ(resize_tables(runs, ResizeFormat::json).substr(0, 45),
            "{\"policy\":\"elastic\",\"runs\":2,\"resizes\":4,\"rea");
}

TEST(ResizeTables, AFolderWithoutTheFileIsRefused) {
  RunPage run = run_of("resizes_missing");
  fs::remove(run.path / "resizes.csv");
  EXPECT_THROW(resize_tables({&run, 1}, ResizeFormat::text), InputError);
}

}  // namespace
}  // namespace ductile
