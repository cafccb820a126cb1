// Where HTTP is answered.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Throws InputError if it is not "HOST:PORT", "PORT" of this machine alone (0: a free
/// one), or "unix:PATH".
void check_http_address(const std::string& address);
/// Listens there. Throws InputError, which names `field`.
Descriptor listen_for_http(const std::string& address, const std::string& field);
/// For people: "http://127.0.0.1:9482", or "unix:PATH".
std::string http_address(const Descriptor& listener);

}  // namespace ductile
