// Credentials of MUNGE (https://dun.github.io/munge/): a text, signed by the daemon munged of this
// host in the name of the user who asks, that each host with the same key can look at once.
#pragma once

#include <functional>
#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Where munged listens, if it is not where libmunge looks.
inline constexpr const char* kMungeSocketVariable = "DUCTILE_MUNGE_SOCKET";

/// How credentials are made and looked at. Both throw RunError, in MUNGE's words: one that was
/// forged, has expired, or was looked at on this host before, is none.
struct Credentials {
  struct Shown {
    Owner owner{};
    std::string payload{};
  };
  std::function<std::string(const std::string& payload)> make{};
  std::function<Shown(const std::string& credential)> look_at{};
};

/// Those of the munged behind this socket; empty: of $DUCTILE_MUNGE_SOCKET, or the usual one.
/// InputError if this program was built without libmunge.
Credentials munge_credentials(const std::string& socket = {});

}  // namespace ductile
