// What SWF has no field for: which jobs adapt, and how. A text file beside the log.
// docs/formats/adaptive.md is the reference.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "workload/swf.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct AdaptiveRules {
  std::uint32_t cores_per_node = 1;  // sizes are in nodes of so many; must be that of the file
  /// May lines say where a job may run? Not where it is to run on a machine without a platform
  /// file. What they say is kept in words; `read_asked` is what has a meaning for it.
  bool may_ask = true;
};

/// Gives the jobs of a log what the file says of them; they must all be rigid. Returns how many
/// jobs of the file the workload does not have. Throws InputError, which names line and field:
/// nothing is half-read.
std::uint64_t read_adaptive(const std::string& path, Workload& workload,
                            const AdaptiveRules& rules = {});

/// The same from the content of a file called `name`.
std::uint64_t parse_adaptive(std::string_view bytes, const std::string& name, Workload& workload,
                             const AdaptiveRules& rules = {});

/// What the jobs of the file ask of their nodes, for `SwfRules::asked`. Throws InputError, also if
/// the platform has no such names, or fewer nodes of the kind than a job needs.
AskedByJobs read_asked(const std::string& path, const Platform& platform);

/// The same from the content of a file called `name`.
AskedByJobs parse_asked(std::string_view bytes, const std::string& name, const Platform& platform);

/// "250": that is what a node of the job draws, in watts. "200..300:250": its user says that it
/// draws from 200 W to 300 W, and it draws 250 W; without the last number as much as he says at
/// most. Throws InputError with that place.
void read_watts(std::string_view text, const Place& place, AdaptiveJob& job);

/// Writes what `read_adaptive` gives back. The caller looks at the state of `out`. Throws
/// InputError if a job cannot be told from another by its name, or asks more often than a line
/// can say.
void write_adaptive(std::ostream& out, const Workload& workload, std::uint32_t cores_per_node = 1);

/// Says in the words of such a file what was measured of a job: times of phases become tables, and
/// what resizes take the fixed part of their cost. Returns what there are no words for, empty if
/// there is nothing of the kind.
std::string say_in_words(AdaptiveJob& job);

/// "logs/kth.adaptive" for "logs/kth.swf.xz".
std::string adaptive_path(const std::string& log);

/// The file of this name beside a log, if there is one.
std::optional<std::string> adaptive_beside(const std::string& log);

}  // namespace ductile
