#include "workload/batsim.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "workload/compressed_file.hpp"
#include "workload/json.hpp"

namespace ductile {
namespace {

constexpr double kMostBatsimSeconds = 1e12;
constexpr double kMostBatsimNodes = 2147483648.0;
constexpr double kMostAmount = 1e30;  // flops or bytes
constexpr double kMostBatsimId = 4294967295.0;
constexpr std::uint64_t kMostName = 999'999'999'999'999'999;
constexpr std::size_t kDeepestProfiles = 500;   // profiles within profiles
constexpr std::size_t kMostTimes = 10'000'000;  // of parts of profiles, in all

enum class Kind : std::uint8_t { delay, parallel, homogeneous, total, composed };

// All names that versions gave them.
constexpr std::array<std::pair<std::string_view, Kind>, 16> kKinds = {{
    {"delay", Kind::delay},
    {"DelayProfile", Kind::delay},
    {"parallel", Kind::parallel},
    {"ptask", Kind::parallel},
    {"msg_par", Kind::parallel},
    {"ParallelTaskProfile", Kind::parallel},
    {"parallel_homogeneous", Kind::homogeneous},
    {"ptask_homogeneous", Kind::homogeneous},
    {"msg_par_hg", Kind::homogeneous},
    {"ParallelTaskHomogeneousProfile", Kind::homogeneous},
    {"parallel_homogeneous_total", Kind::total},
    {"msg_par_hg_tot", Kind::total},
    {"composed", Kind::composed},
    {"sequence", Kind::composed},
    {"sequential_composition", Kind::composed},
    {"SequentialCompositionProfile", Kind::composed},
}};

// What a node computes and sends or receives at most, and what all send together.
struct Amounts {
  double flops = 0, bytes = 0, all_bytes = 0;
};

// How long a profile takes, or the type for which there is no answer.
struct Length {
  double seconds = 0;
  std::string unsupported{};
};

class BatsimReader {
 public:
  BatsimReader(const nlohmann::json& json, std::string name, const BatsimRules& rules)
      : top_(json, std::move(name)), rules_(rules) {}

  BatsimInput read();

 private:
  void job(const JsonAt& json);
  void number_jobs();
  std::string id_of(const JsonAt& json);
  std::uint32_t identity(const JsonAt& json, const char* key);
  Length length(const JsonAt& named, Nodes nodes);
  Length length_of(const JsonAt& profile, Nodes nodes);
  Length composed(const JsonAt& profile, Nodes nodes);
  Amounts parallel(const JsonAt& profile, Nodes nodes) const;
  Amounts homogeneous(const JsonAt& profile, Nodes nodes, bool is_total) const;
  double seconds_of(const Amounts& amounts, const JsonAt& profile) const;

