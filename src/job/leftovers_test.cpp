#include "job/leftovers.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/proc.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

/// Named as an MPI does, and gone with the test.
struct Segment {
  std::string path;
  Descriptor file;

  explicit Segment(const std::string& name)
      : path("/dev/shm/osc_sm.test." + std::to_string(getpid()) + "." + name),
        file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    EXPECT_EQ(ftruncate(file.get(), 4096), 0);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  bool is_there() const { return fs::exists(path); }
};

// Who is just beginning has it open, and then mapped.
TEST(SharedMemory, StaysWhileSomebodyUsesIt) {
  const auto begin = system_clock::now();
  Segment opened("opened"), mapped("mapped"), left("left");
  void* const memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  mapped.file.reset();
  left.file.reset();
  EXPECT_GE(remove_shared_memory(begin), 1u);
  EXPECT_TRUE(opened.is_there());
  EXPECT_TRUE(mapped.is_there());
  EXPECT_FALSE(left.is_there());
  munmap(memory, 4096);
  opened.file.reset();
  remove_shared_memory(begin);
  EXPECT_FALSE(opened.is_there());
  EXPECT_FALSE(mapped.is_there());
}

TEST(SharedMemory, OfBeforeStays) {
  Segment segment("old");
  segment.file.reset();
  remove_shared_memory(system_clock::now() + std::chrono::seconds(10));
  EXPECT_TRUE(segment.is_there());
}

TEST(SessionFolder, GoesWithItsLauncher) {
  const fs::path parent = fs::path(::testing::TempDir()) / "ompi.host.0";
  const fs::path own = parent / ("pid." + std::to_string(getpid())), gone = parent / "pid.4194305",
                 other = parent / "other";
  // Nobody has waited for it yet.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  while (!has_ended(child)) std::this_thread::yield();
  const fs::path ended = parent / ("pid." + std::to_string(child));
  for (const fs::path& folder : {own, gone, other, ended}) fs::create_directories(folder);
  EXPECT_FALSE(remove_session_folder(own));
  EXPECT_TRUE(remove_session_folder(gone));  // no process has so high a number
  EXPECT_TRUE(remove_session_folder(other));
  EXPECT_TRUE(remove_session_folder(ended));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_FALSE(fs::exists(ended));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace ductile
