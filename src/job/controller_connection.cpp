#include "job/controller_connection.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/handshake.hpp"

namespace ductile {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// What the variable says; root if it is not set.
uid_t user_of_controller() {
  const char* const named = std::getenv(kControllerUserVariable);
  if (named == nullptr || *named == '\0') return 0;
  if (const auto number = parse_number<uid_t>(named)) return *number;
  if (const passwd* const user = getpwnam(named)) return user->pw_uid;
  throw InputError({.field = kControllerUserVariable},
                   std::string("there is no user '") + named + "'",
                   "give the name or the number of the user as whom the controller runs");
}

/// A name, or an address as `connect_to` takes it: the numeric one.
std::string numeric(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') return address;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    throw InputError("the host '" + host + "' is not known: " + gai_strerror(error),
                     "give HOST:PORT of a controller");
  }
  char name[NI_MAXHOST] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof name, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  host = name;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + address.substr(colon);
}

Descriptor connect_by_tcp(const std::string& address, std::chrono::milliseconds patience) {
  const Credentials credentials = munge_credentials();
  const ClientHandshake handshake(credentials, user_of_controller());
  const std::string there = numeric(address);
  Descriptor connection;
  try {
    connection = connect_to(there, patience);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::connection_refused) throw RunError(error.what());
    throw InputError("no controller listens at '" + address + "'",
                     "start one with `ductile serve --listen`, or say where it is");
  }
  send_all(connection, handshake.on_greeting(read_line(connection, patience)) + "\n");
  handshake.on_answer(read_line(connection, patience));
  return connection;
}

}  // namespace

bool is_tcp_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || address.find('/') != std::string::npos) {
    return false;
  }
  return parse_number<std::uint16_t>(std::string_view(address).substr(colon + 1)).value_or(0) > 0;
}

Descriptor connect_to_controller(const std::string& address, std::chrono::milliseconds patience) {
  return is_tcp_address(address) ? connect_by_tcp(address, patience) : connect_unix(address);
}

std::string read_line(const Descriptor& socket, std::chrono::milliseconds patience) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + patience;
  std::string line;
  while (line.size() < kLongestLine) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now());
    pollfd waiting{.fd = socket.get(), .events = POLLIN, .revents = 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready == 0) throw RunError("the controller does not answer");
    char byte = 0;
    const ssize_t got = ready < 0 ? -1 : read(socket.get(), &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw RunError("the controller has closed the connection without an answer");
    if (byte == '\n') return line;
    line += byte;
  }
  throw RunError("the controller's answer has no end");
}

}  // namespace ductile
