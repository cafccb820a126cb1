// A server of HTTP in one thread around `poll`: connections, their limits, answers, and streams of
// events. What is answered is its handler's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/poller.hpp"
#include "job/socket.hpp"
#include "live/http_request.hpp"

namespace ductile {

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> fields{};  // more of the head
};

/// {"status", "error", "remedy"}
HttpAnswer answer_of(const HttpError& error);

class HttpServer {
 public:
  using Id = std::uint64_t;

  class Handler {
   public:
    Handler() = default;
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;
    virtual ~Handler() = default;
    /// When its head has come: throws HttpError if it is refused. True if who asks is known.
    virtual bool check(const HttpRequest& request) = 0;
    /// To be answered by `reply` or `stream`, now or later. HttpError is answered as that.
    virtual void on_request(Id id, const HttpRequest& request) = 0;
    /// Who waits for an answer, or has a stream, has gone.
    virtual void on_gone(Id id) = 0;
  };

  /// Of those that have not shown a token no more than these stay, and no more of all.
  static constexpr std::size_t kMostStrangers = 64, kMostConnections = 256;
  /// Besides, those that have had their last answer, and may not have read it yet.
  static constexpr std::size_t kMostLeaving = 64;
  /// Of a stream that is not read.
  static constexpr std::size_t kMostUnread = std::size_t{1} << 20;

  HttpServer(Descriptor listener, Handler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void add_to(Poller& poller);
  /// After waiting.
  void look();
  /// When `look` has something to do.
  std::chrono::steady_clock::time_point next() const;

  /// Nothing happens if it has gone.
  void reply(Id id, const HttpAnswer& answer);
  /// The head of an answer that goes on by `send`.
  void stream(Id id, const std::string& type);
  /// Who does not read is closed: it comes again, and says what it has.
  void send(Id id, std::string_view text);
  /// What it has not read yet.
  std::size_t unread(Id id) const;
  void close(Id id);

 private:
  struct Connection;
  Connection* find(Id id) const;
  void accept();
  bool make_room();
  void refuse(Connection& connection);
  static void hear_end(Connection& connection);
  void read(Connection& connection);
  void take_requests(Connection& connection);
  void flush(Connection& connection);
  void answer(Connection& connection, const HttpAnswer& answer);
  void forget(Connection& connection);

  Descriptor listener_;
  Handler& handler_;
  std::list<std::unique_ptr<Connection>> connections_;  // the eldest first
  Id next_ = 1;
  std::chrono::steady_clock::time_point accept_at_{};
};

}  // namespace ductile
