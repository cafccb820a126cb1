// `ductile-slurm shadow`: a partition stays with Slurm's own scheduler, is looked at, and nothing
// else. What its jobs asked for and when they ran goes into a record, of which the simulator can
// make what a policy would have done (libslurm/shadow_command.cpp).
//
// The record is a table as `sacct` prints it (docs/formats/sacct.md), to which lines are only
// added: one when a job is first seen, as PENDING or RUNNING, with the sizes that it can have, and
// one when it is over, with Slurm's own times. So what was written before a crash is there after
// it, a line that was cut off is written again, and a job that ended meanwhile is recorded as long
// as Slurm remembers it (MinJobAge).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "job/socket.hpp"
#include "slurm/node_names.hpp"
#include "slurm/slurm.hpp"

namespace ductile {

/// In the folder of a shadow: the record, and the nodes that the partition has had, by lines.
constexpr const char* kShadowJobs = "/jobs.txt";
constexpr const char* kShadowNodes = "/nodes";
/// The first line of a record.
constexpr const char* kShadowColumns =
    "JobID|UID|GID|Account|Partition|QOS|State|Submit|Eligible|Start|End|TimelimitRaw|NNodes|"
    "AdminComment";

class ShadowRecord {
 public:
  /// Goes on with what is in the folder. Throws InputError if that is no record, or the partition
  /// gives no whole nodes, and SlurmError.
  ShadowRecord(Slurm& slurm, std::string partition, const std::string& folder);
  /// Looks at Slurm once and writes down what is new; it is on the disk when this returns. Throws
  /// SlurmError, and RunError where the disk takes no more.
  void look();
  /// How many jobs are recorded as over.
  std::uint64_t over() const { return over_; }

 private:
  /// A job is its number and the time of its submission: Slurm begins anew with numbers one day.
  using Key = std::pair<std::uint64_t, std::int64_t>;
  struct Its {
    std::string said{};  // its sizes, as `sizes_line` has them
    bool is_over = false;
  };

  void read(const std::string& path);
  void learn_machine();

  Slurm& slurm_;
  std::string partition_;
  NodeNames names_;
  SlurmFacts facts_{};
  std::map<std::string, SlurmNode> machine_{};
  Descriptor file_{};
  std::map<Key, Its> jobs_{};
  std::uint64_t over_ = 0;
  std::uint64_t looks_ = 0;
};

/// Looks until SIGTERM or SIGINT; a Slurm that does not answer is waited for.
void look_on(Slurm& slurm, const std::string& partition, const std::string& folder);

}  // namespace ductile