  JsonAt top_;
  const BatsimRules& rules_;
  BatsimInput input_;
  Remarks remarks_;
  std::vector<std::string> ids_;  // of jobs, in their order
  std::set<std::string> seen_;
  std::map<std::pair<std::string, Nodes>, Length> lengths_;  // by profile and size
  std::set<std::string> open_;                               // profiles that wait for their parts
};

BatsimInput BatsimReader::read() {
  if (top_.object().contains("jobs_file")) {
    top_.fail("is a configuration of ElastiSim", "convert it with --from elastisim");
  }
  top_.know({"jobs", "profiles", "nb_res", "description", "command", "date"}, remarks_);
  input_.workload.name = top_.place().file;
  if (top_.has("nb_res"))
    input_.nodes = static_cast<Nodes>(top_.at("nb_res").whole(1, kMostBatsimNodes));
  top_.at("profiles").object();
  const JsonAt jobs = top_.at("jobs");
  for (std::size_t i = 0; i < jobs.size(); ++i) job(jobs.item(i));
  number_jobs();
  std::ranges::stable_sort(input_.workload.jobs, {}, &WorkloadJob::submit);
  for (const auto& [what, count] : remarks_) {
    input_.remarks.push_back(count > 1 ? fmt::format("{} ({} times)", what, count) : what);
  }
  return std::move(input_);
}

std::string BatsimReader::id_of(const JsonAt& json) {
  const JsonAt at = json.at("id");
  std::string id;
  if (at.value().is_number_integer()) {
    id = fmt::format("{:.0f}", at.whole(0, kMostBatsimId));
  } else {
    id = at.text();
  }
  // "w0!17" is job 17 of workload w0.
  id.erase(0, id.find('!') == std::string::npos ? 0 : id.find('!') + 1);
  if (!seen_.insert(id).second) {
    at.fail(fmt::format("'{}' is there twice", printable(id)), "give each job an id of its own");
  }
  return id;
}

void BatsimReader::job(const JsonAt& json) {
  json.know({"id", "subtime", "res", "walltime", "profile", "user", "group"}, remarks_);
  std::string id = id_of(json);
  WorkloadJob job;
  job.submit = Time{seconds(json.at("subtime").number(0, kMostBatsimSeconds))};
  job.nodes = static_cast<Nodes>(json.at("res").whole(1, kMostBatsimNodes));
  if (json.has("walltime")) {
    const double walltime =
        json.at("walltime").number(-1, kMostBatsimSeconds);  // -1: there is none
    job.walltime = seconds(std::max(walltime, 0.0));
  }
  if (job.walltime == Duration{}) ++input_.workload.walltime_unknown;
  job.user = identity(json, "user");
  job.group = identity(json, "group");
  const JsonAt profile = json.at("profile");
  const Length time = length(profile, job.nodes);
  if (!time.unsupported.empty()) {
    if (!rules_.skip_unsupported) {
      profile.fail(fmt::format("how long profile '{}' takes is not known: {}",
                               printable(profile.text()), time.unsupported),
                   "leave such jobs out with --unsupported skip");
    }
    ++remarks_[fmt::format("left out: {}", time.unsupported)];
    ++input_.workload.skipped.no_runtime;
    return;
  }
  if (!(time.seconds <= kMostBatsimSeconds)) {
    profile.fail(fmt::format("takes more than {} s", kMostBatsimSeconds),
                 "look at its repetitions");
  }
  job.runtime = std::max(seconds(time.seconds), kTick);  // what takes no time takes the shortest
  ids_.push_back(std::move(id));
  input_.workload.jobs.push_back(job);
}

// By their ids, if all are numbers; else from 1 in the order of the file.
void BatsimReader::number_jobs() {
  std::vector<std::uint64_t> names;
  std::set<std::uint64_t> different;
  for (const std::string& id : ids_) {
    const auto number = parse_number<std::uint64_t>(id);
    if (!number || *number > kMostName || !different.insert(*number).second) break;
    names.push_back(*number);
  }
  const bool are_numbers = names.size() == ids_.size();
  if (!are_numbers) ++remarks_["ids that are no numbers: jobs are numbered from 1, in their order"];
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    input_.workload.jobs[i].name = are_numbers ? names[i] : i + 1;
  }
}

// Batsim does not know them; who writes workloads puts them there.
std::uint32_t BatsimReader::identity(const JsonAt& json, const char* key) {
  if (!json.has(key)) return 0;
  const JsonAt at = json.at(key);
  if (at.value().is_number_integer()) return static_cast<std::uint32_t>(at.whole(0, kMostBatsimId));
  ++remarks_[fmt::format("'{}' is no number, and not read", key)];
  return 0;
}

Length BatsimReader::length(const JsonAt& named, Nodes nodes) {
  const std::string name = named.text();
  const auto known = lengths_.find({name, nodes});
  if (known != lengths_.end()) return known->second;
  const JsonAt profiles = top_.at("profiles");
  if (!profiles.has(name.c_str())) {
    named.fail(fmt::format("there is no profile '{}'", printable(name)),
               "write it among the profiles");
  }
  if (!open_.insert(name).second) {
    named.fail(fmt::format("profile '{}' is a part of itself", printable(name)),
               "take it out of its own sequence");
  }
  if (open_.size() > kDeepestProfiles || lengths_.size() >= kMostTimes) {
    named.fail("there are too many profiles within profiles", "write fewer");
  }
  Length result = length_of(profiles.at(name.c_str()), nodes);
  open_.erase(name);
  return lengths_[{name, nodes}] = std::move(result);
}

Length BatsimReader::length_of(const JsonAt& profile, Nodes nodes) {
  const std::string type = profile.at("type").text();
  if (profile.has("ret") && profile.at("ret").number(-kMostBatsimId, kMostBatsimId) != 0) {
    ++remarks_["profiles that fail in the end ('ret') are as any other"];
  }
  const auto kind = std::ranges::find(kKinds, type, &std::pair<std::string_view, Kind>::first);
  if (kind == kKinds.end()) {
    return {.unsupported = fmt::format("profiles of type '{}' are not supported", printable(type))};
  }
  switch (kind->second) {
    case Kind::delay:
      return {profile.at("delay").number(0, kMostBatsimSeconds)};
    case Kind::parallel:
      return {seconds_of(parallel(profile, nodes), profile)};
    case Kind::homogeneous:
    case Kind::total:
      return {seconds_of(homogeneous(profile, nodes, kind->second == Kind::total), profile)};
    case Kind::composed:
      return composed(profile, nodes);
  }
  return {};
}

Length BatsimReader::composed(const JsonAt& profile, Nodes nodes) {
  const double repeat = profile.has("repeat") ? profile.at("repeat").whole(1, kMostAmount)
                        : profile.has("nb")   ? profile.at("nb").whole(1, kMostAmount)
                                              : 1;
  const JsonAt parts = profile.at("seq");
  Length sum;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Length part = length(parts.item(i), nodes);
    if (!part.unsupported.empty()) return part;
    sum.seconds += part.seconds;
  }
  sum.seconds *= repeat;
  return sum;
}

