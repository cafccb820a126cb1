#include "job/socket.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

[[noreturn]] void fail(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

void turn_on(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);
}

/// A host that has vanished does not say so: after a minute of silence it is asked, six times.
void keep_alive(int fd) {
  turn_on(fd, SOL_SOCKET, SO_KEEPALIVE);
  constexpr std::pair<int, int> kTimes[] = {
      {TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 6}};
  for (const auto& [option, value] : kTimes) {
    setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value);
  }
}

constexpr std::string_view kUnix = "unix:";

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Numeric addresses only: no name server can delay a job.
Addresses resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    fail("the address '" + host + ":" + port + "'", EINVAL);
  }
  return {found, &freeaddrinfo};
}

std::pair<std::string, std::string> host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) fail("the address '" + address + "'", EINVAL);
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

std::pair<std::string, std::string> name_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("getsockname");
  }
  if (address.ss_family == AF_UNIX) {
    return {std::string(kUnix) + reinterpret_cast<const sockaddr_un&>(address).sun_path, ""};
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    fail("getnameinfo", EINVAL);
  }
  return {host, port};
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw InputError("the path '" + path + "' does not fit a socket",
                     "give one of 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Whether somebody listens there. Never waits for one who accepts nothing: with too many waiting
// it fails.
Descriptor try_connect(const sockaddr_un& address) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS) {
      fail(std::string("connecting to ") + address.sun_path);
    }
    return {};
  }
  set_blocking(socket, true);
  return socket;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

void Descriptor::reset() {
  if (fd_ >= 0) close(release());
}

Descriptor listen_tcp(const std::string& host, std::uint16_t port) {
  const Addresses found = resolve(host, std::to_string(port));
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  turn_on(socket.get(), SOL_SOCKET, SO_REUSEADDR);
  if (bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    fail("listening at " + host + ":" + std::to_string(port));
  }
  return socket;
}

std::string local_address(const Descriptor& socket) {
  const auto [host, port] = name_of(socket);
  if (port.empty()) return host;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

std::string local_host(const Descriptor& socket) { return name_of(socket).first; }

std::string folder_of_address(const std::string& address) {
  if (!address.starts_with(kUnix)) return {};
  return address.substr(kUnix.size(), address.rfind('/') - kUnix.size());
}

namespace {

/// Waits for a place among those that wait to be accepted.
Descriptor connect_in_folder(const std::string& path, std::chrono::milliseconds timeout) {
  const sockaddr_un address = unix_address(path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("socket");
  const timeval longest{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  int result = 0;
  do {
    result = connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) fail("connecting to " + path);
  const timeval for_ever{};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof for_ever);
  return socket;
}

Descriptor connect_tcp(const std::string& address, std::chrono::milliseconds timeout) {
  const auto [host, port] = host_and_port(address);
  const Addresses found = resolve(host, port);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  turn_on(socket.get(), IPPROTO_TCP, TCP_NODELAY);
  keep_alive(socket.get());
  if (connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) fail("connecting to " + address);
    pollfd waiting{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    int ready = 0;
    do {
      ready = poll(&waiting, 1, static_cast<int>(timeout.count()));
    } while (ready < 0 && errno == EINTR);
    int error = ready == 0 ? ETIMEDOUT : 0;
    socklen_t size = sizeof error;
    if (ready != 0) getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) fail("connecting to " + address, error);
  }
  set_blocking(socket, true);
  return socket;
}

}  // namespace

Descriptor connect_to(const std::string& address, std::chrono::milliseconds timeout) {
  if (!address.starts_with(kUnix)) return connect_tcp(address, timeout);
  return connect_in_folder(address.substr(kUnix.size()), timeout);
}

Descriptor listen_in_folder(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    fail("listening at " + path);
  }
  return socket;
}

Descriptor listen_unix(const std::string& path, bool for_all) {
  const sockaddr_un address = unix_address(path);
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) {
      throw InputError("'" + path + "' is there and is no socket", "choose another path");
    }
    if (try_connect(address)) {
      throw InputError("somebody listens at '" + path + "' already", "choose another path");
    }
    unlink(path.c_str());
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  // Never, not even for a moment, open to others.
  const mode_t mask = umask(for_all ? 0111 : 0177);
  const int bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(mask);
  if (bound != 0) {
    throw InputError("'" + path + "' cannot become a socket: " + std::strerror(error),
                     "choose another path");
  }
  if (listen(socket.get(), SOMAXCONN) != 0) fail("listening at " + path);
  return socket;
}

Descriptor connect_unix(const std::string& path) {
  Descriptor socket = try_connect(unix_address(path));
  if (!socket) {
    throw InputError("nobody listens at '" + path + "': " + std::strerror(errno),
                     "give the path of what listens: `ductile run --control`, `ductile serve`");
  }
  return socket;
}

std::optional<Descriptor> accept_from(const Descriptor& listener) {
  Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return std::nullopt;
  turn_on(socket.get(), IPPROTO_TCP, TCP_NODELAY);  // no effect on Unix sockets, as the next one
  keep_alive(socket.get());
  return socket;
}

std::optional<Owner> peer_of(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return Owner{peer.uid, peer.gid};
}

std::vector<gid_t> groups_of_peer(const Descriptor& socket) {
  socklen_t size = 0;
  // Asked without room, it says how much is needed.
  getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);
  std::vector<gid_t> groups(size / sizeof(gid_t));
  if (groups.empty() ||
      getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    return {};
  }
  return groups;
}

bool may_order(const Descriptor& socket) {
  const auto peer = peer_of(socket);
  return peer && (peer->user == geteuid() || peer->user == 0);
}

void set_blocking(const Descriptor& descriptor, bool blocking) {
  const int flags = fcntl(descriptor.get(), F_GETFL);
  fcntl(descriptor.get(), F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

bool send_all(const Descriptor& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      pollfd waiting{.fd = socket.get(), .events = POLLOUT, .revents = 0};
      poll(&waiting, 1, -1);
    } else if (sent < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace ductile
