#include "experiment/results_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/error.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class ResultsFileTest : public ::testing::Test {
 protected:
  ResultsFileTest() { fs::remove_all(folder_); }

  static PlannedRun run(std::uint64_t number, const std::string& identity = "{}") {
    const std::string name = "run-" + std::to_string(number);
    return {
        .folder = name, .number = number, .policy = "easy", .seed = number, .identity = identity};
  }
  static Summary summary(double wait_s) {
    Summary summary;
    summary.policy = "easy";
    summary.mean_wait_s = wait_s;
    summary.simulate_seconds = 7;
    summary.run = "{}";
    return summary;
  }
  static void plan(ResultsFile& file, std::size_t count, const std::string& identity = "{}") {
    file.plan("", count, [&](std::size_t i) { return run(i, identity); });
  }
  static std::vector<std::string> over(const ResultsFile& file) {
    std::vector<std::string> folders;
    file.each_run("", [&](const PlannedRun& run) {
      if (run.is_over) folders.push_back(run.folder);
    });
    return folders;
  }
  void sql(const char* text) const {
    sqlite3* database = nullptr;
    sqlite3_open((folder_ / "results.db").c_str(), &database);
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "results_file";
};

TEST_F(ResultsFileTest, KeepsWhatIsOverWithoutWhatMeasuresTheMachine) {
  {
    ResultsFile file(folder_);
    plan(file, 2);
    EXPECT_FALSE(file.has_any());
    file.add(run(0), summary(0.1));
  }
  const ResultsFile file(folder_);
  EXPECT_TRUE(file.has_any());
  EXPECT_THAT(over(file), ElementsAre("run-0"));
  const Summary again = file.summary("run-0");
  EXPECT_EQ(again.mean_wait_s, 0.1);
  EXPECT_EQ(again.simulate_seconds, 0);
  EXPECT_EQ(again.run, "");
  EXPECT_THROW(file.summary("run-1"), DamagedResults);
}

TEST_F(ResultsFileTest, APlanKeepsWhatHasNotChanged) {
  ResultsFile file(folder_);
  plan(file, 3);
  for (const std::uint64_t i : {0, 1, 2}) file.add(run(i), summary(1));
  plan(file, 3);
  EXPECT_THAT(over(file), ElementsAre("run-0", "run-1", "run-2"));
  plan(file, 2);
  EXPECT_THAT(over(file), ElementsAre("run-0", "run-1"));
  EXPECT_THAT(file.gone(""), ElementsAre("run-2"));
  EXPECT_FALSE(file.is_all_gone(""));
  file.forget_gone("");
  EXPECT_THAT(file.gone(""), IsEmpty());
  plan(file, 2, "{\"seed\":3}");
  EXPECT_THAT(over(file), IsEmpty());
  file.drop("");
  EXPECT_TRUE(file.is_all_gone(""));
}

TEST_F(ResultsFileTest, IsOfOneProcessAtATime) {
  const ResultsFile file(folder_);
  EXPECT_THAT([&] { ResultsFile other(folder_); },
              ThrowsMessage<InputError>(HasSubstr("another ductile writes its results there")));
}

TEST_F(ResultsFileTest, OtherFilesAreRefused) {
  fs::create_directories(folder_);
  sql("CREATE TABLE mine (x)");
  EXPECT_THAT([&] { ResultsFile file(folder_); },
              ThrowsMessage<InputError>(HasSubstr("is another database")));
  fs::remove(folder_ / "results.db");
  { const ResultsFile file(folder_); }
  sql("PRAGMA user_version = 99");
  EXPECT_THAT([&] { ResultsFile file(folder_); },
              ThrowsMessage<InputError>(HasSubstr("is of version 99")));
  std::ofstream(folder_ / "results.db") << std::string(5000, 'x');
  EXPECT_THROW(ResultsFile file(folder_), DamagedResults);
}

TEST_F(ResultsFileTest, ADamagedPageIsSaid) {
  {
    ResultsFile file(folder_);
    plan(file, 200);
    for (std::uint64_t i = 0; i < 200; ++i) file.add(run(i), summary(1));
  }
  // The middle of the file is another one.
  std::fstream bytes(folder_ / "results.db", std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(static_cast<std::streamoff>(fs::file_size(folder_ / "results.db") / 2 / 4096 * 4096));
  bytes << std::string(4096, 'x') << std::flush;
  EXPECT_THROW(ResultsFile file(folder_), DamagedResults);
}

TEST_F(ResultsFileTest, ADamagedRowIsSaid) {
  {
    ResultsFile file(folder_);
    plan(file, 2);
    file.add(run(0), summary(1));
  }
  sql("UPDATE runs SET summary = replace(summary, 'mean_wait_s', 'mean_wait_x')");
  const ResultsFile file(folder_);
  EXPECT_THROW(file.summary("run-0"), DamagedResults);
}

TEST_F(ResultsFileTest, TakesTheResultsOfAnotherFile) {
  ResultsFile one(folder_ / "1"), all(folder_);
  one.add(run(0), summary(3));
  plan(all, 2);
  all.add(run(0), one);
  EXPECT_EQ(all.summary("run-0").mean_wait_s, 3);
}

TEST_F(ResultsFileTest, HasAnExperimentOrNone) {
  ResultsFile file(folder_);
  EXPECT_EQ(file.experiment(), std::nullopt);
  file.set_experiment("x.toml");
  EXPECT_EQ(file.experiment(), "x.toml");
}

}  // namespace
}  // namespace ductile
