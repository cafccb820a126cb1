// What Slurm's accounting prints: `sacct --parsable2`, with its line of column names.
// docs/formats/sacct.md is the reference of what is read and how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/line_reader.hpp"
#include "workload/swf.hpp"

namespace ductile {

struct SacctRules {
  /// What the processors of a log are: CPUs as Slurm counts them, or `cores_per_node` for each node
  /// of a job.
  enum class Count : std::uint8_t { cpus, nodes };

  Count count = Count::cpus;
  std::uint32_t cores_per_node = 1;
  bool from_eligible = false;  // jobs arrive when they are eligible, not when they are submitted
  bool anonymise = false;      // the header names nobody and nothing
};

struct SacctInput {
  std::vector<SwfLine> lines;         // by (submit time, position in the file), numbered from 1
  std::vector<std::string> comments;  // column AdminComment, of each line; empty: not there
  SwfHeader header;
  std::uint64_t steps = 0;       // lines of steps, which their job stands for
  std::uint64_t unfinished = 0;  // jobs of which no line says that they are over
  std::vector<std::string> remarks;
};

/// Reads a file, plain or compressed, in one pass. Throws InputError, naming line and column; where
/// a column is missing it says what to call.
SacctInput read_sacct(const std::string& path, const SacctRules& rules,
                      const ReadProgress& progress = {});

/// The same from the content of a file called `name`.
SacctInput parse_sacct(std::string_view bytes, const std::string& name, const SacctRules& rules);

}  // namespace ductile
