// The local world: virtual nodes of this machine, and each job a `ductile run` on them.
//
// A job's manager is no child that ends with the controller: it listens at a socket of the job's
// folder, keeps a report there, and can be found again. What the folder tells after a crash:
//
//   somebody listens           the job runs
//   nobody, lines in the report   it has run and is over
//   nobody, an empty report    it was never started
//
// The socket listens before the manager is started, so that there is no moment between them.
//
// The folder is the controller's, and users have no right in it but to what is theirs: socket,
// report, log and script. So no name in it can be made to mean something else.
//
// Nothing of a job may live on when its nodes are given to another one. Its manager sees to it; for
// one that was killed itself this does. Where cgroups can be made each job has one, which nothing
// leaves. Elsewhere its processes are known by a variable in their environment, and as orphans,
// which become children of the controller; what a job does to hide its processes from both, while
// there is no controller, succeeds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "live/applications.hpp"
#include "live/schedule_clock.hpp"
#include "live/submission.hpp"
#include "model/platform.hpp"
#include "scheduling/event.hpp"
#include "scheduling/state.hpp"

namespace ductile {

/// Output of a job that could not be written, and why; docs/commands/run.md.
struct LostOutput {
  std::uint64_t bytes = 0;
  std::string why{};

  /// In words; empty if there is none.
  std::string text() const;
};

/// What happened in the world: told to the core as it is, and what people want to know besides.
struct Told {
  Event event;
  std::optional<int> exit_code{};
  std::string note{};
  std::optional<Duration> ran{};  // of an end: how long, as its manager has reported
  std::string reason{};           // of a failure, a word of job/failure.hpp
  bool was_killed = false;        // by a signal, for sure
  LostOutput lost{};
  std::optional<Time> ended{};  // and when it was, where that is known and not now
};

/// What a job did at its present size, since the time before.
struct Measured {
  JobId job = JobId::none;
  Nodes nodes = 0;
  Observed seen{};
};

/// A job as the world needs to know it.
struct JobFacts {
  std::uint64_t number = 0;
  Owner owner{};
  const Submission* what = nullptr;
  JobNames names{};
  std::uint32_t restarts = 0;
  // Somebody has ended it; and it waits again then.
  std::optional<EndState> end{};
  bool requeue = false;
};

/// How long the answer to an order to resize may take where nobody says: ten times what it took the
/// job at most so far, from half a minute to ten; two minutes if nothing is known.
constexpr Duration patience_with(Duration longest) {
  if (longest == Duration{}) return whole_seconds(120);
  return std::clamp(10 * longest, whole_seconds(30), whole_seconds(600));
}

class LocalWorld {
 public:
  struct Settings {
    /// Of the jobs' folders; absolute.
    std::string folder{};
    /// The file of `ductile`.
    std::string program{};
    /// A refused or failed job is left alone so long.
    Duration retry = whole_seconds(10);
    /// From SIGTERM to SIGKILL.
    Duration patience = whole_seconds(10);
    /// Keep jobs in cgroups where that can be done.
    bool cgroups = true;
    /// Of each node, where cgroups can see to it; 0: any number.
    std::uint64_t max_processes_per_node = 0;
    /// A resize that takes longer is withdrawn; 0: as `patience_with` says.
    Duration resize_deadline{};
    /// Programs of an MPI that can have several sizes are measured so often; never if 0.
    Duration measure{};
  };

  /// What is told to happen at a time is told by this clock, which outlives it.
  LocalWorld(const Platform& platform, const ScheduleClock& clock, Settings settings);
  ~LocalWorld();
  LocalWorld(const LocalWorld&) = delete;
  LocalWorld& operator=(const LocalWorld&) = delete;

  static Capabilities capabilities();

  /// Does what was decided. Answers come as what happened, some at once. A job that is being ended
  /// already is not started.
  void carry_out(const Decision& decision, const JobFacts& job);
  /// Ends a running job; it will be over with this state, or wait again. Asked again, nothing more
  /// happens, but that one which was to wait again can be ended for good.
  void end(JobId id, EndState state, bool requeue);
  /// Nobody else answers this request: the application is told that it is denied.
  void deny(RequestId id);

