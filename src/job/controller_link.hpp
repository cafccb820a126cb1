// The connection of a job to the controller of its cluster, which comes and goes while the job
// runs: where there is none, it is tried for again and again. Nobody waits for that.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

class ControllerLink {
 public:
  using Clock = std::chrono::steady_clock;

  /// From one attempt to the next.
  static constexpr std::chrono::seconds kPause{3};

  /// `address` as `connect_to_controller` takes it.
  explicit ControllerLink(std::string address) : address_(std::move(address)) {}

  /// There is no connection: one is tried for, if it is time for that.
  void keep_trying(Clock::time_point now);
  /// When it is.
  Clock::time_point next() const { return attempt_ ? Clock::time_point::max() : next_; }
  /// What there was is of no use: the next attempt is made after a pause.
  void pause(Clock::time_point now) { next_ = now + kPause; }

  /// `on_connected` is called with a connection; why there is none is kept.
  void add_to(Poller& poller, const std::function<void(Descriptor)>& on_connected);
  /// Of the last attempt.
  const std::string& why_not() const { return why_not_; }

 private:
  /// A thread has it, too, which writes to it and then to `done`.
  struct Attempt {
    Descriptor done{};
    Descriptor connection{};
    std::string why_not{};
  };

  std::string address_;
  Clock::time_point next_{};
  std::shared_ptr<Attempt> attempt_{};
  std::string why_not_{};
};

}  // namespace ductile
