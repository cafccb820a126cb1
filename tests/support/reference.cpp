#include "support/reference.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "workload/compressed_file.hpp"
#include "workload/swf.hpp"

namespace ductile {

std::filesystem::path shared_dir(const std::filesystem::path& configured) {
  const char* chosen = std::getenv("DUCTILE_SHARED_DIR");
  const std::filesystem::path shared = chosen != nullptr ? chosen : configured;
  return std::filesystem::is_directory(shared / "reference") ? shared : std::filesystem::path{};
}

std::string read_unpacked(const std::filesystem::path& path) {
  CompressedFile file = CompressedFile::open(path.string());
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t size = file.read(buffer, sizeof buffer)) text.append(buffer, size);
  return text;
}

std::map<std::uint64_t, ReferenceRun> reference_runs(const std::filesystem::path& path) {
  std::istringstream text(read_unpacked(path));
  std::string line;
  std::getline(text, line);
  const bool with_end = line == "job,start_s,end_s";
  if (!with_end && line != "job,start_s") {
    throw std::runtime_error(path.string() + ": not a reference file: " + line);
  }
  std::map<std::uint64_t, ReferenceRun> runs;
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    std::uint64_t job = 0;
    char comma = 0;
    double start_s = 0, end_s = 0;
    fields >> job >> comma >> start_s;
    if (with_end) fields >> comma >> end_s;
    ReferenceRun run{Time{seconds(start_s)}, {}};
    if (with_end) run.end = Time{seconds(end_s)};
    if (!fields || !runs.emplace(job, run).second) {
      throw std::runtime_error(path.string() + ": bad line: " + line);
    }
  }
  return runs;
}

std::map<std::uint64_t, Time> reference_starts(const std::filesystem::path& path) {
  std::map<std::uint64_t, Time> starts;
  for (const auto& [job, run] : reference_runs(path)) starts.emplace(job, run.start);
  return starts;
}

const std::vector<ReferenceLog>& reference_logs() {
  static const std::vector<ReferenceLog> logs = {
      {"rigid_1000", "workloads/rigid_1000.swf.xz", 500},
      {"rigid_5000", "workloads/rigid_5000.swf.xz", 500},
      {"KIT-FH2-2016-1-first25k-derived", "traces/KIT-FH2-2016-1-first25k-derived.swf.xz", 24048},
      {"KTH-SP2-1996-2", "traces/KTH-SP2-1996-2.swf.xz", 100},
      {"LLNL-Atlas-2006-2.1-cln", "traces/LLNL-Atlas-2006-2.1-cln.swf.xz", 9216},
      {"rigid_50000", "workloads/rigid_50000.swf.xz", 500},
      {"CEA-Curie-2011-2.1-cln_partition10", "traces/CEA-Curie-2011-2.1-cln.swf.xz", 5040, 16, 10,
       1},
      {"HPC2N-2002-2.2-cln", "traces/HPC2N-2002-2.2-cln.swf.gz", 240},
      {"RICC-2010-2", "traces/RICC-2010-2.swf.xz", 1024, 8},
  };
  return logs;
}

const ReferenceLog& reference_log(const std::string& name) {
  for (const ReferenceLog& log : reference_logs()) {
    if (log.name == name) return log;
  }
  throw std::out_of_range("no reference log is called " + name);
}

Workload read_reference_log(const ReferenceLog& log, const std::filesystem::path& shared) {
  SwfRules rules;
  rules.nodes = log.nodes;
  rules.cores_per_node = log.cores_per_node;
  rules.partition = log.partition;
  rules.min_runtime = whole_seconds(log.min_runtime_s);
  return read_swf((shared / log.file).string(), rules);
}

std::map<std::pair<std::string, std::string>, ReferenceFigures> reference_figures(
    const std::filesystem::path& path) {
  const auto optional = [](const nlohmann::json& json, const char* key) {
    return json.contains(key) ? std::optional(json[key].get<double>()) : std::nullopt;
  };
  std::istringstream text(read_unpacked(path));
  std::map<std::pair<std::string, std::string>, ReferenceFigures> all;
  for (std::string line; std::getline(text, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    ReferenceFigures figures;
    figures.reference = json.at("reference");
    figures.policy = json.value("policy", "easy");
    figures.jobs = json.at("jobs");
    figures.skipped = json.at("skipped");
    figures.mean_wait_s = json.at("mean_wait_s");
    figures.mean_turnaround_s = json.at("mean_turnaround_s");
    figures.mean_slowdown = json.at("mean_slowdown");
    figures.makespan_s = json.at("makespan_s");
    figures.mean_bounded_slowdown = optional(json, "mean_bounded_slowdown");
    figures.utilization = optional(json, "utilization");
    all.emplace(std::pair(figures.reference, figures.policy), figures);
  }
  return all;
}

}  // namespace ductile
