// How programs reach the controller: by its Unix socket, or by TCP, where both show who they are
// (handshake.hpp).
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "job/socket.hpp"

namespace ductile {

/// As whom the controller runs, a name or a number; root, or who asks, if it is not set.
inline constexpr const char* kControllerUserVariable = "DUCTILE_CONTROLLER_USER";

/// HOST:PORT, also "[::1]:PORT"; anything else is the path of a socket.
bool is_tcp_address(const std::string& address);

/// Connects, and over TCP shows who this is. InputError if nobody listens there; RunError if the
/// controller refuses, is none to be trusted, or does not answer so long; std::system_error if
/// it cannot be said now.
Descriptor connect_to_controller(const std::string& address, std::chrono::milliseconds patience);

/// The next line, and not a byte of what follows. RunError if there is none so long.
std::string read_line(const Descriptor& socket, std::chrono::milliseconds patience);

}  // namespace ductile
