// What a generation has left on other hosts is looked for there and killed, by the means that
// started it: its launcher may be gone without its processes, and daemons of a program outlive
// both.
#pragma once

#include <chrono>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "job/launcher.hpp"

namespace ductile {

class HostSweep {
 public:
  /// Kills on these hosts all processes of this user that have `marks` in their environment.
  HostSweep(std::string agent, const std::vector<Host>& hosts, const Variables& marks);

  bool is_done() const { return waiting_.empty() && running_.empty(); }
  /// A child of this process has ended; was it one of ours?
  bool on_ended(pid_t pid, int status);
  /// Gives the rest up, and tells which hosts that are.
  std::vector<std::string> give_up();

 private:
  void start();

  std::string agent_;
  std::string script_;
  std::deque<std::string> waiting_{};
  struct Running {
    pid_t pid;
    std::string host;
    bool operator<(const Running& other) const { return pid < other.pid; }
  };
  std::set<Running> running_{};
};

}  // namespace ductile