  /// Takes up a job that runs as far as the core knows, after a restart. `seen`: until then
  /// it was known to be alive; `held`: what it held before `open`, the decision about it without an
  /// answer; `request`: it has made, and has no answer.
  void take_up(JobId id, const JobFacts& job, Time seen, const Holding& held, const Decision* open,
               const Request* request);
  /// Is there a manager of a job with this number, whoever has started it?
  bool has_manager(std::uint64_t number) const;
  /// Its process, if it can be found.
  std::optional<pid_t> manager_of(std::uint64_t number) const;
  /// Removes what jobs have left that are over.
  void forget(std::uint64_t number) const;
  /// From now on.
  void set(Duration retry, Duration patience, Duration resize_deadline, Duration measure) {
    settings_.retry = retry;
    settings_.patience = patience;
    settings_.resize_deadline = resize_deadline;
    settings_.measure = measure;
  }
  /// The next number of an evolving request.
  void requests_from(std::uint32_t next) { next_request_ = next; }

  void add_to(Poller& poller);
  /// After waiting: children that have ended, and times that have come.
  void look();
  /// When `look` has something to do; `kNever` if not.
  Time next() const;
  /// What happened since the last call, in order.
  std::vector<Told> take() { return std::exchange(told_, {}); }
  /// For how many seconds applications stood still to be resized, since the last call.
  std::vector<double> take_pauses() { return std::exchange(pauses_, {}); }
  /// What a running job has lost of its output, as far as it has told.
  LostOutput lost_output(JobId id) const;
  /// How many orders to resize were withdrawn since the last call, for want of an answer.
  std::uint64_t take_withdrawn() { return std::exchange(withdrawn_, 0); }
  /// Was the last order to resize this job withdrawn?
  bool is_silent(JobId id) const;
  /// What was measured since the last call.
  std::vector<Measured> take_measured() { return std::exchange(measured_, {}); }

 private:
  struct Running;
  enum class Contact { made, nobody, not_now };

  std::unique_ptr<Running> running(JobId id, const JobFacts& job) const;
  bool measures(const Submission& what) const;
  void start(const Decision& decision, const JobFacts& job);
  void make_folder(Running& its, const JobFacts& job, bool changes_user);
  void look_at_start(Running& job);
  void not_started(const Running& job, DecisionId order, const std::runtime_error& error);
  void mark_ended(Running& job, EndState state, bool requeue) const;
  Contact connect(Running& job);
  void read(Running& job);
  void on_closed(Running& job);
  void on_line(Running& job, const std::string& line);
  void on_request(Running& job, std::uint32_t at_least, std::uint32_t preferred);
  void on_measured(const Running& job, const nlohmann::ordered_json& json);
  void settle(Running& job, std::uint32_t processes);
  void expect_answer(Running& job) const;
  void withdraw(Running& job);
  void keep_to_size(Running& job, std::uint32_t processes);
  void order_back(Running& job) const;
  void add_cpus(nlohmann::ordered_json& order, const NodeSet& nodes) const;
  void reap();
  bool is_orphan(pid_t pid) const;
  void gone(Running& job);
  void sweep();
  void over(Running& job);
  std::optional<Time> when_ended(const Running& job, const std::string& boot,
                                 Duration machine) const;
  void happen(Event event) { told_.push_back({std::move(event)}); }
  NodeSet cpus_of(const NodeSet& nodes) const;
  void enable_limits();
  void limit(const Running& job, const Holding& holding) const;
  std::string folder_of(std::uint64_t number) const;

  /// Never a remembered time: while the controller waits, that is long past.
  Time now() const { return clock_.now(); }

  Platform platform_;
  const ScheduleClock& clock_;
  Settings settings_;
  std::vector<std::uint32_t> cpus_;      // of this machine; empty: fewer than virtual ones
  std::string group_{};                  // the cgroup above those of jobs; empty: there are none
  std::set<std::string> controllers_{};  // that these have
  std::map<JobId, std::unique_ptr<Running>> running_;
  std::set<pid_t> orphans_{};  // of managers that were killed, until they are reaped
  Time sweep_at_ = kNever;
  std::vector<Told> told_;
  std::vector<double> pauses_;
  std::uint64_t withdrawn_ = 0;
  std::vector<Measured> measured_;
  rlimit files_{};  // of jobs, whatever this process needs itself
  std::uint32_t next_request_ = 0;
};

}  // namespace ductile
