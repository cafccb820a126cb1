// Results computed elsewhere, by independent implementations, and where to find them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The folder of reference workloads and results: what the environment's DUCTILE_SHARED_DIR says,
/// else `configured` (the build's DUCTILE_SHARED_DIR). Empty when there is none: skip the test.
std::filesystem::path shared_dir(const std::filesystem::path& configured);

/// The whole of a file, unpacked if it is compressed. Throws InputError.
std::string read_unpacked(const std::filesystem::path& path);

struct ReferenceRun {
  Time start{};
  std::optional<Time> end;  // adaptive policies only
};

/// By job number, of a file `job,start_s[,end_s]`, compressed or not. Throws
/// InputError, std::runtime_error.
std::map<std::uint64_t, ReferenceRun> reference_runs(const std::filesystem::path& path);
std::map<std::uint64_t, Time> reference_starts(const std::filesystem::path& path);

/// A workload that reference results exist for, and the machine it ran on.
struct ReferenceLog {
  std::string name;
  std::string file;  // under the shared folder
  Nodes nodes = 0;
  std::uint32_t cores_per_node = 1;
  std::optional<std::int64_t> partition = {};  // only these lines
  std::int64_t min_runtime_s = 0;
};

/// All of them, the small ones first.
const std::vector<ReferenceLog>& reference_logs();
/// The one of this name; std::out_of_range.
const ReferenceLog& reference_log(const std::string& name);
/// Its jobs, by the rules of the references. `shared` is what `shared_dir` gave.
Workload read_reference_log(const ReferenceLog& log, const std::filesystem::path& shared);

/// A line of easy.jsonl or backfill.jsonl.
struct ReferenceFigures {
  std::string reference, policy;  // policy "easy" where the file names none
  std::uint64_t jobs = 0, skipped = 0;
  double mean_wait_s = 0, mean_turnaround_s = 0, mean_slowdown = 0, makespan_s = 0;
  std::optional<double> mean_bounded_slowdown, utilization;
};

/// By (reference, policy). Throws std::runtime_error.
std::map<std::pair<std::string, std::string>, ReferenceFigures> reference_figures(
    const std::filesystem::path& path);

}  // namespace ductile
