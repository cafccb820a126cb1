#include "experiment/run.hpp"

#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"
#include "support/small_run.hpp"
#include "workload/generate.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

Matrix generated_matrix() {
  Matrix matrix;
  for (const char* policy : {"fcfs", "easy"}) matrix.policies.push_back(make_policy(policy));
  matrix.seeds = {1, 2, 3};
  matrix.settings.platform.nodes = 50;
  matrix.settings.rules.identities = true;
  matrix.input = [](std::uint64_t seed) {
    const RigidModel model{.jobs = 200, .nodes = 50, .max_size = 20, .load = 0.9};
    return Input{std::make_shared<Workload>(generate_rigid(model, seed)), {}, 0.5};
  };
  return matrix;
}

// Without what measures the machine.
std::string text_of(Summary summary) {
  summary.load_seconds = summary.simulate_seconds = 0;
  summary.peak_rss_bytes = 0;
  return to_json(summary);
}

std::vector<std::string> results_of(const Matrix& matrix) {
  std::vector<std::string> results;
  run_matrix(matrix, [&](const Summary& summary) { results.push_back(text_of(summary)); });
  return results;
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    files[entry.path().lexically_relative(folder).string()] = text.str();
  }
  return files;
}

// But for what measures the machine.
void expect_same_files(const fs::path& one, const fs::path& other) {
  auto ones = files_of(one), others = files_of(other);
  EXPECT_EQ(ones.size(), others.size());
  for (auto& [name, text] : ones) {
    if (fs::path(name).filename() == "summary.json") continue;
    EXPECT_EQ(others[name], text) << name;
  }
}

TEST(RunMatrix, SummariesComeBySeedAndThenByPolicy) {
  std::vector<std::string> runs;
  run_matrix(generated_matrix(), [&](const Summary& summary) {
    runs.push_back(summary.policy + " " + std::to_string(summary.seed));
    EXPECT_EQ(summary.jobs, 200u);
    EXPECT_EQ(summary.load_seconds, 0.5);
    EXPECT_GT(summary.peak_rss_bytes, 1'000'000u);
  });
  EXPECT_THAT(runs, ElementsAre("fcfs 1", "easy 1", "fcfs 2", "easy 2", "fcfs 3", "easy 3"));
}

TEST(RunMatrix, AnyNumberOfThreadsGivesTheSameBytes) {
  Matrix matrix = generated_matrix();
  const fs::path base = fs::path(testing::TempDir()) / "threads";
  fs::remove_all(base);
  matrix.out = base / "1";
  const auto one = results_of(matrix);
  matrix.threads = 3;
  matrix.out = base / "3";
  EXPECT_EQ(results_of(matrix), one);

  EXPECT_EQ(files_of(base / "1").size(), 6u * 8 + 3);
  expect_same_files(base / "1", base / "3");
}

TEST(RunMatrix, ProcessesGiveTheSameBytes) {
  Matrix matrix = generated_matrix();
  matrix.threads = 2;
  const fs::path base = fs::path(testing::TempDir()) / "processes";
  fs::remove_all(base);
  matrix.out = base / "threads";
  const auto in_threads = results_of(matrix);
  matrix.fork = [] { return fork(); };
  matrix.out = base / "processes";
  Progress last;
  matrix.progress = [&](const Progress& progress) { last = progress; };
  EXPECT_EQ(results_of(matrix), in_threads);
  EXPECT_EQ(last.jobs_over, 1200u);

  expect_same_files(base / "threads", base / "processes");
}

TEST(RunMatrix, AnErrorInAProcessIsThrownHere) {
  Matrix matrix = generated_matrix();
  matrix.threads = 2;
  matrix.fork = [] { return fork(); };
  matrix.input = [](std::uint64_t) -> Input { throw InputError("a seed is bad", "leave it\nout"); };
  try {
    results_of(matrix);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "a seed is bad; leave it\nout");
  }
}

