#include "job/peers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include "job/fault.hpp"

namespace ductile {
namespace {

constexpr std::chrono::seconds kHelloPatience{10};
/// Connections of those who have not said yet who they are.
constexpr std::size_t kMaxStrangers = 256;
/// Connections taken in one turn: however many come, the rest of the job is looked after.
constexpr int kMostAccepted = 64;
constexpr std::size_t kMaxUnsent = std::size_t{64} << 20;

}  // namespace

void Peers::accept() {
  for (int i = 0; i < kMostAccepted; ++i) {
    auto socket = accept_from(socket_);
    if (!socket) return;
    const auto is_stranger = [](const auto& peer) { return !peer->generation && !peer->is_closed; };
    const auto strangers = std::ranges::count_if(peers_, is_stranger);
    std::size_t expected = 0;
    for (const auto& [number, generation] : table_.all()) {
      expected += generation->size - generation->connected;
    }
    // Who belongs here says so at once: the one who has been silent for longest does not.
    if (static_cast<std::size_t>(strangers) >= kMaxStrangers + expected) {
      on_closed(**std::ranges::find_if(peers_, is_stranger));
    }
    auto peer = std::make_unique<Peer>();
    peer->socket = std::move(*socket);
    peer->since = Clock::now();
    peers_.push_back(std::move(peer));
    // What it has said already may show that it is none.
    read(*peers_.back());
  }
}

void Peers::read(Peer& peer) {
  std::array<char, 65536> bytes;
  const ssize_t got = recv(peer.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return on_closed(peer);
  if (peer.is_refused) return;
  try {
    peer.reader.feed({bytes.data(), static_cast<std::size_t>(got)});
    while (!peer.is_closed) {
      const auto message = peer.reader.next();
      if (!message) return;
      receive_with_faults("manager", *message, [&] { shutdown(peer.socket.get(), SHUT_RDWR); });
      on_message(peer, *message);
    }
  } catch (const wire::ProtocolError& error) {
    if (peer.generation) {
      spdlog::warn("process {} of generation {} sends {}", peer.rank, *peer.generation,
                   error.what());
    } else {
      refuse(peer, error);
    }
    if (!peer.is_refused) on_closed(peer);
  }
}

/// A program may be linked with an older or a newer library: both it and its user are to know.
void Peers::refuse(Peer& peer, const wire::ProtocolError& error) {
  if (dynamic_cast<const wire::OtherVersion*>(&error) == nullptr) {
    return spdlog::warn("a connection was refused: {}", error.what());
  }
  const std::string why = fmt::format(
      "{}; link the program with the libductile-app of this `ductile run`", error.what());
  spdlog::warn("a connection was refused: {}", why);
  // Closed now, with something of it unread, the connection could lose the answer.
  peer.is_refused = true;
  send(peer, {table_.current().number, wire::Abort{.reason = why}});
}

void Peers::on_hello(Peer& peer, const wire::Message& message) {
  if (const auto* watch = std::get_if<wire::Watch>(&message.content)) {
    if (!wire::same(watch->token, token_)) throw wire::ProtocolError("a wrong token");
    peer.generation = message.generation;
    peer.is_watch = true;
    return;
  }
  const auto* hello = std::get_if<wire::Hello>(&message.content);
  if (hello == nullptr) throw wire::ProtocolError("a first message that is not 'hello'");
  if (!wire::same(hello->token, token_)) throw wire::ProtocolError("a wrong token");
  Generation* const generation = table_.find(message.generation);
  if (generation == nullptr || generation->status) {
    throw wire::ProtocolError("a generation that is not there");
  }
  if (hello->rank >= generation->size || generation->peers[hello->rank] != nullptr) {
    throw wire::ProtocolError("a rank that is taken");
  }
  // Of the first one it is the truth about its generation; later it is a message gone astray.
  if (hello->size != generation->size && !generation->has_begun) {
    spdlog::error(
        "the program was started with {} processes, but says it has {}; is this the "
        "mpiexec of its MPI?",
        generation->size, hello->size);
    generation->deadline = Clock::now();
  }
  if (hello->size != generation->size) throw wire::ProtocolError("another number of processes");
  if (!std::exchange(generation->has_begun, true)) generation->begun = Clock::now();
  peer.generation = message.generation;
  peer.rank = hello->rank;
  generation->peers[hello->rank] = &peer;
  ++generation->connected;
  send(peer, {message.generation, wire::Welcome{}});
}

void Peers::on_message(Peer& peer, const wire::Message& message) {
  if (!peer.generation) return on_hello(peer, message);
  if (!peer.is_watch) {
    spdlog::trace("process {} of generation {}: {} {}", peer.rank, *peer.generation,
                  wire::name_of(message.content), message.generation);
    if (std::holds_alternative<wire::Finishing>(message.content)) return on_finishing(peer);
  }
  listener_.on_message(peer, message);
}

void Peers::on_finishing(Peer& peer) {
  Generation* const generation = table_.find(*peer.generation);
  if (generation == nullptr || std::exchange(peer.is_finishing, true)) return;
  ++generation->finishing;
  listener_.on_finishing(*generation);
  tell_finish(*generation);
}

/// None of this generation needs another any more, if all have come to their end or have gone.
void Peers::tell_finish(const Generation& generation) {
  if (generation.finishing + generation.gone != generation.size) return;
  send_all(generation, {generation.number, wire::Finish{}});
}

void Peers::on_closed(Peer& peer) {
  if (peer.is_closed) return;
  peer.is_closed = true;
  if (!peer.generation || peer.is_watch) return;
  Generation* const generation = table_.find(*peer.generation);
  if (generation == nullptr) return;
  generation->peers[peer.rank] = nullptr;
  --generation->connected;
  if (!peer.is_finishing) {
    ++generation->gone;
    tell_finish(*generation);
  }
  listener_.on_gone(*generation, peer.rank);
}

void Peers::send(Peer& peer, const wire::Message& message) {
  send_with_faults(
      "manager", message,
      [&](const std::string& bytes) {
        peer.unsent += bytes;
        flush(peer);
      },
      [&] { shutdown(peer.socket.get(), SHUT_RDWR); });
}

void Peers::send_all(const Generation& generation, const wire::Message& message) {
  for (Peer* const peer : generation.peers) {
    if (peer != nullptr) send(*peer, message);
  }
}

void Peers::send_to(const Generation& generation, std::uint32_t rank,
                    const wire::Message& message) {
  if (Peer* const peer = generation.peers[rank]) send(*peer, message);
}

void Peers::flush(Peer& peer) {
  while (!peer.unsent.empty() && !peer.is_closed) {
    const ssize_t sent =
        ::send(peer.socket.get(), peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      peer.unsent.erase(0, static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN && peer.unsent.size() < kMaxUnsent) {
      return;
    } else if (!(sent < 0 && errno == EINTR)) {
      // Its end of the connection tells the rest.
      peer.unsent.clear();
      shutdown(peer.socket.get(), SHUT_RDWR);
    }
  }
  if (peer.is_refused && !peer.is_closed) shutdown(peer.socket.get(), SHUT_WR);
}

void Peers::cut_off(const Generation& generation) {
  for (const Peer* const peer : generation.peers) {
    if (peer != nullptr) shutdown(peer->socket.get(), SHUT_RDWR);
  }
}

void Peers::keep_patience(Clock::time_point now) {
  for (const auto& peer : peers_) {
    if (peer->generation || peer->is_closed || now <= peer->since + kHelloPatience) continue;
    if (!peer->is_refused) spdlog::warn("a connection was refused: it did not say who it is");
    on_closed(*peer);
  }
}

void Peers::forget_closed() {
  std::erase_if(peers_, [](const auto& peer) { return peer->is_closed; });
}

void Peers::add_to(Poller& poller) {
  if (socket_) poller.add(socket_, POLLIN, [this] { accept(); });
  for (const auto& owned : peers_) {
    Peer* const peer = owned.get();
    const short events = peer->unsent.empty() ? POLLIN : POLLIN | POLLOUT;
    poller.add(peer->socket, events, [this, peer] {
      flush(*peer);
      read(*peer);
    });
  }
}

}  // namespace ductile
