#include "simulation/mpi_time.hpp"

#include <cmath>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

MtctTable read_text(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/mtct.csv";
  std::ofstream(path) << text;
  return read_mtct(path);
}

std::string complaint(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("mtct.csv") + 8);
  }
  return "";
}

std::int64_t measured(const MtctMeasurement& how, const Speedup& speedup, Nodes size,
                      std::uint64_t job = 1, double drift = 0) {
  const WorkloadJob its{.name = job};
  AdaptiveJob more;
  more.size = {1, 64};
  more.speedup = speedup;
  return measured_mtct(how, 1, its, more, size, 0, drift);
}

TEST(Mtct, IsWhatTheModelLoses) {
  EXPECT_EQ(measured({}, {}, 8), 1);  // 0 is not known
  EXPECT_EQ(measured({}, {Speedup::Kind::amdahl, 0.1}, 1), 1);
  EXPECT_EQ(measured({}, {Speedup::Kind::amdahl, 0.1}, 8), 700'000);
  EXPECT_EQ(measured({}, {Speedup::Kind::powerlaw, 0.5}, 16), 3'000'000);
  EXPECT_EQ(measured({}, parse_speedup("table:2=100:8=50"), 8), 1'000'000);
}

TEST(Mtct, OfAFileGoesFirst) {
  const MtctMeasurement how{.noise = 3,
                            .table = read_text("job,size,mtct\n1,8,0.25 # so\n\n2,8,1e-9\n")};
  EXPECT_EQ(measured(how, {Speedup::Kind::amdahl, 0.1}, 8), 250'000);
  EXPECT_EQ(measured(how, {Speedup::Kind::amdahl, 0.1}, 8, 2), 1);
}

// The noise is that of the job, at each size the same factor.
TEST(Mtct, HasAFactorOfTheJob) {
  const MtctMeasurement how{.noise = 0.5};
  const Speedup its{Speedup::Kind::amdahl, 0.1};
  const double at_8 = static_cast<double>(measured(how, its, 8)) / 7,
               at_16 = static_cast<double>(measured(how, its, 16)) / 15;
  EXPECT_NEAR(at_8, at_16, 1);
  EXPECT_NE(measured(how, its, 8), measured(how, its, 8, 2));
  double sum = 0, squares = 0;
  constexpr int kJobs = 2000;
  for (std::uint64_t job = 1; job <= kJobs; ++job) {
    const double log = std::log(static_cast<double>(measured(how, its, 8, job)) / 700'000) / 0.5;
    sum += log;
    squares += log * log;
  }
  EXPECT_NEAR(sum / kJobs, 0, 0.1);
  EXPECT_NEAR(squares / kJobs, 1, 0.15);
}

TEST(Mtct, Drifts) {
  const MtctMeasurement how{.drift = 0.5, .period = whole_seconds(100)};
  const auto once = [&](std::int64_t s) { return MtctDrift().after(how, 1, 1, whole_seconds(s)); };
  EXPECT_EQ(once(99), 0);
  EXPECT_NE(once(100), 0);
  EXPECT_EQ(once(100), once(199));
  EXPECT_NE(once(100), once(200));
  EXPECT_NE(measured(how, {Speedup::Kind::amdahl, 0.1}, 8, 1, once(100)), 700'000);
  MtctDrift drift;  // asked of several times, and of one before
  for (const std::int64_t s : {99, 100, 199, 500, 501, 150, 200}) {
    EXPECT_EQ(drift.after(how, 1, 1, whole_seconds(s)), once(s)) << s;
  }
}

// As quick after a year as after a day, if it was asked in between.
TEST(Mtct, TakesNoStepTwice) {
  const MtctMeasurement how{.drift = 0.5, .period = whole_seconds(1)};
  MtctDrift drift;
  for (int s = 1; s <= 1'000'000; ++s) drift.after(how, 1, 1, whole_seconds(s));
  EXPECT_EQ(drift.after(how, 1, 1, whole_seconds(1'000'000)),
            MtctDrift().after(how, 1, 1, whole_seconds(1'000'000)));
}

TEST(Mtct, OfAPhaseCountsWhileItIsThere) {
  AdaptiveJob more;
  more.size = {2, 4};
  more.phases = {{.until = 0.5, .speedup = {Speedup::Kind::amdahl, 0.5}},
                 {.times_s = SharedList<double>({10, 9, 8})}};
  const auto at = [&](Nodes size, double progress) {
    return measured_mtct({}, 1, {.name = 1}, more, size, progress);
  };
  EXPECT_EQ(at(3, 0.4), 1'000'000);
  EXPECT_EQ(at(2, 0.5), 1);
  EXPECT_EQ(at(4, 1), 600'000);  // 4 times 8 s instead of 2 times 10 s
  EXPECT_TRUE(MtctMeasurement{}.changes(more));
}

TEST(Mtct, IsToldAgainIfItDiffersMuch) {
  EXPECT_TRUE(differs_much(0, 1));
  EXPECT_FALSE(differs_much(500'000, 550'000));
  EXPECT_TRUE(differs_much(500'000, 550'001));
  EXPECT_TRUE(differs_much(500'000, 449'999));
  EXPECT_FALSE(differs_much(1, 10'001));
  EXPECT_TRUE(differs_much(1, 10'002));
}

TEST(MtctFile, SaysWhatIsWrong) {
  EXPECT_EQ(complaint("1,2\n"), ":1: line: it has not three fields; write JOB,SIZE,MTCT");
  EXPECT_EQ(complaint("x,2,1\n"), ":1: job: 'x' is no number of a job; write one");
  EXPECT_EQ(complaint("1,0,1\n"), ":1: size: '0' is no number of nodes; write one from 1 on");
  const std::string remedy =
      " is not possible; write time in MPI over time in computation, above 0 and up to 1e9";
  EXPECT_EQ(complaint("# no\n1,2,0\n"), ":2: mtct: '0'" + remedy);
  EXPECT_EQ(complaint("1,2,nan\n"), ":1: mtct: 'nan'" + remedy);
  EXPECT_EQ(complaint("1,2,1\n1,3,1\n1,2,1\n"),
            ":3: line: job and size are there already; write each pair once");
}

}  // namespace
}  // namespace ductile
