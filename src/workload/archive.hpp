// Logs of the Parallel Workloads Archive (https://www.cs.huji.ac.il/labs/parallel/workload/).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ductile {

struct ArchivedLog {
  std::string_view name;    // of its file, without .swf.gz
  std::string_view folder;  // below that of the archive
  /// Of the text that it unpacks to: bytes, and their CRC-64. 0: not known; the archive gives none.
  std::uint64_t bytes = 0, checksum = 0;
};

/// What is known by name, oldest first.
std::span<const ArchivedLog> archived_logs();

/// The log of this name, or the only one whose name begins so; capital letters do not matter.
/// Throws InputError, which says which there are.
const ArchivedLog& archived_log(std::string_view name);

/// Where its file is below `root`, which ends with '/'.
std::string url_of(const ArchivedLog& log,
                   std::string_view root = "https://www.cs.huji.ac.il/labs/parallel/workload/");

}  // namespace ductile
