// The generations of a job that are there: how each is started, how its processes are found again
// when they end, how those are ended that take too long, and that none is left behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "base/node_set.hpp"
#include "job/generation.hpp"
#include "job/launcher.hpp"
#include "job/resource_limits.hpp"
#include "job/socket.hpp"

namespace ductile {

class JobFolder;

class ProcessTable {
 public:
  using Clock = Generation::Clock;

  /// `launcher` and `folder`, where launchers' sessions are noted (null: nowhere), outlive it. An
  /// old generation may take so long to leave, and a job to end after SIGTERM: `patience`.
  ProcessTable(const Launcher& launcher, const ResourceLimits& limits,
               std::chrono::milliseconds patience)
      : launcher_(launcher), limits_(limits), patience_(patience) {}
  void note_sessions_in(const JobFolder* folder) { folder_ = folder; }

  struct Start {
    std::uint32_t size = 1;
    /// Where; this host if empty.
    std::vector<Host> hosts{};
    /// By which its processes are known, besides the number of the generation.
    Variables marks{};
    /// What else they find in their environment.
    Variables variables{};
    NodeSet cpus{};
    Cores cores{};
    Descriptor input{};
    /// A descriptor that the program has as well; none if negative.
    int given = -1;
    /// Called in the new process before all else, as `begin_session` has it; nothing if null.
    std::function<const char*()> prepare{};
    /// How it is started, if not as the others.
    std::optional<Launcher> launcher{};
  };
  /// The next generation, of the number that `next_number` was. RunError if it cannot be started:
  /// then there is none, and its number is not used again.
  Generation& start(const Start& how);
  std::uint32_t next_number() const { return next_number_; }
  /// The same, and no generation will have it.
  std::uint32_t skip_number() { return next_number_++; }
  /// Before there is any: the first one is no beginning.
  void begin_at(std::uint32_t number) { current_ = next_number_ = number; }

  const Generations& all() const { return all_; }
  /// Null if it is not there, or not any more.
  Generation* find(std::uint32_t number) const;
  /// The one that is the job: the first one, until another one takes its place.
  Generation& current() const { return *all_.at(current_); }
  void become_current(std::uint32_t number) { current_ = number; }

  /// Looks which launchers have ended. What each has left on this host is killed, and looked for on
  /// others; then `tell` is called. `other` hears of other children of this process that have
  /// ended.
  void reap(const std::function<void(Generation&)>& tell,
            const std::function<void(pid_t, int status)>& other = {});

  /// When `keep_deadlines` has something to do.
  Clock::time_point next() const;
  /// Those whose time is over are told to end, and then killed, and what still holds their pipes is
  /// looked for. One that `may_go_on` is let be until then; `before_end` is called before one is
  /// told to end.
  using MayGoOn = std::function<std::optional<Clock::time_point>(Generation&)>;
  void keep_deadlines(Clock::time_point now, bool has_job_ended, const MayGoOn& may_go_on,
                      const std::function<void(Generation&)>& before_end);

  /// All are to end; launchers know some signals, and get SIGTERM for the others.
  void stop(int signal, Clock::time_point now);
  /// At once.
  void stop_now(Clock::time_point now);
  /// Forgets those that are over but for the current one, if all they wrote has gone on.
  void forget_those_over();

  /// Has a process of an MPI been killed, or found dead, that did not leave in order?
  bool has_killed() const { return has_killed_; }
  /// At the end of the job: kills all that is left here. False if there are processes that cannot
  /// be killed.
  static bool end_all();

 private:
  void on_ended(Generation& generation, int status);
  void sweep(Generation& generation, Clock::time_point now, bool has_job_ended);

  const Launcher& launcher_;
  const ResourceLimits& limits_;
  std::chrono::milliseconds patience_;
  const JobFolder* folder_ = nullptr;
  Generations all_{};
  std::uint32_t current_ = 0;
  std::uint32_t next_number_ = 0;
  bool has_killed_ = false;
};

}  // namespace ductile
