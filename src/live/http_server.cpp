#include "live/http_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

namespace ductile {
namespace {

using HttpClock = std::chrono::steady_clock;

/// A request has to be there so long after its first byte, or after the connection began.
constexpr std::chrono::seconds kRequestPatience{15};
/// A connection without a request stays so long.
constexpr std::chrono::seconds kIdlePatience{60};
/// An answer is read at this rate at least, and in so long whatever its length.
constexpr std::chrono::seconds kReadPatience{30};
constexpr std::size_t kReadRate = 64 * 1024;  // bytes a second
/// Whose last answer has been sent may read it for so long.
constexpr std::chrono::seconds kLeavePatience{2};
/// After an error of `accept` nobody is let in for so long.
constexpr std::chrono::milliseconds kAcceptPause{200};

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Answer";
  }
}

/// Nothing of ours is kept, framed, sniffed, or read by pages of others.
constexpr std::string_view kSafety =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n";

std::string head_of(int status, const std::string& type) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head.append(phrase(status)).append("\r\nContent-Type: ").append(type).append("\r\n");
  return head.append(kSafety);
}

}  // namespace

HttpAnswer answer_of(const HttpError& error) {
  const nlohmann::ordered_json body{
      {"status", error.status()}, {"error", error.what()}, {"remedy", error.remedy()}};
  HttpAnswer answer{
      .status = error.status(),
      .body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
  if (error.status() == 401) answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status() == 503) answer.fields.emplace_back("Retry-After", "2");
  return answer;
}

struct HttpServer::Connection {
  Id id = 0;
  Descriptor socket{};
  HttpReader reader{};
  std::string unsent{};
  std::size_t sent = 0;
  HttpClock::time_point until{};
  bool is_known = false;    // by a token
  bool is_waiting = false;  // for the answer to a request
  bool is_stream = false;
  bool is_head_only = false;  // of the answer
  bool stays = true;          // after the answer
  bool is_ending = false;     // once all is sent
  bool is_leaving = false;    // all is sent: only the other end is waited for
  bool is_silent = false;     // it says no more, but may wait for an answer
  bool is_gone = false;

  bool is_flushed() const { return sent == unsent.size(); }
  bool is_closed() const { return !socket; }
  bool stands() const { return !is_closed() && !is_leaving; }
  bool reads() const { return !is_waiting && !is_ending && (is_stream || is_flushed()); }
};

HttpServer::HttpServer(Descriptor listener, Handler& handler)
    : listener_(std::move(listener)), handler_(handler) {
  set_blocking(listener_, false);
}

HttpServer::~HttpServer() = default;

HttpServer::Connection* HttpServer::find(Id id) const {
  const auto at =
      std::ranges::find_if(connections_, [id](const auto& each) { return each->id == id; });
  return at == connections_.end() || (*at)->is_closed() ? nullptr : at->get();
}

void HttpServer::add_to(Poller& poller) {
  for (const auto& owned : connections_) {
    Connection* const connection = owned.get();
    if (connection->is_closed()) continue;
    short events = connection->is_flushed() ? short{0} : short{POLLOUT};
    if (connection->reads() || connection->is_leaving) {
      events = static_cast<short>(events | POLLIN);
    } else if (!connection->is_silent) {
      events = static_cast<short>(events | POLLRDHUP);
    }
    poller.add(connection->socket, events, [this, connection] {
      flush(*connection);
      read(*connection);
    });
  }
  // Last: who has gone, or shown a token, is known by then.
  if (HttpClock::now() >= accept_at_) poller.add(listener_, POLLIN, [this] { accept(); });
}

void HttpServer::accept() {
  constexpr int kAtOnce = 32;
  for (int i = 0; i < kAtOnce; ++i) {
    errno = 0;
    auto socket = accept_from(listener_);
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        accept_at_ = HttpClock::now() + kAcceptPause;
      }
      return;
    }
    set_blocking(*socket, false);
    const bool has_room = make_room();
    auto owned = std::make_unique<Connection>();
    Connection& connection = *owned;
    connection.id = next_++;
    connection.socket = std::move(*socket);
    connection.until = HttpClock::now() + kRequestPatience;
    connections_.push_back(std::move(owned));
    if (!has_room) refuse(connection);
  }
}

