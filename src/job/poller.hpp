// Waits for descriptors: what a single thread does between two things that happen.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include <poll.h>

#include "job/socket.hpp"

namespace ductile {

/// Descriptors and what is to be done when something happens to them; made anew for each turn.
class Poller {
 public:
  /// `events`: POLLIN, POLLOUT. An action may be called although nothing can be read, never after
  /// `wait` has returned.
  void add(const Descriptor& descriptor, short events, std::function<void()> action) {
    add(descriptor.get(), events, std::move(action));
  }
  void add(int fd, short events, std::function<void()> action = {});

  /// Until something happens to one of them or the time is over, then does what is to be done, in
  /// the order in which they were added.
  void wait(std::chrono::nanoseconds time);

 private:
  std::vector<pollfd> waiting_;
  std::vector<std::function<void()>> actions_;
};

}  // namespace ductile
