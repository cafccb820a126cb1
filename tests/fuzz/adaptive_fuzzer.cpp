// Any bytes, read as what is said of the jobs of a log: jobs that are sound and that are written
// and read again as the same, or an InputError that leaves the workload as it was.
//
// The first byte of an input says how the log is and how it is read.
//
// Readers: src/workload/adaptive.cpp src/workload/line_reader.cpp src/base/size_range.cpp
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "workload/adaptive.hpp"

namespace ductile {
namespace {

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::uint64_t kJobs = 8;

// Jobs 1 to 8 of as many nodes.
Workload log_of(std::uint8_t how) {
  Workload workload;
  for (std::uint64_t i = 1; i <= kJobs; ++i) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    job.nodes = static_cast<Nodes>(i);
  }
  if ((how & 1) != 0) workload.jobs.back().name = 1;
  return workload;
}

void check(const Speedup& speedup) {
  for (const Nodes n : {1u, 2u, 7u, 1000u, 1u << 31}) {
    const double relative = speedup.relative_time(n, 8);
    require(std::isfinite(relative) && relative > 0);
  }
  require(parse_speedup(to_text(speedup)) == speedup);
}

void check(const AdaptiveJob& more) {
  require(more.size.min > 0 && more.size.min <= more.size.max);
  check(more.speedup);
  check(more.believed.speedup);
  const SizeConstraint& constraint = more.believed.constraint;
  for (const Nodes n : {0u, 1u, 6u, 1000u, ~0u - 1}) {
    const Nodes below = constraint.at_most(n), above = constraint.at_least(n);
    require(below <= n && (below == 0 || constraint.allows(below)));
    require(above >= n && (above == SizeConstraint::kNone || constraint.allows(above)));
  }
  require(parse_constraint(to_text(constraint)) == constraint);
  double progress = 0;
  for (const EvolvingStep& step : more.steps) {
    require(step.delta != 0 && step.progress >= progress && step.progress <= 1);
    require(-step.progress <= step.saves && step.saves <= 1);
    progress = step.progress;
  }
  double until = 0;
  for (const Phase& phase : more.phases) {
    require(phase.iterations > 0 && phase.until >= until && phase.until <= 1);
    check(phase.speedup);
    until = phase.until;
  }
}

AskedWhere asked_of(const Workload& workload, const AdaptiveJob& more) {
  return more.asked == 0 ? AskedWhere{} : workload.asked.at(more.asked - 1);
}

std::string written(const Workload& workload, std::uint32_t cores_per_node) {
  std::ostringstream out;
  write_adaptive(out, workload, cores_per_node);
  return out.str();
}

void read_as_file(std::string_view bytes, const Workload& expected, bool sound,
                  std::uint32_t cores_per_node, std::uint8_t how) {
  const MemoryFile file(bytes);
  Workload workload = log_of(how);
  try {
    read_adaptive(file.path(), workload, {.cores_per_node = cores_per_node});
    require(sound && workload.adaptive == expected.adaptive);
  } catch (const InputError&) {
    require(!sound);
  }
  require(!adaptive_beside("no/such/" + std::to_string(bytes.size()) + ".swf.gz"));
}

}  // namespace
}  // namespace ductile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ductile;
  if (size == 0) return 0;
  const std::uint8_t how = data[0];
  const std::uint32_t cores_per_node = (how & 2) != 0 ? 4 : 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Workload before = log_of(how);
  Workload workload = before;
  bool sound = false;
  try {
    parse_adaptive(bytes, "fuzz", workload, {.cores_per_node = cores_per_node});
    sound = true;
  } catch (const InputError&) {
    require(workload.jobs == before.jobs && workload.adaptive.empty());
  }
  if (sound) {
    for (const AdaptiveJob& more : workload.adaptive) check(more);
    const std::string text = written(workload, cores_per_node);
    Workload again = before;
    require(parse_adaptive(text, "again", again, {.cores_per_node = cores_per_node}) == 0);
    // Rows are in the order of the file, and what is written is in the order of jobs.
    for (std::size_t i = 0; i < kJobs; ++i) {
      const std::uint32_t row = workload.jobs[i].adaptive, other = again.jobs[i].adaptive;
      require((row == WorkloadJob::kRigid) == (other == WorkloadJob::kRigid));
      if (row == WorkloadJob::kRigid) continue;
      AdaptiveJob its = workload.adaptive[row], read = again.adaptive[other];
      require(asked_of(workload, its) == asked_of(again, read));
      its.asked = read.asked = 0;  // demands, too, are in the order of the file
      require(its == read);
    }
    require(again.precedences.size() == workload.precedences.size());
    for (std::size_t i = 0; i < again.precedences.size(); ++i) {
      const Precedence &its = workload.precedences[i], &read = again.precedences[i];
      require(its.job == read.job && its.on == read.on && its.kind == read.kind);
    }
    require(written(again, cores_per_node) == text);
  }
  if (how == 8) {  // with a line that is too long
    Workload other = log_of(how);
    try {
      parse_adaptive(std::string(bytes) + "\n#" + std::string(1 << 20, 'x'), "fuzz", other,
                     {.cores_per_node = cores_per_node});
      require(false);
    } catch (const InputError&) {
    }
  }
  if ((how & 4) != 0) read_as_file(bytes, workload, sound, cores_per_node, how);
  return 0;
}