// Each node's computation, and a matrix: rows send to columns.
Amounts BatsimReader::parallel(const JsonAt& profile, Nodes nodes) const {
  const auto values = [&](const char* key, std::size_t size) -> std::optional<JsonAt> {
    if (!profile.has(key)) return std::nullopt;
    JsonAt at = profile.at(key);
    if (at.size() != size) {
      at.fail(fmt::format("has {} numbers, and a job of {} nodes needs {}", at.size(), nodes, size),
              "give the profile to jobs of its size only");
    }
    return at;
  };
  Amounts most;
  if (const auto cpu = values("cpu", nodes)) {
    for (std::size_t i = 0; i < nodes; ++i) {
      most.flops = std::max(most.flops, cpu->item(i).number(0, kMostAmount));
    }
  }
  if (const auto com = values("com", std::size_t{nodes} * nodes)) {
    std::vector<double> sent(nodes), received(nodes);
    for (std::size_t i = 0; i < std::size_t{nodes} * nodes; ++i) {
      const std::size_t from = i / nodes, to = i % nodes;
      const double bytes = com->item(i).number(0, kMostAmount);
      if (from == to) continue;  // within a node
      sent[from] += bytes;
      received[to] += bytes;
      most.all_bytes += bytes;
    }
    most.bytes = std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
  }
  return most;
}