/// For one more. Who waits for an answer and says no more may have gone, and is the first to go;
/// then who has shown nothing; the eldest each. False: all stay.
bool HttpServer::make_room() {
  const auto is_stranger = [](const auto& each) { return each->stands() && !each->is_known; };
  const auto is_silent = [](const auto& each) {
    return each->stands() && each->is_waiting && each->is_silent;
  };
  const auto count = [this](const auto& is_one) {
    return static_cast<std::size_t>(std::ranges::count_if(connections_, is_one));
  };
  const auto eldest = [this](const auto& is_one) {
    const auto found = std::ranges::find_if(connections_, is_one);
    return found == connections_.end() ? nullptr : found->get();
  };
  if (count(is_stranger) >= kMostStrangers) refuse(*eldest(is_stranger));
  const auto is_full = [&] {
    return count([](const auto& each) { return each->stands(); }) >= kMostConnections;
  };
  if (!is_full()) return true;
  for (const auto& each : connections_) {
    if (each->stands() && !each->reads()) hear_end(*each);
    if (each->is_gone) forget(*each);
  }
  if (!is_full()) return true;
  Connection* first = eldest(is_silent);
  if (first == nullptr) first = eldest(is_stranger);
  if (first != nullptr) refuse(*first);
  return first != nullptr;
}

void HttpServer::refuse(Connection& connection) {
  if (!connection.is_flushed()) return forget(connection);  // it is in the middle of an answer
  if (connection.is_waiting) handler_.on_gone(connection.id);
  connection.stays = false;
  answer(connection,
         answer_of(HttpError(503, "too many have connections already", "come again later")));
}

