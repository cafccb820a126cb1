#include "slurm/shadow.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/sacct.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

/// A Slurm that tells of these jobs, and of which nothing else may be asked.
class Untouched final : public Slurm {
 public:
  std::vector<SlurmJob> all{};
  bool is_exclusive = true;

  SlurmFacts facts() override { return {.is_exclusive = is_exclusive, .nodes = {"n1", "n2"}}; }
  std::vector<SlurmNode> nodes() override { return {{.name = "n1"}, {.name = "n2"}}; }
  std::optional<std::vector<SlurmJob>> jobs() override { return all; }
  void start(const SlurmStart&) override { touched(); }
  void hold(std::uint64_t, Nodes, Nodes, const std::vector<std::string>&,
            const std::string&) override {
    touched();
  }
  void release(std::uint64_t) override { touched(); }
  void keep(std::uint64_t, const std::vector<std::string>&) override { touched(); }
  void grow(const SlurmJob&, const std::vector<std::string>&, std::uint64_t) override { touched(); }
  void end(std::uint64_t, bool) override { touched(); }
  void set_limit(std::uint64_t, Duration) override { touched(); }
  void split(std::uint64_t, std::uint32_t) override { touched(); }

 private:
  static void touched() { ADD_FAILURE() << "a shadow touches nothing"; }
};

Time at(std::int64_t s) { return Time{whole_seconds(1'700'000'000 + s)}; }

class ShadowTest : public ::testing::Test {
 public:
  ShadowTest() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }

  SlurmJob& submit(std::uint64_t number, std::int64_t second) {
    slurm.all.push_back({.number = number,
                         .account = "a|b",  // which would break the table
                         .partition = "batch",
                         .least = 2,
                         .limit = whole_seconds(600),
                         .submitted = at(second),
                         .eligible = at(second)});
    return slurm.all.back();
  }
  std::unique_ptr<ShadowRecord> begin() {
    return std::make_unique<ShadowRecord>(slurm, "batch", folder);
  }
  std::string text() const {
    std::ifstream file(folder + kShadowJobs, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  SacctInput input() const {
    return parse_sacct(text(), "jobs.txt", {.count = SacctRules::Count::nodes});
  }
  std::string refusal() {
    try {
      begin();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  Untouched slurm{};
  std::string folder = ::testing::TempDir() + "shadow-record";
};

TEST_F(ShadowTest, WritesWhatIsNewOnly) {
  auto record = begin();
  EXPECT_EQ(text(), std::string(kShadowColumns) + "\n");
  submit(7, 0).most = 4;
  submit(8, 1).partition = "another";
  record->look();
  const std::string first = text();
  EXPECT_THAT(first, HasSubstr("7|0|0|a_b|batch||PENDING|1700000000|"));
  EXPECT_THAT(first, HasSubstr("|ductile:1 type=moldable nodes=2 min=2 max=4\n"));
  record->look();
  EXPECT_EQ(text(), first);
  slurm.all[0].state = SlurmJob::State::running;
  record->look();
  EXPECT_EQ(text(), first);
  slurm.all[0].state = SlurmJob::State::over;
  slurm.all[0].started = at(5);
  slurm.all[0].ended = at(15);
  record->look();
  EXPECT_EQ(record->over(), 1u);
  const SacctInput seen = input();
  ASSERT_EQ(seen.lines.size(), 1u);
  EXPECT_EQ(seen.unfinished, 0u);
  EXPECT_EQ(seen.lines[0].wait, whole_seconds(5));
  EXPECT_EQ(seen.lines[0].runtime, whole_seconds(10));
  EXPECT_EQ(seen.comments[0], "ductile:1 type=moldable nodes=2 min=2 max=4");
  // Who begins anew knows all of it.
  record = begin();
  EXPECT_EQ(record->over(), 1u);
  record->look();
  EXPECT_EQ(input().lines.size(), 1u);
}

// Jobs come, run and end. Now and then the shadow dies, and the end of its record is lost, at any
// byte. As Slurm still knows the jobs, each is there once in the end, with its times.
TEST_F(ShadowTest, NothingIsLostOrThereTwiceWhereverTheRecordWasCut) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    slurm.all.clear();
    Draws draws(seed, Stream::test, 0);
    auto record = begin();
    std::int64_t now = 0;
    for (int step = 0; step < 60; ++step) {
      now += 1 + static_cast<std::int64_t>(draws.below(9));  // by which they are sorted
      if (draws.below(3) == 0) submit(slurm.all.size() + 1, now);
      for (SlurmJob& job : slurm.all) {
        if (draws.below(4) != 0) continue;
        if (job.state == SlurmJob::State::pending) {
          job.state = SlurmJob::State::running;
          job.started = at(now);
        } else if (job.state == SlurmJob::State::running) {
          job.state = SlurmJob::State::over;
          job.ended = at(now + 1);
        }
      }
      if (draws.below(3) != 0) record->look();
      if (draws.below(8) == 0) {
        record.reset();
        std::filesystem::resize_file(folder + kShadowJobs, draws.below(text().size() + 1));
        record = begin();
      }
    }
    record->look();
    const SacctInput seen = input();
    std::size_t over = 0;
    for (const SlurmJob& job : slurm.all) over += job.state == SlurmJob::State::over ? 1 : 0;
    ASSERT_EQ(seen.lines.size(), over) << "seed " << seed;
    ASSERT_EQ(seen.unfinished, slurm.all.size() - over) << "seed " << seed;
    ASSERT_EQ(record->over(), over) << "seed " << seed;
    std::size_t place = 0;
    for (const SlurmJob& job : slurm.all) {
      if (job.state != SlurmJob::State::over) continue;
      EXPECT_EQ(seen.lines[place].wait, job.started - job.submitted) << "seed " << seed;
      EXPECT_EQ(seen.lines[place].runtime, job.ended - job.started) << "seed " << seed;
      ++place;
    }
  }
}

TEST_F(ShadowTest, SaysWhatIsWrong) {
  std::ofstream(folder + kShadowJobs) << "JobID|State\n";
  EXPECT_THAT(refusal(), HasSubstr("jobs.txt:1: is no record of a shadow of this version"));
  std::ofstream(folder + kShadowJobs) << kShadowColumns << "\nlots|0\n";
  EXPECT_THAT(refusal(), HasSubstr("jobs.txt:2: is no job of a record"));
  std::filesystem::remove(folder + kShadowJobs);
  slurm.is_exclusive = false;
  EXPECT_THAT(refusal(), HasSubstr("OverSubscribe=EXCLUSIVE"));
}

}  // namespace
}  // namespace ductile
