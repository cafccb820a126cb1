// Sockets and other descriptors, as far as the runtime needs them. The manager (src/job) and the
// application library (runtime/) share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace ductile {

/// Owns a file descriptor, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// Listens at this numeric address, "127.0.0.1" or "::1", on a free port if `port` is 0. Throws
/// std::system_error, as all of these do.
Descriptor listen_tcp(const std::string& host, std::uint16_t port = 0);

/// Listens at this path, in a folder that only this user may enter.
Descriptor listen_in_folder(const std::string& path);

/// "127.0.0.1:4711", "[::1]:4711" or "unix:/tmp/folder/name": this end of a socket.
std::string local_address(const Descriptor& socket);
/// Of a TCP socket the same without the port.
std::string local_host(const Descriptor& socket);
/// The folder of the socket with this address; empty if it is one of TCP.
std::string folder_of_address(const std::string& address);

/// Connects to an address as `local_address` writes it. A connection of TCP whose other end has
/// gone without a word is found broken after minutes.
Descriptor connect_to(const std::string& address, std::chrono::milliseconds timeout);

/// Listens at a path that only this user may use, or everybody. A socket nobody listens at any more
/// is replaced; anything else at that path is an InputError.
Descriptor listen_unix(const std::string& path, bool for_all = false);
/// InputError if nobody listens there; std::system_error if it cannot be said now, because too many
/// wait there already or this process has no descriptor left.
Descriptor connect_unix(const std::string& path);

/// The next connection, if one is waiting; it does not block and does not outlive an exec.
std::optional<Descriptor> accept_from(const Descriptor& listener);

/// Whose process is at the other end of a Unix socket.
struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};
std::optional<Owner> peer_of(const Descriptor& socket);
/// The supplementary groups of that process.
std::vector<gid_t> groups_of_peer(const Descriptor& socket);
/// Whether the other end of a Unix socket belongs to this user, or to root.
bool may_order(const Descriptor& socket);

void set_blocking(const Descriptor& descriptor, bool blocking);

/// Sends all, waiting as long as it takes. False if the other side has gone.
bool send_all(const Descriptor& socket, std::string_view bytes);

}  // namespace ductile