/// Of who is not read: what it says meanwhile waits in the socket.
void HttpServer::hear_end(Connection& connection) {
  pollfd its{.fd = connection.socket.get(), .events = POLLRDHUP, .revents = 0};
  if (poll(&its, 1, 0) <= 0) return;
  connection.is_gone |= (its.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  connection.is_silent |= (its.revents & POLLRDHUP) != 0;
}

void HttpServer::forget(Connection& connection) {
  if (connection.is_closed()) return;
  connection.socket.reset();
  if (connection.is_waiting || connection.is_stream) handler_.on_gone(connection.id);
}

void HttpServer::read(Connection& connection) {
  if (connection.is_closed()) return;
  std::array<char, 16384> bytes;
  if (!connection.reads() && !connection.is_leaving) {
    hear_end(connection);
    if (connection.is_gone) forget(connection);
    return;
  }
  const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return forget(connection);
  // Nothing that it says then means anything.
  if (connection.is_stream || connection.is_leaving) return;
  if (!connection.reader.has_part()) connection.until = HttpClock::now() + kRequestPatience;
  connection.reader.add({bytes.data(), static_cast<std::size_t>(got)});
  take_requests(connection);
}

void HttpServer::take_requests(Connection& connection) {
  while (!connection.is_closed() && !connection.is_stream && connection.reads()) {
    try {
      bool is_known = false, has_to_hear = false;
      const auto request = connection.reader.next([&](const HttpRequest& head) {
        connection.is_head_only = head.method == "HEAD";
        is_known = handler_.check(head);
        has_to_hear = head.awaits_word;
      });
      connection.is_known |= is_known;
      if (!request) {
        if (!has_to_hear) return;
        const auto until = connection.until;
        connection.unsent += "HTTP/1.1 100 Continue\r\n\r\n";
        flush(connection);
        connection.until = until;
        return;
      }
      connection.is_waiting = true;
      connection.stays = request->stays;
      try {
        handler_.on_request(connection.id, *request);
      } catch (const HttpError& error) {
        answer(connection, answer_of(error));
      }
    } catch (const HttpError& error) {
      connection.stays = false;
      answer(connection, answer_of(error));
    }
  }
}

void HttpServer::answer(Connection& connection, const HttpAnswer& answer) {
  std::string text = head_of(answer.status, answer.type);
  for (const auto& [name, value] : answer.fields)
    text.append(name).append(": ").append(value).append("\r\n");
  text.append("Content-Length: ").append(std::to_string(answer.body.size())).append("\r\n");
  text.append(connection.stays ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
  if (!connection.is_head_only) text += answer.body;
  connection.is_waiting = false;
  connection.is_ending = !connection.stays;
  connection.unsent.erase(0, std::exchange(connection.sent, 0));
  connection.unsent += text;
  connection.until =
      HttpClock::now() + kReadPatience + std::chrono::seconds(text.size() / kReadRate);
  flush(connection);
}

void HttpServer::flush(Connection& connection) {
  while (!connection.is_closed() && !connection.is_flushed()) {
    const std::string_view rest = std::string_view(connection.unsent).substr(connection.sent);
    const ssize_t sent =
        ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return forget(connection);
    connection.sent += static_cast<std::size_t>(sent);
    if (!connection.is_flushed()) continue;
    connection.unsent.clear();
    connection.unsent.shrink_to_fit();
    connection.sent = 0;
    connection.until = HttpClock::now() + kIdlePatience;
    if (!connection.is_ending) continue;
    // If it were closed at once, what it says beyond would make the system drop what it has not
    // read.
    shutdown(connection.socket.get(), SHUT_WR);
    connection.is_leaving = true;
    connection.until = HttpClock::now() + kLeavePatience;
  }
}

void HttpServer::look() {
  const auto now = HttpClock::now();
  auto leaving = std::ranges::count_if(
      connections_, [](const auto& each) { return !each->is_closed() && each->is_leaving; });
  for (const auto& owned : connections_) {
    Connection& connection = *owned;
    if (connection.is_closed()) continue;
    if (connection.is_leaving && leaving > static_cast<std::ptrdiff_t>(kMostLeaving)) {
      --leaving;
      forget(connection);
      continue;
    }
    if (!connection.is_waiting && connection.reads() && connection.reader.has_part()) {
      take_requests(connection);  // those that came before the last one was answered
    }
    const bool is_late = now >= connection.until && !connection.is_waiting &&
                         !(connection.is_stream && connection.is_flushed());
    if (is_late) forget(connection);
  }
  std::erase_if(connections_, [](const auto& each) { return each->is_closed(); });
}

HttpClock::time_point HttpServer::next() const {
  auto next = std::max(accept_at_, HttpClock::time_point{});
  next = HttpClock::now() + kIdlePatience;
  if (accept_at_ > HttpClock::now()) next = accept_at_;
  for (const auto& each : connections_) {
    if (!each->is_waiting && !(each->is_stream && each->is_flushed()))
      next = std::min(next, each->until);
  }
  return next;
}

void HttpServer::reply(Id id, const HttpAnswer& its) {
  if (Connection* const connection = find(id)) answer(*connection, its);
}

void HttpServer::stream(Id id, const std::string& type) {
  Connection* const connection = find(id);
  if (connection == nullptr) return;
  connection->is_waiting = false;
  connection->is_stream = true;
  connection->unsent += head_of(200, type) + "Connection: close\r\n\r\n";
  connection->until = HttpClock::now() + kReadPatience;
  flush(*connection);
}

void HttpServer::send(Id id, std::string_view text) {
  Connection* const connection = find(id);
  if (connection == nullptr) return;
  if (unread(id) + text.size() > kMostUnread) return forget(*connection);
  if (connection->is_flushed()) connection->until = HttpClock::now() + kReadPatience;
  connection->unsent.erase(0, std::exchange(connection->sent, 0));
  connection->unsent += text;
  flush(*connection);
}

std::size_t HttpServer::unread(Id id) const {
  const Connection* const connection = find(id);
  return connection == nullptr ? 0 : connection->unsent.size() - connection->sent;
}

void HttpServer::close(Id id) {
  if (Connection* const connection = find(id)) forget(*connection);
}

}  // namespace ductile
