#include "live/errands.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ductile {
namespace {

constexpr std::size_t kAtOnce = 2;
constexpr std::size_t kOfUser = 8;
constexpr std::size_t kLongestAnswer = std::size_t{32} << 20;
constexpr auto kPatience = std::chrono::seconds(30);

}  // namespace

Errands::~Errands() {
  for (const Errand& errand : running_) {
    if (errand.child <= 0) continue;  // it could not be started; -1 would mean everybody
    kill(errand.child, SIGKILL);
    waitpid(errand.child, nullptr, 0);
  }
}

bool Errands::add(uid_t user, Work work, Done done) {
  const auto is_his = [&](const Errand& errand) { return errand.user == user; };
  if (static_cast<std::size_t>(std::ranges::count_if(waiting_, is_his) +
                               std::ranges::count_if(running_, is_his)) >= kOfUser) {
    return false;
  }
  Errand errand;
  errand.user = user;
  errand.work = std::move(work);
  errand.done = std::move(done);
  waiting_.push_back(std::move(errand));
  return true;
}

void Errands::start(Errand& errand) {
  errand.deadline = Steady::now() + kPatience;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  errand.pipe = Descriptor(ends[0]);
  const Descriptor out(ends[1]);
  const pid_t parent = getpid();
  errand.child = fork();
  if (errand.child != 0) {
    set_blocking(errand.pipe, false);
    return;
  }
  // What the controller holds (locks, connections) is not held longer because of the child.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(out.get(), STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (nice(5) == -1) errno = 0;  // it may be as nice already
  try {
    errand.work();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

void Errands::read(Errand& errand) {
  std::array<char, 65536> buffer;
  while (errand.pipe) {
    const ssize_t size = ::read(errand.pipe.get(), buffer.data(), buffer.size());
    if (size > 0) {
      errand.answer.append(buffer.data(), static_cast<std::size_t>(size));
      errand.is_too_long |= errand.answer.size() > kLongestAnswer;
      if (!errand.is_too_long) continue;
      if (errand.child > 0) kill(errand.child, SIGKILL);
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else if (size < 0 && errno == EAGAIN) {
      return;
    }
    errand.pipe.reset();
  }
}

void Errands::add_to(Poller& poller) {
  for (Errand& errand : running_) {
    if (errand.pipe) poller.add(errand.pipe, POLLIN, [&errand] { read(errand); });
  }
}

void Errands::look() {
  for (auto at = running_.begin(); at != running_.end();) {
    Errand& errand = *at;
    if (errand.child > 0 && Steady::now() > errand.deadline && !errand.is_too_long) {
      spdlog::warn("a question took too long; it is not answered");
      errand.is_too_long = true;
      kill(errand.child, SIGKILL);
    }
    int status = -1;
    if (errand.child > 0 && waitpid(errand.child, &status, WNOHANG) != errand.child) {
      ++at;
      continue;
    }
    errand.child = -1;  // its number may soon be that of another process
    read(errand);
    const bool is_good = status == 0 && !errand.is_too_long;
    const Done done = std::move(errand.done);
    std::optional<std::string> answer;
    if (is_good) answer = std::move(errand.answer);
    at = running_.erase(at);
    done(std::move(answer));
  }
  while (!waiting_.empty() && running_.size() < kAtOnce) {
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    start(running_.back());
  }
}

std::optional<std::chrono::steady_clock::time_point> Errands::next() const {
  std::optional<Steady::time_point> next;
  if (!waiting_.empty() && running_.size() < kAtOnce) next = Steady::time_point{};
  for (const Errand& errand : running_) {
    const auto at = errand.child > 0 ? errand.deadline : Steady::time_point{};
    next = next ? std::min(*next, at) : at;
  }
  return next;
}

}  // namespace ductile
