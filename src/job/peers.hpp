// The connections of a job's processes to its manager: who may talk, to which generation they
// belong, and what has to be said to all of them at their end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/generation.hpp"
#include "job/poller.hpp"
#include "job/process_table.hpp"
#include "job/protocol.hpp"
#include "job/socket.hpp"

namespace ductile {

/// A connection of a process, or of somebody who has yet to say who they are.
struct Peer {
  Descriptor socket{};
  Generation::Clock::time_point since{};
  wire::MessageReader reader{};
  std::string unsent{};
  std::optional<std::uint32_t> generation{};  // once it has said so
  std::uint32_t rank = 0;
  bool is_watch = false;  // of libductile-measure
  bool is_finishing = false;
  bool is_refused = false;  // it has been told why, and may still send
  bool is_closed = false;
};

class Peers {
 public:
  using Clock = Generation::Clock;

  /// What the rest of the manager hears.
  struct Listener {
    /// Of a process that has said hello, or of libductile-measure; ProtocolError if it makes no
    /// sense, and the connection is closed.
    std::function<void(const Peer&, const wire::Message&)> on_message;
    /// The first process of a generation has come to its end, or one more.
    std::function<void(const Generation&)> on_finishing;
    /// The connection of a process is gone.
    std::function<void(const Generation&, std::uint32_t rank)> on_gone;
  };
  Peers(ProcessTable& table, Listener listener) : table_(table), listener_(std::move(listener)) {}

  const wire::Token& token() const { return token_; }
  void listen(Descriptor listener) { socket_ = std::move(listener); }
  /// Where processes find it; empty if it does not listen.
  std::string address() const { return socket_ ? local_address(socket_) : std::string(); }

  void add_to(Poller& poller);
  void send(Peer& peer, const wire::Message& message);
  /// To those of a generation that are connected.
  void send_all(const Generation& generation, const wire::Message& message);
  /// To one of them, if it is.
  void send_to(const Generation& generation, std::uint32_t rank, const wire::Message& message);
  /// The generation has ended: so do those of its processes that are on other hosts, for which the
  /// manager is gone.
  static void cut_off(const Generation& generation);
  /// Closes those who do not say who they are.
  void keep_patience(Clock::time_point now);
  void forget_closed();

 private:
  void accept();
  void read(Peer& peer);
  void refuse(Peer& peer, const wire::ProtocolError& error);
  void on_message(Peer& peer, const wire::Message& message);
  void on_hello(Peer& peer, const wire::Message& message);
  void on_finishing(Peer& peer);
  void tell_finish(const Generation& generation);
  void on_closed(Peer& peer);
  void flush(Peer& peer);

  ProcessTable& table_;
  Listener listener_;
  wire::Token token_ = wire::new_token();
  Descriptor socket_{};
  std::vector<std::unique_ptr<Peer>> peers_{};
};

}  // namespace ductile
