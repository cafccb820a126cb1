#include "job/line_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace ductile {

LineSocket::LineSocket(Descriptor socket, std::size_t longest, std::size_t most,
                       std::string too_long)
    : socket_(std::move(socket)), longest_(longest), most_(most), too_long_(std::move(too_long)) {
  set_blocking(socket_, false);
}

Descriptor LineSocket::release() {
  if (!come_.empty() || !is_flushed()) close();
  return std::move(socket_);
}

short LineSocket::events() const {
  return static_cast<short>((has_line() ? 0 : POLLIN) | (is_flushed() ? 0 : POLLOUT));
}

bool LineSocket::work() {
  flush();
  if (is_closed() || has_line()) return false;
  std::array<char, 65536> bytes;
  const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got > 0) {
    come_.append(bytes.data(), static_cast<std::size_t>(got));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    close();
  }
  return got > 0;
}

std::optional<std::string> LineSocket::next() {
  const std::size_t end = come_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = come_.size();
    if (come_.size() > longest_) {
      if (!too_long_.empty()) send(too_long_);
      close();
    }
    return std::nullopt;
  }
  std::string line = come_.substr(0, end);
  come_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

void LineSocket::send(std::string_view line) {
  if (is_closed()) return;
  unsent_.append(line).push_back('\n');
  flush();
  if (unsent() > most_) close();
}

void LineSocket::send_part(std::string_view part) {
  flush();
  // What can go at once is not copied.
  while (is_flushed() && !is_closed() && !part.empty()) {
    const ssize_t sent = ::send(socket_.get(), part.data(), part.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      part.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      close();
    }
  }
  if (is_closed()) return;
  unsent_.append(part);
  if (unsent() > most_) close();
}

void LineSocket::flush() {
  while (unsent() > 0 && !is_closed()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data() + sent_, unsent(), MSG_NOSIGNAL);
    if (sent > 0) {
      sent_ += static_cast<std::size_t>(sent);
      // Not each time: what waits may be long.
      if (sent_ < unsent_.size() / 2) continue;
      unsent_.erase(0, std::exchange(sent_, 0));
      if (unsent_.empty()) unsent_.shrink_to_fit();
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      close();
    }
  }
}

}  // namespace ductile
