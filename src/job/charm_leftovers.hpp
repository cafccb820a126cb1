// What an expansion of Charm++ leaves behind: charmrun starts all processes anew, and talks with
// those of the old and new ones that come first; the others wait for an answer until the job ends.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace ductile {

/// Connections of one network, of /proc/net/tcp.
struct TcpConnection {
  std::string_view local, remote;  // as they are written there
  unsigned long inode = 0;         // 0: nobody has accepted it yet
};
std::vector<TcpConnection> parse_tcp_table(std::string_view text);

/// Kills the children of this process, with all that they have started, among which there are
/// processes with this word on their command line, but none with a connection to another one here
/// that has accepted it; never `program`. For when all of the program are connected. Returns how
/// many there were.
std::size_t end_unheard_children(pid_t program, std::string_view word);

}  // namespace ductile
