#include "job/controller_link.hpp"

#include <csignal>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "job/controller_connection.hpp"

namespace ductile {

void ControllerLink::keep_trying(Clock::time_point now) {
  if (attempt_ || now < next_) return;
  pause(now);
  auto attempt = std::make_shared<Attempt>();
  attempt->done = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!attempt->done) return;
  // Signals are for the thread that made it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    // A name server, a host or munged may be silent for long.
    std::thread([attempt, address = address_] {
      try {
        attempt->connection = connect_to_controller(address, std::chrono::seconds(10));
      } catch (const std::exception& error) {
        attempt->why_not = error.what();
      }
      constexpr std::uint64_t kOne = 1;
      [[maybe_unused]] const ssize_t written = write(attempt->done.get(), &kOne, sizeof kOne);
    }).detach();
    attempt_ = std::move(attempt);
  } catch (const std::system_error&) {  // later
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ControllerLink::add_to(Poller& poller, const std::function<void(Descriptor)>& on_connected) {
  if (!attempt_) return;
  poller.add(attempt_->done, POLLIN, [this, on_connected] {
    std::uint64_t ignored = 0;
    if (read(attempt_->done.get(), &ignored, sizeof ignored) < 0) return;
    const std::shared_ptr<Attempt> over = std::exchange(attempt_, nullptr);
    pause(Clock::now());
    why_not_ = over->why_not;
    if (over->connection) on_connected(std::move(over->connection));
  });
}

}  // namespace ductile
