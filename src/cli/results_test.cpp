#include "cli/results.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "policies/registry.hpp"
#include "workload/generate.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Results : public ::testing::Test {
 protected:
  Results() { fs::remove_all(folder_); }
  ~Results() override { fs::remove_all(folder_); }

  // `load`: an option in which runs differ.
  Matrix matrix(std::vector<std::string> policies, std::vector<std::uint64_t> seeds,
                const std::string& load = "0.5") {
    Matrix matrix;
    for (const std::string& policy : policies) matrix.policies.push_back(make_policy(policy));
    matrix.seeds = std::move(seeds);
    matrix.settings.platform.nodes = 20;
    matrix.settings.rules.identities = true;
    matrix.input = [](std::uint64_t seed) {
      const RigidModel model{.jobs = 5, .nodes = 20, .max_size = 8, .load = 0.5};
      return Input{std::make_shared<Workload>(generate_rigid(model, seed)), {}, 0};
    };
    matrix.identity = [load](const Policy& policy, std::uint64_t seed) {
      return Json{{"program", "ductile 1"},           {"options", {{"load", load}}},
                  {"defaults", Json::object()},       {"inputs", Json::array()},
                  {"policy", policy.traits.settings}, {"seed", seed}}
          .dump();
    };
    matrix.out = folder_;
    return matrix;
  }
  // As `simulate` does before it runs anything.
  static void ready(Matrix matrix, bool force = false) {
    OpenResults open;
    matrix.results = &open.at({.folder = matrix.out}, force);
    if (force) clear_results(matrix);
    ready_results(matrix);
  }
  // How many runs were run, the others being there.
  static int run(Matrix matrix) {
    OpenResults open;
    matrix.results = &open.at({.folder = matrix.out}, false);
    ready_results(matrix);
    std::set<std::string> there;
    matrix.results->each_run("", [&](const PlannedRun& run) {
      if (run.is_over) there.insert(run.folder);
    });
    int runs = 0;
    run_matrix(matrix, [&](const Summary&) { ++runs; });
    return runs - static_cast<int>(there.size());
  }
  void expect_refused(const Matrix& matrix, const std::string& why) {
    const auto before = names();
    EXPECT_THAT([&] { ready(matrix); }, ThrowsMessage<InputError>(HasSubstr(why)));
    EXPECT_EQ(names(), before);
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      names.insert(entry.path().lexically_relative(folder_).string());
    }
    return names;
  }
  // As older versions wrote results.
  void forget() const { fs::remove(folder_ / "results.db"); }

  const fs::path folder_ = ::testing::TempDir() + "results";
};

TEST_F(Results, WhatIsThereIsNotRunAgain) {
  EXPECT_EQ(run(matrix({"fcfs", "easy"}, {1})), 2);
  EXPECT_EQ(run(matrix({"fcfs", "easy"}, {1})), 0);
  EXPECT_EQ(run(matrix({"fcfs", "easy"}, {1, 2})), 2);
  // The page draws the second seed now, from the files of its runs.
  EXPECT_EQ(run(matrix({"easy", "fcfs"}, {2})), 0);
  EXPECT_FALSE(fs::exists(folder_ / "fcfs-s1"));
  fs::remove(folder_ / "easy-s2/summary.json");
  EXPECT_EQ(run(matrix({"easy", "fcfs"}, {2})), 1);
  EXPECT_EQ(run(matrix({"easy"}, {2})), 1);  // in the folder itself
  EXPECT_FALSE(fs::exists(folder_ / "easy-s2"));
  EXPECT_FALSE(fs::exists(folder_ / "runs.csv"));
}

TEST_F(Results, OfWhatIsNotKnownTheSameRunsAreWrittenAgain) {
  const Matrix two = matrix({"fcfs", "easy"}, {1});
  run(two);
  forget();
  EXPECT_EQ(run(two), 2);
}

TEST_F(Results, OthersAreRefusedByWhatDiffers) {
  for (const bool is_known : {true, false}) {
    fs::remove_all(folder_);
    run(matrix({"fcfs", "easy"}, {1}));
    if (!is_known) forget();
    expect_refused(matrix({"fcfs", "easy"}, {1}, "0.7"), "--load was 0.5, and is 0.7");
    expect_refused(matrix({"fcfs", "easy"}, {2}), "with seed 1, and this call has not");
  }
  expect_refused(matrix({"fcfs"}, {1, 2}), "it has one of easy with seed 1, and this call has not");
  fs::remove(folder_ / "summary.json");  // as if it had been killed
  expect_refused(matrix({"fcfs", "easy"}, {1}, "0.7"), "--load was 0.5, and is 0.7");
  ready(matrix({"fcfs", "easy"}, {1, 2}));
}

