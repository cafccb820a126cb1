// Where jobs may run: what a user writes, and which nodes of a platform that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/platform.hpp"

namespace ductile {

/// What a user asks, in words that hold on any platform.
struct AskedWhere {
  std::string partitions{};              // any of these, "A,B"; empty: the first one
  std::uint64_t memory_mb = 0;           // on each node
  std::uint32_t cores = 0;               // of each node
  std::string things{};                  // of each node, "gpu:2,fpga"
  std::string only{}, never{};           // nodes, "0-3,7"
  std::string features{};                // of each node, all of these: "ib,avx512"
  std::uint64_t memory_per_core_mb = 0;  // instead of `memory_mb`: of each core that it has there
  std::string qos{};                     // the name of a quality of service; empty: none

  bool operator==(const AskedWhere&) const = default;
};

/// Who asks, for how much: partitions allow some of it.
struct Applicant {
  Duration walltime{};
  Nodes nodes = 0;                      // that it asks for; 0: nobody looks
  std::optional<std::uint32_t> user{};  // nothing: nobody looks
};

/// Where that was written, and what its parts are called there: for errors. As it is: options of
/// `ductile submit`.
struct AskedAs {
  std::string file{};
  std::uint64_t line = 0;
  const char* partitions = "--partition";
  const char* walltime = "--time";
  const char* memory = "--mem";
  const char* cores = "--cpus-per-task";
  const char* things = "--gres";
  const char* only = "--nodelist";
  const char* never = "--exclude";
  const char* features = "--constraint";
  const char* memory_per_core = "--mem-per-cpu";
  const char* qos = "--qos";
  const char* nodes = "--nodes";

  Place place(const char* field = "") const { return {file, line, field}; }
};

/// "gpu:2,fpga": names and how many of each, one if none is said. Throws InputError with this
/// place.
std::vector<std::pair<std::string, std::uint16_t>> parse_things(std::string_view text,
                                                                const Place& place);

/// "0-3,7", any numbers. Throws InputError with this place.
NodeSet parse_named_nodes(std::string_view text, const Place& place);

/// What jobs have of their nodes: all, or what is theirs beside others.
enum class NodesAre : std::uint8_t { whole, shared };

/// The same on this platform, for a job of this limit, size and user: partitions that do not allow
/// that are left out.
/// Two that mean the same nodes are mostly equal: what every node has counts as not asked, and
/// memory, cores and things are as much as the next class has. Not so memory and things where jobs
/// share nodes: what they ask for has to fit beside each other. Throws InputError
/// with the field as it is called there, and with what there is.
Where where_of(const AskedWhere& asked, const Applicant& who, const Platform& platform,
               const AskedAs& as = {}, NodesAre nodes_are = NodesAre::whole);

/// Does the partition allow it?
bool allows(const Partition& partition, const Applicant& who);

/// The nodes on which such a job may run.
NodeSet nodes_of(const Where& where, const Platform& platform);

/// All that have what a job asks of each node, in whatever partition.
NodeSet nodes_with(const Slice& each, const Platform& platform);

/// The fewest cores that one of these nodes has; of no nodes those of the first class.
std::uint32_t fewest_cores(const NodeSet& nodes, const Platform& platform);

/// The names of these partitions, or of the first if none is named, with commas between them; empty
/// if the platform has none.
std::string partition_names(std::uint64_t partitions, const Platform& platform);

/// The things among these, "gpu:2,fpga:1"; empty if there are none.
std::string things_text(const Slice& each, const Platform& platform);

/// The platform `next` where `before` was until now. It has as many nodes at least; those that are
/// gone are of the class that they were of. Partitions and things keep their places, on which
/// hangs what was asked before; those that are gone have no nodes, and new ones come last.
/// Throws InputError if that cannot be: another partition is the first, or there are too many.
Platform continued(const Platform& before, Platform next);

}  // namespace ductile
