#include "job/job_folder.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/boot_clock.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// What others have left in the folder where those of jobs are made.
class Left : public ::testing::Test {
 public:
  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;
  ~Left() override {
    unsetenv("TMPDIR");
    fs::remove_all(parent_);
  }

 protected:
  Left() {
    fs::create_directories(parent_);
    setenv("TMPDIR", parent_.c_str(), 1);
  }

  std::string make(const std::string& name) const {
    std::string path = parent_ + "/ductile-run." + std::to_string(geteuid()) + "." + name;
    EXPECT_TRUE(fs::create_directory(path));
    return path;
  }
  /// By a manager of this start of the machine.
  std::string make_whole(const std::string& name) const {
    std::string path = make(name);
    std::ofstream(path + "/host") << "some host\n" << boot_id() << '\n';
    return path;
  }
  static void set_age(const std::string& path, std::chrono::seconds age) {
    const auto then = fs::file_time_type::clock::now() - age;
    fs::last_write_time(path, then);
  }

  std::string parent_ = ::testing::TempDir() + "t";
};

constexpr std::chrono::minutes kMinutes{2};
constexpr std::chrono::hours kDay{24};

TEST_F(Left, IsRemovedAfterADayIfNobodyKnowsWhose) {
  const std::string old = make("old");
  const std::string half = make("half");
  const std::string young = make("young");
  const std::string held = make("held");
  const std::string other = make("other");
  std::ofstream(half + "/host") << "some ho";
  std::ofstream(other + "/host") << "another\nstart of another\n";
  const Descriptor lock(open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  for (const std::string& path : {old, half, held, other}) set_age(path, kDay + kMinutes);
  set_age(young, kDay - kMinutes);
  const JobFolder job;
  ASSERT_EQ(fs::path(job.path()).parent_path(), parent_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(half));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(held));
  EXPECT_TRUE(fs::exists(other));
}

// A process that has its number now is not the launcher, but nobody can know that.
TEST_F(Left, IsKeptAsLongAsItsSessionCannotBeRemoved) {
  const pid_t living = fork();
  if (living == 0) {
    pause();
    _exit(0);
  }
  const std::string sessions = parent_ + "/ompi.host.0";
  const auto session = [&](pid_t pid) { return sessions + "/pid." + std::to_string(pid); };
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string left = make_whole("left");
  for (const pid_t pid : {living, gone}) {
    fs::create_directories(session(pid));
    std::ofstream(left + "/sessions", std::ios::app) << session(pid) << '\n';
  }
  set_age(left, kMinutes);
  { const JobFolder job; }
  EXPECT_TRUE(fs::exists(left));
  EXPECT_TRUE(fs::exists(session(living)));
  EXPECT_FALSE(fs::exists(session(gone)));
  kill(living, SIGKILL);
  waitpid(living, nullptr, 0);
  { const JobFolder job; }
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(session(living)));
}

// A checkpoint in memory takes the place of programs.
TEST_F(Left, IsRemovedWhereverItIs) {
  const std::string file = parent_ + "/path";
  const pid_t gone = fork();
  if (gone == 0) {
    const JobFolder left(JobFolder::Place::memory);
    std::ofstream(file) << left.path() << std::flush;
    _exit(0);
  }
  waitpid(gone, nullptr, 0);
  std::string path;
  std::ifstream(file) >> path;
  ASSERT_TRUE(path.starts_with("/dev/shm/") && fs::exists(path)) << path;
  set_age(path, kMinutes);
  const JobFolder job;
  ASSERT_EQ(fs::path(job.path()).parent_path(), parent_);
  EXPECT_FALSE(fs::exists(path));
}

// Nobody could tell later whose it is.
TEST_F(Left, IsNothingWhereTheDiskIsFull) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_THROW(JobFolder(), std::system_error);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(fs::is_empty(parent_));
}

}  // namespace
}  // namespace ductile
