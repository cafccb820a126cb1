// What the kernel shows of processes, below /proc.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace ductile {

/// The numbers of all processes that may be seen.
std::vector<pid_t> all_pids();

/// Of a file below /proc, as far as it can be read: a process may end meanwhile, which a stream
/// would take for a failure of the disk.
std::string content_of(const std::string& path);

/// The folder of a process: "/proc/17/".
std::string proc_folder(pid_t pid);

/// Parent and state of a process, a letter as the kernel shows it; X of one that is not there.
struct Stat {
  pid_t parent = -1;
  char state = 'X';

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
Stat stat_of(pid_t pid);

/// True also of one that nobody has waited for yet: some machines' first process is slow at it.
/// False if that cannot be seen, as without a descriptor.
bool has_ended(pid_t pid);

}  // namespace ductile
