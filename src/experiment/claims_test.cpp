#include "experiment/claims.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace ductile {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ClaimsTest : public ::testing::Test {
 protected:
  ClaimsTest() { fs::remove_all(folder_); }
  static PlannedRun run(const std::string& folder, const std::string& identity = "{}") {
    return {.folder = folder, .identity = identity};
  }
  const fs::path folder_ = fs::path(::testing::TempDir()) / "claims";
};

TEST_F(ClaimsTest, ARunIsTakenOnce) {
  Claims one(folder_, "one", 1h), two(folder_, "two", 1h);
  EXPECT_TRUE(one.take(run("a")));
  EXPECT_FALSE(one.take(run("a")));
  EXPECT_FALSE(two.take(run("a")));
  EXPECT_TRUE(two.take(run("b")));
  EXPECT_TRUE(two.take(run("a", "changed")));
  one.over(run("a"));
  EXPECT_FALSE(two.take(run("a")));
  EXPECT_FALSE(two.wait_for_others());
  Claims::set_over(folder_, run("a"), false);
  EXPECT_TRUE(two.take(run("a")));
  Claims::set_over(folder_, run("c"), true);
  EXPECT_FALSE(two.take(run("c")));
}

TEST_F(ClaimsTest, WhatTheDeadHadIsTakenOver) {
  { EXPECT_TRUE(Claims(folder_, "dead", 1h).take(run("a"))); }  // nobody touches it any more
  Claims lives(folder_, "lives", 50ms), other(folder_, "other", 100ms);
  EXPECT_TRUE(lives.take(run("b")));
  EXPECT_FALSE(other.take(run("a")));
  EXPECT_TRUE(other.wait_for_others());
  EXPECT_TRUE(other.take(run("a")));
  EXPECT_FALSE(other.take(run("b")));
  std::this_thread::sleep_for(300ms);  // it is touched all the time
  EXPECT_FALSE(other.take(run("b")));
  lives.over(run("b"));
  EXPECT_FALSE(other.wait_for_others());
}

}  // namespace
}  // namespace ductile
