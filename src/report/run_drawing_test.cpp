#include "report/run_drawing.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "report/packed.hpp"
#include "report/run_folder.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

struct DrawnRun {
  fs::path folder;
  Summary summary;
};

DrawnRun run_of(const Workload& workload, const SimulationSettings& settings) {
  DrawnRun run{.folder = fs::path(testing::TempDir()) / "drawn"};
  fs::remove_all(run.folder);
  RunFolder files(run.folder, workload, settings.corridor);
  std::vector<Observer*> observers;
  files.add_observers(observers);
  run.summary = small_run(workload, settings, observers);
  files.finish(run.summary);
  return run;
}

RunDrawing drawing_of(const DrawnRun& run, std::size_t most_rows) {
  return draw_run(run.folder, run.summary, *JobsFiles().of(run.folder / "jobs.csv"), most_rows);
}

constexpr std::int64_t kSecond = 1'000'000;

TEST(RunDrawing, HasAllJobsAndWhatTheyHeld) {
  const DrawnRun run = run_of(small_workload(), small_settings());
  const RunDrawing drawing = drawing_of(run, 100);
  EXPECT_EQ(drawing.workload, "small");
  EXPECT_EQ(drawing.jobs, 3U);
  EXPECT_EQ(drawing.rows, 6U);
  EXPECT_TRUE(drawing.is_whole);
  EXPECT_EQ(drawing.json["nodes"], 4);
  EXPECT_EQ(drawing.json["makespan_s"], 15);

  Packed submitted({"job", "submit", "size", "walltime", "user", "type", "runtime"});
  submitted.word("type", "rigid");
  submitted.add({1, 0, 3, 10 * kSecond, 7, 0, 10 * kSecond});
  submitted.add({2, 1 * kSecond, 4, 5 * kSecond, 7, 0, 5 * kSecond});
  submitted.add({3, 2 * kSecond, 1, 8 * kSecond, 7, 0, 8 * kSecond});
  EXPECT_EQ(drawing.submitted, submitted.json());

  Packed jobs({"start", "end", "reason", "state", "start_nodes", "end_nodes", "held_back"});
  jobs.word("reason", "in-order");
  jobs.word("reason", "backfilled");
  jobs.word("state", "COMPLETED_SUCCESSFULLY");
  jobs.add({0, 10 * kSecond, 0, 0, 3, 3, 0});
  jobs.add({10 * kSecond, 15 * kSecond, 0, 0, 4, 4, 0});
  jobs.add({2 * kSecond, 10 * kSecond, 1, 0, 1, 1, 0});
  EXPECT_EQ(drawing.json["jobs"], jobs.json());

  Packed held({"job", "from", "until", "first", "last", "size", "reason", "for", "cores", "guest"});
  held.word("reason", "in-order");
  held.word("reason", "backfilled");
  held.add({0, 0, 10 * kSecond, 0, 2, 3, 0, -1, 0, 0});
  held.add({2, 2 * kSecond, 10 * kSecond, 3, 3, 1, 1, -1, 0, 0});
  held.add({1, 10 * kSecond, 15 * kSecond, 0, 3, 4, 0, -1, 0, 0});
  EXPECT_EQ(drawing.json["allocations"], held.json());
  EXPECT_EQ(drawing.json["series"]["rows"], 5);
}

TEST(RunDrawing, OfSharedNodesSaysWhoIsTheGuest) {
  const DrawnRun run = run_of(small_sharing_workload(), small_sharing_settings());
  const RunDrawing drawing = drawing_of(run, 100);
  Packed held({"job", "from", "until", "first", "last", "size", "reason", "for", "cores", "guest"});
  held.word("reason", "in-order");
  held.word("reason", "guest");
  held.add({0, 0, 10 * kSecond, 0, 1, 2, 0, -1, 0, 0});
  held.add({1, 10 * kSecond, 14 * kSecond, 0, 1, 2, 1, -1, 4, 1});
  held.add({0, 10 * kSecond, 14 * kSecond, 0, 1, 2, 1, 1, 4, 0});
  held.add({0, 14 * kSecond, 102 * kSecond, 0, 1, 2, 1, -1, 0, 0});
  EXPECT_EQ(drawing.json["allocations"], held.json());
  EXPECT_EQ(drawing.json["cores_per_node"], 8);
}

