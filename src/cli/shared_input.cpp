#include "cli/shared_input.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

/// Whether it is read to its end, and nothing of it comes twice.
bool can_be_read_once() {
  struct stat found {};
  return fstat(STDIN_FILENO, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
}

/// False if the other side has gone, or `stop` was given.
bool write_all(const Descriptor& to, const Descriptor& stop, const char* bytes, std::size_t size) {
  while (size > 0) {
    std::array<pollfd, 2> waiting{{{.fd = to.get(), .events = POLLOUT, .revents = 0},
                                   {.fd = stop.get(), .events = POLLIN, .revents = 0}}};
    poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) return false;
    const ssize_t written = write(to.get(), bytes, size);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (written < 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

SharedInput::SharedInput() : begin_(lseek(STDIN_FILENO, 0, SEEK_CUR)) {
  if (begin_ >= 0 || !can_be_read_once()) return;
  original_ = Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  std::FILE* const file = std::tmpfile();
  if (file != nullptr) {
    kept_ = Descriptor(fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    std::fclose(file);
  }
  stop_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!original_ || !kept_ || !stop_) {
    throw RunError(std::string("the standard input cannot be kept for both runs: ") +
                   std::strerror(errno));
  }
}

SharedInput::~SharedInput() {
  end();
  if (original_) dup2(original_.get(), STDIN_FILENO);
}

void SharedInput::begin() {
  if (begin_ >= 0) lseek(STDIN_FILENO, begin_, SEEK_SET);
  if (!original_) return;
  end();
  if (is_lost_) throw RunError("there is no room to keep the standard input for both runs");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw RunError(std::string("no pipe for the standard input: ") + std::strerror(errno));
  }
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  Descriptor to(ends[1]);
  set_blocking(to, false);
  // Signals are for the thread that waits for them, also of a pipe that nobody reads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  feeder_ = std::thread([this, end = std::move(to)]() mutable { feed(std::move(end)); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SharedInput::end() {
  if (!feeder_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  feeder_.join();
  eventfd_t ignored = 0;
  eventfd_read(stop_.get(), &ignored);
}

void SharedInput::feed(Descriptor to) {
  std::array<char, 65536> bytes;
  for (off_t at = 0;;) {
    const ssize_t got = pread(kept_.get(), bytes.data(), bytes.size(), at);
    if (got <= 0) break;
    if (!write_all(to, stop_, bytes.data(), static_cast<std::size_t>(got))) return;
    at += got;
  }
  while (!is_at_end_) {
    std::array<pollfd, 2> waiting{{{.fd = original_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
    poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) return;
    const ssize_t got = read(original_.get(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    is_at_end_ = got <= 0;
    if (got <= 0) return;
    const auto size = static_cast<std::size_t>(got);
    lseek(kept_.get(), 0, SEEK_END);
    is_lost_ = write(kept_.get(), bytes.data(), size) != got;
    if (is_lost_) return;
    if (!write_all(to, stop_, bytes.data(), size)) return;
  }
}

}  // namespace ductile
