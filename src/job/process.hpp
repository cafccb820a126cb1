// Processes of a generation: started in a session of their own, found again wherever they went, and
// removed to the last.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "job/launcher.hpp"
#include "job/resource_limits.hpp"
#include "job/socket.hpp"

namespace ductile {

/// A program that was started, and the ends of the pipes it writes to.
struct Process {
  pid_t pid = -1;
  Descriptor out{};
  Descriptor err{};
};

/// From now on, processes whose parents have died become children of this one.
void adopt_orphans();

/// What a new job inherits of the environment of this process, with more variables, as
/// "NAME=value".
std::vector<std::string> environment_with(const Variables& variables);

/// The machine has no room for one more process now.
class NoProcess : public RunError {
 public:
  using RunError::RunError;
};

/// A process that becomes its program.
class NewProcess {
 public:
  NewProcess(pid_t pid, std::string program, Descriptor failure)
      : pid_(pid), program_(std::move(program)), failure_(std::move(failure)) {}
  pid_t pid() const { return pid_; }
  /// Becomes readable when it is known whether it could.
  const Descriptor& descriptor() const { return failure_; }
  /// Is it its program? If that is not known yet this waits, or is false if the descriptor does not
  /// block. Throws RunError if it could not, and reaps it.
  bool has_begun();

 private:
  pid_t pid_;
  std::string program_;
  Descriptor failure_;
};

/// Starts `words` with this environment as the leader of a session of its own. `prepare` is called
/// in the new process before the program; what it could not do, a text that lives as long as the
/// program, comes back as RunError with errno in words, as does a program that cannot be started.
/// `prepare` uses no memory that it has not, and of glibc only what does not look for the threads
/// of the process it is a copy of (setuid() and its like do). The new process is in the control
/// group of the folder `group`, if there is one and it can be there. With `keep`, a descriptor that
/// the program is to have, it has no other one above stderr from the beginning: who prepares for
/// long holds nothing of this process.
NewProcess begin_session(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment,
                         const std::function<const char*()>& prepare, const std::string& group = {},
                         int keep = -1);
/// The same, once it is its program.
pid_t start_session(const std::vector<std::string>& words,
                    const std::vector<std::string>& environment,
                    const std::function<const char*()>& prepare, const std::string& group = {});

/// Starts `words` with more environment variables, on these processors (any, if there are none). It
/// leads a session of its own, ends when this process does (SIGTERM), and reads from `input`; from
/// /dev/null if that is no descriptor. It is in the control group of the folder `group` if that
/// is not empty, and has these resource limits. `given` is a descriptor that it has under the same
/// number; none if negative. `first` is called in the new process before all else, as `prepare` of
/// `begin_session` is. Throws RunError if it cannot be started.
Process start_process(const std::vector<std::string>& words, const Variables& variables,
                      const Descriptor& input, const NodeSet& cpus = {},
                      const std::string& group = {}, const ResourceLimits& limits = {},
                      int given = -1, const std::function<const char*()>& first = nullptr);

/// This process, and those it will start, run on these processors only; on any if there are none.
void keep_to(const NodeSet& cpus);

/// A process of this machine, as /proc has it.
struct Seen {
  pid_t pid = -1;
  pid_t parent = -1;
  /// What the variable asked for is in its environment; empty if it is not there, or may not be
  /// read.
  std::string value{};
};
/// All living processes that may be seen.
std::vector<Seen> all_processes(const std::string& variable);

/// All living descendants of this process whose environment has all of `variables`; every
/// descendant if there are none.
std::vector<pid_t> descendants(const Variables& variables);

/// Kills them, and those they start meanwhile, until there are none, but for 5 s at most: who waits
/// for a device dies when that answers. Returns how many there were.
std::size_t kill_descendants(const Variables& variables);

struct Killed {
  std::size_t count = 0;  // how many there were
  bool are_gone = false;
};
/// The same for every descendant, and reaps them. Those whose parents have died are children of
/// this process (adopt_orphans()): when it has none there is nobody left, not even one who was just
/// being started while /proc was read. For who has no other children to wait for.
Killed end_descendants();

/// The exit code a shell shows for what waitpid() told.
int exit_code(int status);

}  // namespace ductile
