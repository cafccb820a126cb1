#include "job/boot_clock.hpp"

#include <array>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "job/socket.hpp"

namespace ductile {
namespace {

std::chrono::microseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::microseconds(now.tv_nsec / 1000);
}

}  // namespace

std::chrono::microseconds boot_time() { return read_clock(CLOCK_BOOTTIME); }

std::string boot_id() {
  const Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t got = file ? read(file.get(), text.data(), text.size()) : 0;
  std::string id(text.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  if (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::chrono::microseconds wall_time() { return read_clock(CLOCK_REALTIME); }

}  // namespace ductile
