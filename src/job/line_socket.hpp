// A connection on which both sides send lines, as the control sockets of jobs and of the controller
// have it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "job/socket.hpp"

namespace ductile {

/// One end of it. Never blocks: what cannot be sent at once waits. Who sends more than a line may
/// have, or does not read, is closed.
class LineSocket {
 public:
  /// `longest`: bytes that a line of the other side may have; `most`: that may wait for it. Who
  /// sends a longer line is sent `too_long`, if there is any, before it is closed.
  LineSocket(Descriptor socket, std::size_t longest, std::size_t most, std::string too_long = {});

  const Descriptor& descriptor() const { return socket_; }
  /// What to wait for: POLLIN while no line waits to be taken, POLLOUT while something is unsent.
  short events() const;
  bool is_closed() const { return !socket_; }
  void close() { socket_.reset(); }
  /// The connection itself; closed, and none, if something that has come or was to be sent would be
  /// lost with this.
  Descriptor release();

  /// Sends what waits and reads what has come. Closed afterwards if the other side has gone. True
  /// if something was read: there may be more.
  bool work();
  /// The next whole line without its end.
  std::optional<std::string> next();
  /// Is there one?
  bool has_line() const { return come_.find('\n', searched_) != std::string::npos; }
  void send(std::string_view line);
  /// Of a line: `send` is its end.
  void send_part(std::string_view part);
  /// Has everything been sent?
  bool is_flushed() const { return unsent() == 0; }
  /// Bytes that have not.
  std::size_t unsent() const { return unsent_.size() - sent_; }

 private:
  void flush();

  Descriptor socket_;
  std::size_t longest_, most_;
  std::string too_long_;
  std::string come_{}, unsent_{};
  std::size_t sent_ = 0;      // of `unsent_`, from its beginning
  std::size_t searched_ = 0;  // of `come_`: no end of a line before
};

}  // namespace ductile
