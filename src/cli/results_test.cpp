#include "cli/results.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
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
  static void run(const Matrix& matrix) {
    run_matrix(matrix, [](const Summary&) {});
  }
  static void expect_refused(const Matrix& matrix, const std::string& why) {
    EXPECT_THAT([&] { need_room_for_results(matrix); }, ThrowsMessage<InputError>(HasSubstr(why)));
  }

  const fs::path folder_ = ::testing::TempDir() + "results";
};

TEST_F(Results, TheSameRunsMayBeWrittenAgain) {
  const Matrix two = matrix({"fcfs", "easy"}, {1});
  need_room_for_results(two);
  run(two);
  need_room_for_results(two);
}

TEST_F(Results, OthersAreRefusedByWhatDiffers) {
  run(matrix({"fcfs", "easy"}, {1}));
  expect_refused(matrix({"fcfs", "easy"}, {1}, "0.7"), "--load was 0.5, and is 0.7");
  expect_refused(matrix({"fcfs", "easy"}, {2}), "it has one of fcfs with seed 1");
  expect_refused(matrix({"fcfs"}, {1, 2}), "it has one of easy with seed 1, and this call has not");
  fs::remove(folder_ / "summary.json");  // as if it had been killed
  expect_refused(matrix({"fcfs", "easy"}, {1}, "0.7"), "--load was 0.5, and is 0.7");
  need_room_for_results(matrix({"fcfs", "easy"}, {1, 2}));
}

TEST_F(Results, AFolderOfOneRunIsOfThatOne) {
  run(matrix({"fcfs"}, {1}));
  need_room_for_results(matrix({"fcfs"}, {1}));
  expect_refused(matrix({"easy"}, {1}), "policy was fcfs, and is easy");
  expect_refused(matrix({"easy", "fcfs"}, {1}), "it has one of fcfs with seed 1");
}

TEST_F(Results, FilesOfARunThatWasKilledAreRefusedUntilTheyAreRemoved) {
  const Matrix one = matrix({"fcfs"}, {1});
  run(one);
  fs::remove(folder_ / "summary.json");
  expect_refused(one, "is there without summary.json");
  clear_results(one);
  need_room_for_results(one);
  run(one);
  std::ofstream(folder_ / "summary.json") << "{";
  EXPECT_THROW(need_room_for_results(one), InputError);
  clear_results(one);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Results, WhatDoesNotSayWhatItIsIsRefused) {
  Matrix unknown = matrix({"fcfs"}, {1});
  unknown.identity = {};
  run(unknown);
  expect_refused(matrix({"fcfs"}, {1}), "does not say what it was");
  unknown.identity = [](const Policy&, std::uint64_t) { return R"({"options": 3})"; };
  run(unknown);
  expect_refused(matrix({"fcfs"}, {1}), "is damaged");
}

TEST_F(Results, AllOfThemAreRemovedOrNothing) {
  const Matrix old = matrix({"fcfs", "easy"}, {1, 2}), next = matrix({"easy"}, {1}, "0.7");
  run(old);
  std::ofstream(folder_ / "easy-s2/jobs.csv.part") << "of a run that was killed";
  for (const char* mine : {"notes.txt", "easy-s1/notes.txt", "mine/jobs.csv"}) {
    fs::create_directories((folder_ / mine).parent_path());
    std::ofstream(folder_ / mine) << "mine";
    EXPECT_THAT([&] { clear_results(next); },
                ThrowsMessage<InputError>(HasSubstr("none of the results")));
    EXPECT_TRUE(fs::exists(folder_ / "fcfs-s1/jobs.csv"));
    EXPECT_TRUE(fs::exists(folder_ / mine));
    fs::remove(folder_ / mine);
    fs::remove(folder_ / "mine");
  }
  clear_results(next);
  EXPECT_TRUE(fs::is_empty(folder_));
  fs::remove(folder_);
  clear_results(next);
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace ductile
