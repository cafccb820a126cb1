// What Ductile needs of a Slurm. libslurm/libslurm.hpp is the real one; tests have one of their
// own.
//
// Each call is a message to slurmctld and waits for the answer, a millisecond mostly, and up to
// half a second where Slurm keeps accounts. So the world makes them from another thread
// (slurm/errands.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "job/socket.hpp"
#include "scheduling/event.hpp"

namespace ductile {

/// Slurm does not do this. `is_lost`: it did not answer, and nobody knows whether it has done it.
class SlurmError : public std::runtime_error {
 public:
  SlurmError(const std::string& what, bool lost) : std::runtime_error(what), is_lost(lost) {}
  bool is_lost;
};

/// A node as Slurm has it.
struct SlurmNode {
  std::string name{};
  std::uint32_t cpus = 0;
  std::uint32_t sockets = 1;
  std::uint64_t memory_mb = 0;
  std::string features{};  // "a,b"
  std::string gres{};      // "gpu:2"
  std::uint32_t weight = 1;
  Health health = Health::up;
  double watts = 0;  // measured; 0: it does not say
  bool operator==(const SlurmNode&) const = default;
};

/// A job as Slurm has it, or those tasks of an array that wait.
struct SlurmJob {
  enum class State : std::uint8_t {
    pending,
    configuring,  // it has its nodes, and does not run yet
    running,
    suspended,
    completing,  // it is over, but for what it has on some of its nodes
    over
  };

  std::uint64_t number = 0;
  std::uint64_t array = 0;  // number of the array it belongs to; 0: none
  std::string tasks{};      // of a record that stands for several: "0-3,7"
  std::optional<std::uint32_t> task{};
  Owner owner{};
  State state = State::pending;
  bool is_held = false;  // of priority 0
  bool is_batch = true;
  std::string reason{};  // why it waits, Slurm's word
  EndState end = EndState::completed;
  int exit_code = 0;
  int signal = 0;

  std::string name{}, account{}, qos{}, partition{}, reservation{};
  std::string comment{}, admin_comment{};
  std::string dependency{};  // what of it is not fulfilled
  std::string features{}, gres{}, licenses{};
  std::string folder{};
  Nodes least = 1, most = 0;                            // nodes; no `most`: as `least`
  std::uint32_t tasks_per_node = 0, cpus_per_task = 0;  // 0: not said
  std::uint32_t processes = 0;                          // tasks in all
  std::uint32_t cpus = 0;                               // in all, at least
  std::uint64_t memory_mb = 0;                          // on each node; 0: not said
  Duration limit{};                                     // 0: none
  std::vector<std::string> required{}, excluded{};      // nodes
  bool is_requeued = false;                             // when a node fails
  std::uint32_t restarts = 0;
  Time submitted{}, eligible{}, started{}, ended{};  // by the clock on the wall

  std::vector<std::string> nodes{};  // that it has
  std::string batch_host{};

  bool has_nodes() const { return state != State::pending && state != State::over; }
};

/// What this Slurm is, and whether it can be driven.
struct SlurmFacts {
  std::string version{};
  std::string cluster{};
  bool keeps_accounts = false;       // by slurmdbd
  bool permits_expansion = false;    // SchedulerParameters=permit_job_expansion
  bool has_prolog = false;           // PrologSlurmctld
  bool is_exclusive = false;         // the partition gives whole nodes: OverSubscribe=EXCLUSIVE
  bool holds_submissions = false;    // JobSubmitPlugins has lua
  std::uint32_t user = 0;            // SlurmUser
  std::uint32_t most_jobs = 0;       // MaxJobCount
  Duration remembers{};              // MinJobAge
  std::vector<std::string> nodes{};  // of the partition
  Duration max_time{};               // of the partition; 0: any
  Duration default_time{};           // the same
  bool operator==(const SlurmFacts&) const = default;
};

/// How a job is released, or held again.
struct SlurmStart {
  std::uint64_t number = 0;
  std::vector<std::string> nodes{};  // exactly these
  std::uint32_t processes = 0;       // in all; 0: as it was submitted
  Duration limit{};                  // 0: as it was submitted
};

class Slurm {
 public:
  Slurm() = default;
  Slurm(const Slurm&) = delete;
  Slurm& operator=(const Slurm&) = delete;
  virtual ~Slurm() = default;

  /// Throws SlurmError, as all of these do; also where there is no such partition.
  virtual SlurmFacts facts() = 0;
  /// All nodes of the cluster.
  virtual std::vector<SlurmNode> nodes() = 0;
  /// All jobs that it knows, of all partitions, also those that have ended a short while ago.
  /// Nothing: they are as they were at the last call.
  virtual std::optional<std::vector<SlurmJob>> jobs() = 0;

  /// Lets a job that is held start, on these nodes and no others.
  virtual void start(const SlurmStart& what) = 0;
  /// Holds a job that waits, with the sizes that it was submitted with, on any nodes; not as an
  /// operator does. With this comment from now on, if it is not empty.
  virtual void hold(std::uint64_t number, Nodes least, Nodes most,
                    const std::vector<std::string>& required, const std::string& comment) = 0;
  /// Lets a job that is held start where and when Slurm's own scheduler likes.
  virtual void release(std::uint64_t number) = 0;
  /// A running job has these of its nodes from now on; what runs on the others is killed at once.
  virtual void keep(std::uint64_t number, const std::vector<std::string>& nodes) = 0;
  /// A running job gets these nodes besides. `id` is the number of the order, which the helper
  /// job's name has.
  virtual void grow(const SlurmJob& job, const std::vector<std::string>& nodes,
                    std::uint64_t id) = 0;
  /// Cancels it, or makes it wait again, held.
  virtual void end(std::uint64_t number, bool requeue) = 0;
  /// Its limit from its start on.
  virtual void set_limit(std::uint64_t number, Duration limit) = 0;
  /// Makes a job of its own of a task of an array that waits.
  virtual void split(std::uint64_t array, std::uint32_t task) = 0;
};

/// Why a job waits that an operator holds.
constexpr const char* kHeldByOperator = "JobHeldAdmin";
/// What the helper jobs are called by which running ones grow, and the order's number.
constexpr const char* kHelperName = "ductile-grow";

}  // namespace ductile