// The same for each node and each pair of nodes; of a total, their share of it.
Amounts BatsimReader::homogeneous(const JsonAt& profile, Nodes nodes, bool is_total) const {
  const auto amount = [&](const char* key) {
    return profile.has(key) ? profile.at(key).number(0, kMostAmount) : 0;
  };
  double flops = amount("cpu"), pair_bytes = amount("com");
  const double n = nodes, pairs = n * (n - 1);
  if (is_total) {  // as Batsim 4 does it
    flops /= n;
    pair_bytes /= n;
  } else if (profile.has("generation_strategy")) {
    const JsonAt at = profile.at("generation_strategy");
    const std::string strategy = at.text();
    if (strategy == "DefinedAmountsSpreadUniformly" ||
        strategy == "defined_amount_spread_uniformly") {
      flops /= n;
      pair_bytes = nodes > 1 ? pair_bytes / pairs : 0;
    } else if (strategy != "DefinedAmountsUsedForEachValue" &&
               strategy != "defined_amount_used_for_each_value") {
      at.fail(fmt::format("there is no '{}'", printable(strategy)),
              "write DefinedAmountsUsedForEachValue or DefinedAmountsSpreadUniformly");
    }
  }
  return {flops, pair_bytes * (n - 1), pair_bytes * pairs};
}

// All of a parallel task goes on at the pace of what takes longest.
double BatsimReader::seconds_of(const Amounts& amounts, const JsonAt& profile) const {
  const auto over = [&](double amount, double rate, const char* what, const char* option) {
    if (amount == 0) return 0.0;
    if (rate <= 0) {
      profile.fail(fmt::format("how long it takes depends on {}, which is not known", what),
                   fmt::format("give {}", option));
    }
    return amount / rate;
  };
  const BatsimMachine& machine = rules_.machine;
  double longest = over(amounts.flops, machine.flops_per_s, "the speed of nodes", "--flops");
  longest = std::max(longest, over(amounts.bytes, machine.link_bytes_per_s,
                                   "the network of the machine", "--bandwidth"));
  if (machine.backbone_bytes_per_s > 0) {
    longest = std::max(longest, amounts.all_bytes / machine.backbone_bytes_per_s);
  }
  return longest;
}

}  // namespace

BatsimInput read_batsim(const std::string& path, const BatsimRules& rules) {
  return parse_batsim(read_file(path), path, rules);
}

BatsimInput parse_batsim(std::string_view bytes, const std::string& name,
                         const BatsimRules& rules) {
  const nlohmann::json json = parse_json(bytes, name);
  return BatsimReader(json, name, rules).read();
}

void write_batsim(std::ostream& out, const Workload& workload, Nodes nodes, BatsimVersion version) {
  constexpr std::size_t kEnough = 64 << 10;
  std::string text = fmt::format("{{\"nb_res\": {},\n\"jobs\": [", nodes);
  const auto flush = [&](std::size_t enough) {
    if (text.size() < enough) return;
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  };
  std::set<Duration> runtimes;
  const char* separator = "\n";
  for (const WorkloadJob& job : workload.jobs) {
    runtimes.insert(job.runtime);
    fmt::format_to(std::back_inserter(text), "{}{{\"id\": \"{}\", \"subtime\": ", separator,
                   job.name);
    append_seconds(text, job.submit);
    fmt::format_to(std::back_inserter(text), ", \"res\": {}", job.nodes);
    if (job.walltime > Duration{}) append_seconds(text += ", \"walltime\": ", job.walltime);
    append_seconds(text += ", \"profile\": \"", job.runtime);
    text += '"';
    if (job.has_user()) append_number(text += ", \"user\": ", job.user);
    if (job.group != 0) append_number(text += ", \"group\": ", job.group);
    text += '}';
    separator = ",\n";
    flush(kEnough);
  }
  text += "\n],\n\"profiles\": {";
  separator = "\n";
  for (const Duration runtime : runtimes) {
    append_seconds(text.append(separator) += '"', runtime);
    text += version == BatsimVersion::v4 ? "\": {\"type\": \"delay\", \"delay\": "
                                         : "\": {\"type\": \"DelayProfile\", \"delay\": ";
    append_seconds(text, runtime);
    text += '}';
    separator = ",\n";
    flush(kEnough);
  }
  text += "\n}}\n";
  flush(0);
}

}  // namespace ductile