TEST(RunMatrix, AnInputIsMadeOnceForEachSeed) {
  Matrix matrix = generated_matrix();
  matrix.threads = 4;
  std::atomic<int> made = 0;
  matrix.input = [&made, input = matrix.input](std::uint64_t seed) {
    ++made;
    return input(seed);
  };
  results_of(matrix);
  EXPECT_EQ(made, 3);
}

TEST(RunMatrix, OneRunWritesIntoTheFolderItself) {
  Matrix matrix = generated_matrix();
  matrix.policies.resize(1);
  matrix.seeds = {7};
  matrix.out = fs::path(testing::TempDir()) / "one";
  fs::remove_all(matrix.out);
  results_of(matrix);
  EXPECT_TRUE(fs::exists(matrix.out / "jobs.csv"));
  EXPECT_EQ(files_of(matrix.out).size(), 8u);
}

TEST(RunMatrix, AnErrorStopsWhatDidNotBeginAndIsThrown) {
  Matrix matrix = generated_matrix();
  matrix.input = [input = matrix.input](std::uint64_t seed) {
    if (seed == 2) throw InputError("seed 2 is bad", "leave it");
    return input(seed);
  };
  std::vector<std::string> runs;
  EXPECT_THROW(run_matrix(matrix, [&](const Summary& summary) { runs.push_back(summary.policy); }),
               InputError);
  EXPECT_THAT(runs, ElementsAre("fcfs", "easy"));
}

TEST(RunMatrix, AStopLeavesOutWhatDidNotBegin) {
  Matrix matrix = generated_matrix();
  std::atomic<bool> stop = false;
  matrix.settings.stop = &stop;
  int runs = 0;
  run_matrix(matrix, [&](const Summary&) {
    ++runs;
    stop = true;
  });
  EXPECT_EQ(runs, 1);
}

TEST(RunMatrix, ProgressAddsUp) {
  Matrix matrix = generated_matrix();
  matrix.threads = 2;
  Progress last;
  matrix.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.jobs_over, last.jobs_over);
    last = progress;
  };
  results_of(matrix);
  EXPECT_EQ(last.jobs_over, 1200u);
  EXPECT_EQ(last.jobs, 1200u);
  EXPECT_EQ(last.runs, 6u);
}

TEST(FolderNames, AreSafeAndDiffer) {
  Matrix matrix;
  for (const char* policy : {"easy", "backfill:depth=5,order=sjf", "backfill:depth=5"}) {
    matrix.policies.push_back(make_policy(policy));
  }
  matrix.seeds = {1, 12};
  EXPECT_THAT(folder_names(matrix),
              ElementsAre("easy-s1", "backfill_depth=5_order=sjf-s1", "backfill_depth=5-s1",
                          "easy-s12", "backfill_depth=5_order=sjf-s12", "backfill_depth=5-s12"));
  matrix.policies.push_back(make_policy("easy"));
  matrix.seeds = {1};
  EXPECT_EQ(folder_names(matrix).back(), "easy-s1-2");
}

TEST(FolderNames, OfAnyTexts) {
  const auto names = [](const std::vector<std::string>& texts) { return folder_names(texts); };
  EXPECT_THAT(names({"x y", "x_y", "X-Y", "x-y"}), ElementsAre("x_y", "x_y-2", "X-Y", "x-y-2"));
  EXPECT_THAT(names({"", ".", "..", "...", "_."}), ElementsAre("_", "_.", "_..", "_...", "_.-2"));
  EXPECT_THAT(names({"a/b", "../a", "/", "\\"}), ElementsAre("a_b", "_.._a", "_", "_-2"));
  // A number may be taken as well.
  EXPECT_THAT(names({"a-2", "a", "A", "a"}), ElementsAre("a-2", "a", "A-3", "a-4"));
  EXPECT_THAT(names({"größe", "größe 2"}), ElementsAre("größe", "größe_2"));
}

}  // namespace
}  // namespace ductile
