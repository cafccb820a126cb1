// A generation of a job: its processes that were started at once, by one launcher. A resize
// replaces one by the next. What is known of it is written by the parts of the manager that find it
// out: the process table (process_table.hpp), who talks to its processes (peers.hpp), and who
// passes on what they write (job_output.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/node_set.hpp"
#include "base/size_range.hpp"
#include "job/cgroup.hpp"
#include "job/held_output.hpp"
#include "job/host_sweep.hpp"
#include "job/launcher.hpp"
#include "job/process.hpp"
#include "job/protocol.hpp"

namespace ductile {

struct Peer;

/// The numbers of processes that a program can have, as it says itself.
struct ProgramSizes {
  SizeRange range{1, wire::kMaxProcesses};
  SizeConstraint constraint{};

  bool operator==(const ProgramSizes&) const = default;
  bool allow(std::uint32_t size) const { return range.contains(size) && constraint.allows(size); }
  /// The largest up to `size`; 0 if there is none.
  std::uint32_t at_most(std::uint32_t size) const {
    const std::uint32_t most = constraint.at_most(std::min(size, range.max));
    return most < range.min ? 0 : most;
  }
  /// One near `size` that is not `now`, if there is one.
  std::uint32_t near(std::uint32_t size, std::uint32_t now) const {
    const std::uint32_t below = at_most(size);
    return below > 0 && below != now ? below : constraint.at_least(std::max(size + 1, range.min));
  }
  /// Why the program cannot have a size that it does not allow, for people.
  std::string objection(std::uint32_t size) const;
};

struct Generation {
  using Clock = std::chrono::steady_clock;

  std::uint32_t number = 0;
  std::uint32_t size = 1;
  std::vector<Host> hosts{};  // that it was given, the first ones first; empty: this one
  NodeSet cpus{};             // of this host, to which it was started; empty: none were chosen

  // ---- Its processes ---------------------------------------------------------------------------
  Process process{};  // the launcher, or the program itself
  std::optional<Cgroup> group{};
  Variables marks{};  // what its processes have in their environment
  Clock::time_point started = Clock::now();
  /// When it has to have ended: SIGTERM then, SIGKILL at the next. Once it has: when to sweep
  /// again.
  Clock::time_point deadline = Clock::time_point::max();
  bool is_terminated = false;
  bool is_late = false;         // it left long ago, and its program works on
  bool is_discarded = false;    // it never became the job
  std::optional<int> status{};  // of waitpid, once it has ended
  Clock::time_point ended{};
  std::optional<HostSweep> sweep{};  // of its hosts, since then

  // ---- What they say ---------------------------------------------------------------------------
  std::vector<Peer*> peers{};  // by rank; null: not connected
  std::uint32_t connected = 0;
  std::uint32_t finishing = 0;  // processes at their end
  std::uint32_t gone = 0;       // processes that have gone before it
  bool has_begun = false;       // a process has said hello
  Clock::time_point begun{};    // when
  bool is_told_slow = false;
  ProgramSizes sizes{};
  std::optional<bool> reads_again{};  // the next one all of the input, or nothing, if it said so

  // ---- What they write -------------------------------------------------------------------------
  bool is_muted = false;   // what it writes is nobody's
  bool is_heard = false;   // what it writes goes on at once
  bool is_quoted = false;  // that it never became the job has been said before its words
  HeldOutput held{};       // output that waits for the generation before to end
  std::uint64_t lost = 0;  // of what was to be held, and is nobody's if this never is the job
  std::string lost_why{};

  bool is_whole() const { return connected == size; }
  /// All of its processes are gone, everywhere.
  bool is_gone() const { return status && (!sweep || sweep->is_done()); }
  bool is_over() const { return is_gone() && !process.out && !process.err; }
  /// All that it wrote has gone on, or is told.
  bool has_been_heard() const { return held.empty() && (lost == 0 || is_discarded); }
};

/// By number.
using Generations = std::map<std::uint32_t, std::unique_ptr<Generation>>;

}  // namespace ductile
