// The Standard Workload Format 2.2 of the Parallel Workloads Archive.
// docs/formats/swf.md is the reference of what is read and how.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/line_reader.hpp"
#include "workload/platform_file.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What jobs ask of their nodes, each demand once, and which of them a job has, by its number.
struct AskedByJobs {
  std::vector<AskedWhere> asked;
  std::unordered_map<std::uint64_t, std::size_t> of;
};

/// A time of a log: a date (s since 1970, for which the header must have UnixStartTime), or the
/// log's own.
struct LogTime {
  std::int64_t seconds = 0;
  bool is_date = false;
};

/// How the lines of a file become jobs.
struct SwfRules {
  enum class Size : std::uint8_t { requested, allocated };
  /// Field 11: 1, 0, 5, 2 to 4 (parts of a job that was stopped and continued), all else.
  enum class Status : std::uint8_t { completed, failed, cancelled, partial, unknown };
  /// Which number is that of a partition: none, field 15 or field 16.
  enum class PartitionsFrom : std::uint8_t { none, queue, partition };

  Nodes nodes = 0;                        // of the machine; 0: no job is too large
  std::uint32_t cores_per_node = 1;       // > 0; a job has ceil(its cores / cores_per_node) nodes
  std::uint32_t cores_per_processor = 1;  // > 0; what the log calls a processor has so many
  bool counts_cores = false;  // jobs know how many cores they can use of each of their nodes
  /// Which processors count: requested (field 8) and if they are not known allocated (field 5), or
  /// the other way round.
  Size size = Size::requested;
  Duration min_runtime{};           // > 0: shorter run times, also 0, are raised to it
  bool drop_never_started = false;  // no run time and no allocation
  bool extend_walltime = true;      // the walltime is at least the run time
  /// Where no time is requested the walltime is the run time; false: it stays 0.
  bool runtime_as_walltime = true;
  bool clip = false;                      // larger than the machine: made as large as it
  std::optional<std::int64_t> partition;  // only lines with this field 16
  std::vector<Status> status;             // only lines with one of these; empty: all
  Nodes max_size = 0;                     // only jobs up to so many nodes; 0: all
  std::vector<std::uint32_t> users;       // only lines with one of these (field 12); empty: all
  std::vector<std::uint32_t> groups;      // the same of field 13
  Nodes min_size = 0;                     // only jobs of so many nodes and more
  Duration shortest{}, longest{};         // only jobs that run so long; 0: any
  std::optional<LogTime> from, until;     // only jobs that come then: not before, and before it
  std::uint64_t last_jobs = 0;            // only so many, those that come last; 0: all
  std::uint64_t leave_out = 0;            // so many jobs, those that come first in the file
  std::uint64_t max_jobs = 0;             // stop after so many jobs; 0: all

  /// The machine, where its nodes are not all alike. What a line asks for is of it, and a job has
  /// as many nodes as its processors fill where these have the fewest cores.
  std::shared_ptr<const PlatformFile> platform{};
  PartitionsFrom partitions_from = PartitionsFrom::none;
  PartitionsFrom qos_from = PartitionsFrom::none;  // and their quality of service
  /// Jobs wait for those that they name as their preceding ones (fields 17 and 18); false: it is
  /// counted how many name one.
  bool follows_preceding = false;
  /// Jobs of a user's session follow each other as in the log (`session_precedences`), which has to
  /// know their wait times; up to so long after the end of the last one they are of one.
  std::optional<Duration> longest_think{};
  bool uses_memory = false;  // jobs ask for field 10: KB of each processor
  NodesAre nodes_are = NodesAre::whole;
  /// What is said beside the log of where they may run on the platform, instead of what it says.
  std::shared_ptr<const AskedByJobs> asked{};
};

/// What the comment lines before the first job say; as written, empty where they say nothing.
struct SwfHeader {
  std::string version, computer, installation, time_zone, start_time, end_time;
  std::optional<std::int64_t> max_jobs, max_records, max_nodes, max_procs, max_queues,
      max_partitions;
  std::optional<std::int64_t> unix_start_time;  // s since 1970 of submit time 0
  std::string notes;                            // one line each; at most the first 64 KiB
  /// What numbers stand for: lines as "Partition: 1 batch". Written; not read.
  std::string names{};

  /// How many nodes of `cores_per_node` > 0 cores the machine has: MaxProcs, of so many cores each,
  /// else MaxNodes (which
  /// counts nodes of the machine's own size, whatever it is).
  std::optional<Nodes> nodes(std::uint32_t cores_per_node,
                             std::uint32_t cores_per_processor = 1) const;
};

/// Reads a log, plain or compressed (see CompressedFile), in one pass; memory is that of the jobs
/// kept. Times are rounded to microseconds. Throws InputError, naming line and field, if anything
/// in the file is not SWF: a file is read as a whole or not at all. Where `rules.max_jobs` ends the
/// reading, the rest is not looked at.
Workload read_swf(const std::string& path, const SwfRules& rules, SwfHeader* header = nullptr,
                  const ReadProgress& progress = {});

/// The same from the content of a file called `name`.
Workload parse_swf(std::string_view bytes, const std::string& name, const SwfRules& rules,
                   SwfHeader* header = nullptr);

/// Reads no further than the first job.
SwfHeader read_swf_header(const std::string& path);

/// What a line says of a job, from another record of what ran. Empty or negative: not known.
struct SwfLine {
  std::uint64_t number = 0;
  Duration submit{};
  std::optional<Duration> wait, runtime;
  std::int64_t allocated = -1, requested = -1;  // processors
  std::optional<Duration> requested_time;
  std::int64_t requested_memory_kb = -1;  // of each processor
  std::int64_t status = -1;               // as field 11
  std::int64_t user = -1, group = -1, queue = -1, partition = -1;
  std::int64_t preceding = -1;      // the number of the job that comes before,
  std::optional<Duration> think{};  // and how long after its end this one was submitted
};

/// Writes the lines in their order. The caller looks at the state of `out`.
void write_swf_lines(std::ostream& out, std::span<const SwfLine> lines, const SwfHeader& header);

/// Writes the jobs, each with `cores_per_node` processors a node, so that read_swf gives the same
/// workload back. What SWF has no place for (how jobs adapt) is not written. The caller looks at
/// the state of `out`.
void write_swf(std::ostream& out, const Workload& workload, const SwfHeader& header,
               std::uint32_t cores_per_node = 1);

}  // namespace ductile
