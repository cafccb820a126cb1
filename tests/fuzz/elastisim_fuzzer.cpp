// Any bytes, read as the files of an ElastiSim workload: they are jobs that can be simulated, or an
// InputError. The files follow each other, each ended by a line of dashes: configuration, jobs,
// platform, application model.
//
// Readers: src/workload/elastisim.cpp src/workload/elastisim_model.cpp
// src/workload/elastisim_time.cpp src/workload/formula.cpp src/workload/json.hpp
// src/workload/simgrid.cpp
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "workload/elastisim.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<std::string> files_of(std::string_view text) {
  constexpr std::string_view kEnd = "\n----\n";
  std::vector<std::string> files;
  for (std::size_t end = text.find(kEnd); end != std::string_view::npos; end = text.find(kEnd)) {
    files.emplace_back(text.substr(0, end));
    text.remove_prefix(end + kEnd.size());
  }
  files.emplace_back(text);
  files.resize(4);
  return files;
}

void check_model(const Speedup& speedup, SizeRange sizes) {
  for (const Nodes n : {sizes.min, sizes.max}) {
    const double time = speedup.relative_time(n, sizes.max);
    require(time > 0 && std::isfinite(time));
  }
}

void check(const WorkloadJob& job, const AdaptiveJob& more) {
  require(more.size.min > 0 && more.size.contains(job.nodes));
  check_model(more.speedup, more.size);
  double until = 0;
  std::uint64_t iterations = 0;
  for (const Phase& phase : more.phases) {
    require(phase.until >= until && phase.until <= 1);
    until = phase.until;
    require(phase.iterations > 0);
    iterations += phase.iterations;
    require(phase.times_s.rows().size() == std::size_t{more.size.max} - more.size.min + 1);
    for (const double time_s : phase.times_s.rows()) require(time_s >= 0 && std::isfinite(time_s));
  }
  std::uint64_t done = 0;
  for (const EvolvingStep& step : more.steps) {
    require(step.iterations > done && step.iterations < iterations);
    done = step.iterations;
    for (const Nodes wanted : step.wanted.rows()) require(more.size.contains(wanted));
    require(more.delta_of(step, more.size.min) >= 0 || more.size.min < more.size.max);
  }
  require(more.resize_cost(more.size.min, more.size.max) >= Duration{});
  require(more.resize_cost(more.size.max, more.size.min) >= Duration{});
}

void check(const ElastisimInput& input, const ElastisimRules& rules) {
  const Workload& workload = input.workload;
  require(rules.max_jobs == 0 || workload.jobs.size() <= rules.max_jobs);
  Time last{};
  for (const WorkloadJob& job : workload.jobs) {
    require(job.submit >= last);
    last = job.submit;
    require(job.nodes > 0 && job.nodes <= input.machine.nodes);
    require(job.runtime > Duration{} && job.walltime > Duration{});
    require(!rules.extend_walltime || job.walltime >= job.runtime);
    if (job.adaptive != WorkloadJob::kRigid) check(job, workload.adaptive.at(job.adaptive));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::vector<std::string> files =
      files_of(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  ElastisimRules rules;
  rules.extend_walltime = (data[0] & 1) != 0;
  rules.max_jobs = (data[0] & 2) != 0 ? 1 : 0;
  rules.load = [&](const std::string& path) {
    if (path == "c") return files[0];
    if (path == "j") return files[1];
    if (path == "p") return files[2];
    if (path == "m") return files[3];
    throw InputError({.file = path}, "cannot be read", "");
  };
  try {
    check(read_elastisim("c", rules), rules);
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  if ((data[0] & 4) != 0) {  // files that are there, and some that are not
    try {
      read_elastisim("examples/elastisim/" + files[3].substr(0, 40), {});
    } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  return 0;
}
