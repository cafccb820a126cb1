// Sockets of ZeroMQ, as simulators and their schedulers use them: one asks, the other one answers.
// Where Ductile was built without ZeroMQ there are none.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace ductile {

/// Whom questions are put to.
class OutsideChannel {
 public:
  virtual ~OutsideChannel() = default;
  /// Sends a text and waits for the answer. Throws InputError if there is none.
  virtual std::string ask(const std::string& text) = 0;
  /// Sends a text that is not answered, if anybody is there.
  virtual void tell(const std::string& /*text*/) {}
};

struct ChannelSettings {
  std::string endpoint;  // as ZeroMQ writes it: tcp://127.0.0.1:28000, ipc:///run/scheduler
  Duration timeout{};    // how long an answer, or whoever is to answer, is waited for
  const std::atomic<bool>* stop = nullptr;  // then no answer is waited for any longer
  std::function<void()> waiting{};          // told once, if nobody was there for a second
};

/// Connects to whoever answers there, who may come later. Throws InputError where that is not
/// possible. Who has answered and is gone is an error of the next question at once.
std::unique_ptr<OutsideChannel> open_channel(const ChannelSettings& settings);

/// The same, but here is where they meet: the scheduler comes, as one side of a pair. Who came
/// first is the one, as long as it is there; others that come are not heard. Only who is on this
/// machine can come, unless `remote`.
std::unique_ptr<OutsideChannel> await_peer(const ChannelSettings& settings, bool remote);

/// The other side.
class OutsideListener {
 public:
  virtual ~OutsideListener() = default;
  /// The next question; nothing if there is to be an end. Each has to be answered.
  virtual std::optional<std::string> next(const std::atomic<bool>& stop) = 0;
  virtual void answer(const std::string& text) = 0;
};

/// Throws InputError where that is not possible.
std::unique_ptr<OutsideListener> open_listener(const std::string& endpoint);

}  // namespace ductile