TEST(RunDrawing, SaysWhatWasMeasured) {
  DrawnRun run = run_of(small_workload(), small_settings());
  EXPECT_FALSE(drawing_of(run, 100).json.contains("measured"));
  run.summary.measured_until_s = 2;
  EXPECT_EQ(drawing_of(run, 100).json["measured"].dump(), "{\"from_s\":null,\"until_s\":2.0}");
}

TEST(RunDrawing, OfResizesSaysWhatTheyCost) {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy(kSmallResizingPolicy);
  const auto resizes = drawing_of(run_of(small_resizing_workload(), settings), 100).json["resizes"];
  EXPECT_EQ(resizes["rows"], 1);
  EXPECT_EQ(resizes["columns"].back(), "cost");
}

TEST(RunDrawing, LeavesTheLastJobsOutWhereThereIsNoRoom) {
  const DrawnRun run = run_of(small_workload(), small_settings());
  const RunDrawing drawing = drawing_of(run, 5);
  EXPECT_EQ(drawing.jobs, 2U);
  EXPECT_EQ(drawing.rows, 4U);
  EXPECT_FALSE(drawing.is_whole);
  EXPECT_EQ(drawing.json["allocations"]["rows"], 2);
}

// A run that was stopped has no row of jobs.csv for what runs.
TEST(RunDrawing, OfAStoppedRunHasWhatRuns) {
  DrawnRun run = run_of(small_workload(), small_settings());
  const fs::path path = run.folder / "jobs.csv";
  std::string text, line;
  std::ifstream file(path);
  while (std::getline(file, line)) {
    if (!line.starts_with("2,")) text += line + '\n';
  }
  std::ofstream(path) << text;
  run.summary.stopped = true;
  const RunDrawing drawing = drawing_of(run, 100);
  EXPECT_EQ(drawing.jobs, 3U);
  EXPECT_EQ(drawing.json["jobs"]["words"]["state"].dump(),
            "[\"COMPLETED_SUCCESSFULLY\",\"RUNNING\"]");
  EXPECT_EQ(drawing.json["allocations"]["rows"], 3);
}

TEST(RunDrawing, HasTheChoicesThatChangedWhoRules) {
  SimulationSettings settings = small_settings();
  settings.policy = make_policy("portfolio:of=fcfs|easy,shift=1.5,check=0");
  const DrawnRun run = run_of(small_workload(), settings);
  const auto choices = drawing_of(run, 100).json["choices"];
  ASSERT_EQ(choices.size(), 2U) << choices;
  EXPECT_EQ(choices[1]["at_s"], 2);
  EXPECT_EQ(choices[1]["ruled"], "fcfs");
  EXPECT_EQ(choices[1]["rules"], "easy");
  EXPECT_EQ(choices[1]["occasion"], "queue");
  EXPECT_EQ(choices[1]["scores"].size(), 2U);
}

TEST(RunDrawing, HasNodesThatWereDownAndTheCorridor) {
  SimulationSettings settings = small_settings();
  settings.node_events = {{Time{whole_seconds(4)}, NodeSet{{{3, 3}}}, Health::down},
                          {Time{whole_seconds(6)}, NodeSet{{{3, 3}}}, Health::up}};
  settings.corridor = {{Time{}, 0, 500}};
  const DrawnRun run = run_of(small_workload(), settings);
  const auto json = drawing_of(run, 100).json;
  EXPECT_EQ(json["outages"].dump(),
            "[{\"from_s\":4.0,\"until_s\":6.0,\"first\":3,\"last\":3,\"state\":\"down\"}]");
  EXPECT_EQ(json["corridor"].dump(), "[{\"at_s\":0.0,\"low_w\":null,\"high_w\":500.0}]");
}

}  // namespace
}  // namespace ductile
