// A network for one program alone, of which nothing but its loopback exists: no other user, here or
// elsewhere, can connect to what it listens at.
#pragma once

#include <sys/types.h>

#include "job/socket.hpp"

namespace ductile {

/// Can this user make one? Not where the kernel lets only root do so. Tried in a new process.
bool can_have_private_network();

/// From now on this process, and what it will start, is in a new one. What could not be done, with
/// errno; null if all could. Needs no memory: it is called after a fork.
const char* enter_private_network();

/// A socket of TCP in the network of this process, a child of this one; it does not block.
/// std::system_error.
Descriptor socket_in_network_of(pid_t pid);

}  // namespace ductile
