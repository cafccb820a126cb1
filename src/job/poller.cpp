#include "job/poller.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <utility>

namespace ductile {

void Poller::add(int fd, short events, std::function<void()> action) {
  waiting_.push_back({.fd = fd, .events = events, .revents = 0});
  actions_.push_back(std::move(action));
}

void Poller::wait(std::chrono::nanoseconds time) {
  time = std::max(time, std::chrono::nanoseconds(0));
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{.tv_sec = static_cast<std::time_t>(whole.count()),
                         .tv_nsec = static_cast<long>((time - whole).count())};
  if (ppoll(waiting_.data(), waiting_.size(), &timeout, nullptr) < 0) return;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (waiting_[i].revents != 0 && actions_[i]) actions_[i]();
  }
}

}  // namespace ductile