TEST_F(Results, OfAnotherExperimentAreRefused) {
  run(matrix({"fcfs", "easy"}, {1}));
  OpenResults open;
  const ResultsPlace place{.folder = folder_, .experiment = "x.toml"};
  EXPECT_THAT(
      [&] { open.at(place, false); },
      ThrowsMessage<InputError>(HasSubstr("they are of no experiment file, and these of x.toml")));
}

TEST_F(Results, AFolderOfOneRunIsOfThatOne) {
  run(matrix({"fcfs"}, {1}));
  expect_refused(matrix({"easy"}, {1}), "policy was fcfs, and is easy");
  forget();
  ready(matrix({"fcfs"}, {1}));
  expect_refused(matrix({"easy"}, {1}), "policy was fcfs, and is easy");
  expect_refused(matrix({"easy", "fcfs"}, {1}), "it has one of fcfs with seed 1");
}

TEST_F(Results, FilesOfARunThatWasKilledAreRefusedUntilTheyAreRemoved) {
  const Matrix one = matrix({"fcfs"}, {1});
  run(one);
  forget();
  fs::remove(folder_ / "summary.json");
  expect_refused(one, "is there without summary.json");
  ready(one, true);
  EXPECT_EQ(run(one), 1);
  forget();
  std::ofstream(folder_ / "summary.json") << "{";
  EXPECT_THROW(ready(one), InputError);
  ready(one, true);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Results, WhatDoesNotSayWhatItIsIsRefused) {
  Matrix unknown = matrix({"fcfs"}, {1});
  unknown.identity = {};
  run_matrix(unknown, [](const Summary&) {});
  expect_refused(matrix({"fcfs"}, {1}), "does not say what it was");
  unknown.identity = [](const Policy&, std::uint64_t) { return R"({"options": 3})"; };
  run_matrix(unknown, [](const Summary&) {});
  expect_refused(matrix({"fcfs"}, {1}), "is damaged");
  fs::remove_all(folder_);
  run(unknown);
  expect_refused(matrix({"fcfs"}, {1}), "is damaged");
}

TEST_F(Results, ADamagedFileIsRefusedUntilItIsRemoved) {
  const Matrix one = matrix({"fcfs"}, {1});
  run(one);
  std::ofstream(folder_ / "results.db") << "no database, but long enough to be looked at as one is";
  expect_refused(one, "results.db: is damaged, or no results of ductile");
  ready(one, true);
  EXPECT_EQ(run(one), 1);
}

TEST_F(Results, TwoDoNotWriteAtTheSameTime) {
  const Matrix one = matrix({"fcfs"}, {1});
  run(one);
  OpenResults open;
  open.at({.folder = folder_}, false);
  expect_refused(one, "another ductile writes its results there");
}

TEST_F(Results, AllOfThemAreRemovedOrNothing) {
  const Matrix old = matrix({"fcfs", "easy"}, {1, 2}), next = matrix({"easy"}, {1}, "0.7");
  for (const bool is_known : {true, false}) {
    run(old);
    if (!is_known) forget();
    std::ofstream(folder_ / "easy-s2/jobs.csv.part") << "of a run that was killed";
    for (const char* mine : {"notes.txt", "easy-s1/notes.txt", "mine/jobs.csv"}) {
      fs::create_directories((folder_ / mine).parent_path());
      std::ofstream(folder_ / mine) << "mine";
      EXPECT_THAT([&] { ready(next, true); },
                  ThrowsMessage<InputError>(HasSubstr("none of the results")));
      EXPECT_TRUE(fs::exists(folder_ / "fcfs-s1/jobs.csv"));
      EXPECT_TRUE(fs::exists(folder_ / mine));
      fs::remove(folder_ / mine);
      fs::remove(folder_ / "mine");
    }
    ready(next, true);
    EXPECT_TRUE(fs::is_empty(folder_));
  }
}

}  // namespace
}  // namespace ductile
