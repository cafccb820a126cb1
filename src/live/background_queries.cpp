#include "live/background_queries.hpp"

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

}  // namespace

BackgroundQueries::~BackgroundQueries() {
  for (const Query& query : running_) {
    if (query.child <= 0) continue;  // it could not be started; -1 would mean everybody
    kill(query.child, SIGKILL);
    waitpid(query.child, nullptr, 0);
  }
}

bool BackgroundQueries::add(uid_t user, Work work, Done done, Terms terms) {
  const auto is_his = [&](const Query& query) { return query.user == user; };
  if (static_cast<std::size_t>(std::ranges::count_if(waiting_, is_his) +
                               std::ranges::count_if(running_, is_his)) >= kOfUser) {
    return false;
  }
  Query query;
  query.user = user;
  query.work = std::move(work);
  query.done = std::move(done);
  query.terms = terms;
  if (terms.waits_too) query.deadline = Steady::now() + terms.patience;
  waiting_.push_back(std::move(query));
  return true;
}

void BackgroundQueries::answer(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(kAnswer, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) _exit(1);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void BackgroundQueries::become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  dup2(kAnswer, STDOUT_FILENO);
  execv(words[0], words.data());
  _exit(1);
}

void BackgroundQueries::start(Query& query) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  query.pipe = Descriptor(ends[0]);
  if (!query.terms.waits_too) query.deadline = Steady::now() + query.terms.patience;
  const Descriptor out(ends[1]);
  const pid_t parent = getpid();
  query.child = fork();
  if (query.child != 0) {
    set_blocking(query.pipe, false);
    return;
  }
  // What the controller holds (locks, connections) is not held longer because of the child.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(out.get(), kAnswer);
  close_range(kAnswer + 1, ~0U, 0);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (nice(5) == -1) errno = 0;  // it may be as nice already
  try {
    query.work();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

void BackgroundQueries::read(Query& query) {
  std::array<char, 65536> buffer;
  while (query.pipe) {
    const ssize_t size = ::read(query.pipe.get(), buffer.data(), buffer.size());
    if (size > 0) {
      query.answer.append(buffer.data(), static_cast<std::size_t>(size));
      query.is_too_long |= query.answer.size() > kLongestAnswer;
      if (!query.is_too_long) continue;
      if (query.child > 0) kill(query.child, SIGKILL);
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else if (size < 0 && errno == EAGAIN) {
      return;
    }
    query.pipe.reset();
  }
}

void BackgroundQueries::add_to(Poller& poller) {
  for (Query& query : running_) {
    if (query.pipe) poller.add(query.pipe, POLLIN, [&query] { read(query); });
  }
}

void BackgroundQueries::look() {
  std::vector<Done> late;  // whoever is told may ask anew
  std::erase_if(waiting_, [&, now = Steady::now()](Query& query) {
    const bool is_late = now > query.deadline;
    if (is_late) late.push_back(std::move(query.done));
    return is_late;
  });
  for (const Done& done : late) {
    spdlog::warn("a question waited too long; it is not answered");
    done(std::nullopt);
  }
  for (auto at = running_.begin(); at != running_.end();) {
    Query& query = *at;
    if (query.child > 0 && Steady::now() > query.deadline && !query.is_too_long) {
      spdlog::warn("a question took too long; it is not answered");
      query.is_too_long = true;
      kill(query.child, SIGKILL);
    }
    int status = -1;
    if (query.child > 0 && waitpid(query.child, &status, WNOHANG) != query.child) {
      ++at;
      continue;
    }
    query.child = -1;  // its number may soon be that of another process
    read(query);
    const bool is_good =
        !query.is_too_long && (status == 0 || (query.terms.with_failures && WIFEXITED(status)));
    const Done done = std::move(query.done);
    std::optional<std::string> answer;
    if (is_good) answer = std::move(query.answer);
    at = running_.erase(at);
    done(std::move(answer));
  }
  while (!waiting_.empty() && running_.size() < kAtOnce) {
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    start(running_.back());
  }
}

std::optional<std::chrono::steady_clock::time_point> BackgroundQueries::next() const {
  std::optional<Steady::time_point> next;
  if (!waiting_.empty() && running_.size() < kAtOnce) next = Steady::time_point{};
  for (const Query& query : waiting_)
    next = next ? std::min(*next, query.deadline) : query.deadline;
  for (const Query& query : running_) {
    const auto at = query.child > 0 ? query.deadline : Steady::time_point{};
    next = next ? std::min(*next, at) : at;
  }
  return next;
}

}  // namespace ductile
