#include "workload/elastisim.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "workload/compressed_file.hpp"
#include "workload/elastisim_model.hpp"
#include "workload/elastisim_time.hpp"
#include "workload/json.hpp"

namespace ductile {
namespace {

constexpr double kMostElastisimSeconds = 1e12;
constexpr double kMostElastisimNodes = 1e9;
constexpr double kMostNumber = 1e30;
constexpr Nodes kMostSizes = 65'536;                // of one job
constexpr std::uint64_t kMostRequests = 1'000'000;  // evolving requests of one job
constexpr std::uint64_t kMostFollowed = 10'000;     // iterations of a phase, part by part
constexpr std::size_t kMostNamed = 8;               // tasks in a remark

// One phase of a job: its iterations, and how long one takes at each size.
struct Timed {
  std::uint64_t iterations = 1;
  bool point_at_start = false;  // of each iteration
  const ElastisimPhase* phase = nullptr;
  std::vector<double> time_s;        // by size
  std::vector<Stretches> stretches;  // the same
  bool sends() const {
    return std::ranges::any_of(stretches, [](const Stretches& its) { return !its.rows().empty(); });
  }
};

// Tasks that want what is there once for all jobs.
struct Contention {
  std::uint64_t jobs = 0;  // that have such tasks
  std::set<std::string> tasks;
};

class JobsReader {
 public:
  JobsReader(const std::string& configuration, const ElastisimRules& rules)
      : configuration_(configuration), rules_(rules) {}

  ElastisimInput read();

 private:
  std::string load(const std::string& path) {
    input_.files.push_back(path);
    return rules_.load ? rules_.load(path) : read_file(path);
  }
  std::string find(const JsonAt& path, const std::string& named_by);
  const ElastisimModel& model(const JsonAt& path, const std::string& jobs_file);

  void job(const JsonAt& json, const std::string& jobs_file, std::uint64_t name);
  void study(const JsonAt& configuration);
  static std::string texts(const JsonAt& map);
  static Time submit_of(const JsonAt& json);
  std::optional<SizeRange> sizes_of(const JsonAt& json, JobType type);
  static std::uint32_t gpus_at(const JsonAt& json, const char* key);
  std::uint32_t gpus_of(const JsonAt& json, JobType type);
  Variables arguments(const JsonAt& json);
  void walltime(const JsonAt& json, WorkloadJob& job);
  std::vector<Timed> timed(const ElastisimModel& model, ElastisimShape& shape, SizeRange sizes,
                           JobType type);
  static void phases(const std::vector<Timed>& timed, double total_s, std::size_t preferred,
                     AdaptiveJob& more);
  void requests(const std::vector<Timed>& timed, ElastisimShape& shape, AdaptiveJob& more);
  void costs(const ElastisimModel& model, ElastisimShape& shape, AdaptiveJob& more,
             Nodes preferred) const;
  void contend(const ElastisimShape& shape);
  void tell_contention(const Contention& contention, std::string_view of_what);

  std::string configuration_;
  const ElastisimRules& rules_;
  ElastisimInput input_;
  Remarks remarks_;
  bool clip_requests_ = true;
  Duration grace_{};                              // from the walltime to the kill
  std::map<std::string, ElastisimModel> models_;  // by path
  std::map<std::pair<std::string, std::string>, std::string> found_;  // paths, by who names them
  Contention of_files_, of_network_;
};

// The folder of a file, the one around it, and so on.
std::vector<std::filesystem::path> folders_around(const std::string& file) {
  std::vector<std::filesystem::path> folders;
  const auto add = [&](std::filesystem::path folder) {
    while (folder.has_relative_path()) {
      folders.push_back(folder);
      folder = folder.parent_path();
    }
  };
  const std::filesystem::path from(file);
  add(from.parent_path());
  if (from.is_absolute()) return folders;
  std::error_code ignored;
  folders.emplace_back();
  add(std::filesystem::current_path(ignored).parent_path());
  return folders;
}

// As ElastiSim finds it, from the working directory. A study that was moved, or that ran in a
// container, names its files from a folder that is not here. It has them still: in folders as they
// are named around the one of the configuration or of the file that names them; or, with the last
// names of their paths only, in these two.
std::string JobsReader::find(const JsonAt& path_at, const std::string& named_by) {
  namespace fs = std::filesystem;
  std::string path = path_at.text();
  if (rules_.load) return path;
  const auto known = found_.find({path, named_by});
  if (known != found_.end()) return known->second;
  std::error_code ignored;
  for (const auto& [named, here] : rules_.folders) {
    const fs::path inside = fs::path(path).lexically_relative(named);
    if (inside.empty() || *inside.begin() == "..") continue;
    const fs::path there = fs::path(here) / inside;
    if (fs::is_regular_file(there, ignored)) return found_[{path, named_by}] = there.string();
    path_at.fail(fmt::format("'{}' is not there as {}", path, there.string()),
                 fmt::format("map {} to the folder that has it", named));
  }
  std::vector<fs::path> places = {path};
  const fs::path whole = fs::path(path).relative_path();
  for (const std::string& from : {named_by, configuration_}) {
    for (const fs::path& folder : folders_around(from)) places.push_back(folder / whole);
  }
  for (auto first = whole.begin(); first != whole.end(); ++first) {
    const fs::path last = std::accumulate(first, whole.end(), fs::path(), std::divides<>());
    for (const std::string& from : {named_by, configuration_}) {
      places.push_back(fs::path(from).parent_path() / last);
    }
  }
  for (const fs::path& there : places) {
    if (!fs::exists(there, ignored) || fs::is_directory(there, ignored)) continue;
    return found_[{path, named_by}] = there.string();
  }
  path_at.fail(fmt::format("'{}' is not there, from here or from the folders of the study", path),
               fmt::format("put it beside {}", configuration_));
}

const ElastisimModel& JobsReader::model(const JsonAt& path, const std::string& jobs_file) {
  const std::string found = find(path, jobs_file);
  const auto at = models_.find(found);
  if (at != models_.end()) return at->second;
  const nlohmann::json json = parse_json(load(found), found);
  return models_.emplace(found, read_elastisim_model({json, found}, remarks_)).first->second;
}

ElastisimInput JobsReader::read() {
  const nlohmann::json json = parse_json(load(configuration_), configuration_);
  const JsonAt configuration(json, configuration_);
  if (configuration.object().contains("jobs") && !configuration.has("jobs_file")) {
    configuration.fail("is a file of jobs, not a configuration",
                       "give the configuration that names it as jobs_file");
  }
  const std::string platform = find(configuration.at("platform_file"), configuration_);
  input_.machine = parse_simgrid(load(platform), platform, input_.remarks);
  clip_requests_ = configuration.boolean("clip_evolving_requests", true);
  study(configuration);
  if (configuration.boolean("allow_oversubscription", false)) {
    ++remarks_["allow_oversubscription: nodes are not shared"];
  }
  if (configuration.has("job_kill_grace_period")) {
    grace_ = seconds(configuration.at("job_kill_grace_period").number(0, kMostElastisimSeconds));
    if (grace_ > Duration{} && !rules_.for_scheduler) {
      ++remarks_["job_kill_grace_period: jobs are killed at their walltime, if at all"];
    }
  }

  const std::string jobs_file = find(configuration.at("jobs_file"), configuration_);
  const nlohmann::json jobs_json = parse_json(load(jobs_file), jobs_file);
  const JsonAt top(jobs_json, jobs_file);
  top.know({"jobs"}, remarks_);
  const JsonAt jobs = top.at("jobs");
  input_.workload.name = jobs_file;
  // ElastiSim numbers jobs in order of submission, from 0: also those that are skipped here.
  std::vector<std::pair<Time, std::size_t>> order;
  for (std::size_t i = 0; i < jobs.size(); ++i) order.emplace_back(submit_of(jobs.item(i)), i);
  std::ranges::sort(order);
  for (std::uint64_t name = 0; name < order.size(); ++name) {
    if (rules_.max_jobs > 0 && input_.workload.jobs.size() >= rules_.max_jobs) break;
    job(jobs.item(order[name].second), jobs_file, name);
  }
  if (rules_.share_links) {
    input_.workload.links = shared_links(input_.machine);
  } else {
    tell_contention(of_files_, "the file system");
    tell_contention(of_network_, "the backbone of the network");
  }
  for (const auto& [what, count] : remarks_) {
    input_.remarks.push_back(count > 1 ? fmt::format("{} ({} times)", what, count) : what);
  }
  return std::move(input_);
}

// When the study's scheduler is asked, and what it is told besides jobs and nodes.
void JobsReader::study(const JsonAt& configuration) {
  if (!rules_.for_scheduler) return;
  ElastisimStudy& study = input_.study;
  if (configuration.has("zmq_url")) study.endpoint = configuration.at("zmq_url").text();
  const auto interval = [&](const char* key) {
    if (!configuration.has(key)) return Duration{};
    return seconds(configuration.at(key).number(0, kMostElastisimSeconds));
  };
  study.interval = interval("scheduling_interval");
  study.min_interval = interval("min_scheduling_interval");
  study.on_submit = configuration.boolean("schedule_on_job_submit", false);
  study.on_finalize = configuration.boolean("schedule_on_job_finalize", false);
  study.on_scheduling_point = configuration.boolean("schedule_on_scheduling_point", false);
  study.on_reconfiguration = configuration.boolean("schedule_on_reconfiguration", false);
  if (study.interval == Duration{} && !(study.on_submit && study.on_finalize)) {
    configuration.fail("nothing lets the scheduler be asked when jobs come and when they end",
                       "give it a scheduling_interval above 0, or make schedule_on_job_submit and "
                       "schedule_on_job_finalize true");
  }
  const SimgridMachine& machine = input_.machine;
  study.gpus = machine.gpus;
  if (machine.buffer_read_bytes_per_s > 0) study.node_type = machine.buffers_striped ? 2 : 1;
  study.forwards_io = configuration.boolean("forward_io_information", false);
  const auto sum = [&](const char* key) {
    double bytes_per_s = 0;
    if (!configuration.has(key)) return bytes_per_s;
    const JsonAt links = configuration.at(key);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const JsonAt link = links.item(i);
      const auto at = machine.link_bytes_per_s.find(link.text());
      if (at == machine.link_bytes_per_s.end()) {
        link.fail(fmt::format("the platform has no link '{}'", link.text()),
                  "name one that it has");
      }
      bytes_per_s += at->second;
    }
    return bytes_per_s;
  };
  if (study.forwards_io) {
    study.read_bytes_per_s = sum("pfs_read_links");
    study.write_bytes_per_s = sum("pfs_write_links");
    ++remarks_["forward_io_information: how far the file system is used is not told"];
  }
}

// What ElastiSim tells a scheduler of a job, which reads it as texts.
std::string JobsReader::texts(const JsonAt& map) {
  nlohmann::json texts;
  for (const auto& [name, value] : map.object().items()) {
    if (value.is_string()) {
      texts[name] = value;
    } else if (value.is_number_integer()) {
      texts[name] = value.dump();
    } else {
      texts[name] = fmt::format("{:f}", map.at(name.c_str()).number(-kMostNumber, kMostNumber));
    }
  }
  return texts.empty() ? "" : texts.dump();
}

Time JobsReader::submit_of(const JsonAt& json) {
  return Time{seconds(json.at("submit_time").number(0, kMostElastisimSeconds))};
}

void JobsReader::job(const JsonAt& json, const std::string& jobs_file, std::uint64_t name) {
  json.know({"type", "submit_time", "walltime", "num_nodes", "num_gpus_per_node", "num_nodes_min",
             "num_nodes_max", "num_gpus_per_node_min", "num_gpus_per_node_max", "application_model",
             "arguments", "attributes", "name", "id"},
            remarks_);
  const JsonAt type_at = json.at("type");
  std::string word = type_at.text();
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto type = from_word<JobType>(kJobTypeWords, word);
  if (!type) {
    type_at.fail(fmt::format("there is no '{}'", word),
                 fmt::format("use {}", fmt::join(kJobTypeWords, ", ")));
  }
  WorkloadJob job;
  job.name = name;
  job.submit = submit_of(json);
  walltime(json, job);
  const double walltime_s = to_seconds(job.walltime);
  if (json.has("attributes") && !rules_.for_scheduler) {
    ++remarks_["attributes, which ElastiSim hands to its scheduler, are not read"];
  }

  const std::optional<SizeRange> fits = sizes_of(json, *type);
  if (!fits && rules_.for_scheduler) {
    json.fail(fmt::format("asks for more nodes than the machine has: {}", input_.machine.nodes),
              "leave the job away: the scheduler would wait for ever");
  }
  if (!fits) {
    ++input_.workload.skipped.too_large;
    return;
  }
  const SizeRange sizes = *fits;
  ElastisimShape shape;
  shape.shares_links = rules_.share_links;
  shape.gpus = gpus_of(json, *type);
  if (json.has("arguments")) shape.variables = arguments(json.at("arguments"));
  const ElastisimModel& app = model(json.at("application_model"), jobs_file);

  std::vector<Timed> all;
  std::vector<double> whole_s(sizes.max - sizes.min + 1, 0);
  AdaptiveJob more;
  more.type = *type;
  more.size = sizes;
  // ElastiSim's jobs prefer no size. Most schedulers give them what there is; those that ask for
  // more by themselves begin small.
  job.nodes = *type == JobType::evolving ? sizes.min : sizes.max;
  const std::size_t preferred = job.nodes - sizes.min;
  double total_s = 0;
  bool has_row = false;
  try {
    all = timed(app, shape, sizes, *type);
    for (const Timed& one : all) {
      for (std::size_t i = 0; i < whole_s.size(); ++i) {
        whole_s[i] += static_cast<double>(one.iterations) * one.time_s[i];
      }
    }
    total_s = whole_s[preferred];
    if (!(*std::ranges::max_element(whole_s) <= kMostElastisimSeconds)) {
      json.fail(fmt::format("takes more than {} s", kMostElastisimSeconds),
                "look at its iterations");
    }
    has_row = *type != JobType::rigid || std::ranges::any_of(all, &Timed::sends);
    if (has_row) phases(all, total_s, preferred, more);
    if (sizes_while_running(*type) || *type == JobType::evolving) {
      requests(all, shape, more);
      costs(app, shape, more, job.nodes);
    }
  } catch (const InputError& error) {
    // It names the model; who uses it is half of the story.
    throw InputError(
        std::string(error.what()) + fmt::format(" (job at {}:{})", jobs_file, json.place().field),
        "");
  }
  contend(shape);
  job.runtime = std::max(seconds(total_s), kTick);  // what takes no time takes the shortest one
  // A walltime is the limit of the whole job, whatever its size; a job without one has none, and
  // what it takes is believed.
  more.believed.walltime_for = WalltimeFor::any_size;
  if (job.walltime == Duration{}) {
    job.walltime = job.runtime;
    more.believed.walltime_for = WalltimeFor::belief;
    ++input_.workload.walltime_unknown;
  } else if (rules_.for_scheduler) {
    job.walltime += grace_;  // then it is killed
  } else if (job.walltime < job.runtime && rules_.extend_walltime) {
    job.walltime = job.runtime;
    more.believed.walltime_for = WalltimeFor::belief;
    ++input_.workload.walltime_raised;
  }
  if (rules_.for_scheduler) {
    ElastisimStudy::Job its{.type = *type};
    its.walltime_s = walltime_s;
    its.nodes = sizes;
    if (*type != JobType::rigid) {
      its.nodes.max = static_cast<Nodes>(json.at("num_nodes_max").whole(1, kMostElastisimNodes));
    }
    its.gpus_max = shape.gpus;
    its.gpus_min = *type == JobType::rigid ? shape.gpus : gpus_at(json, "num_gpus_per_node_min");
    for (const Timed& one : all) (one.phase ? its.iterations : its.first) += one.iterations;
    if (json.has("arguments")) its.arguments = texts(json.at("arguments"));
    if (json.has("attributes")) its.attributes = texts(json.at("attributes"));
    its.after_s = more.costs.after_s;
    input_.study.jobs.push_back(std::move(its));
  }
  if (has_row) {
    more.speedup = more.believed.speedup = measured_speedup(whole_s, sizes.min);
    job.adaptive = static_cast<std::uint32_t>(input_.workload.adaptive.size());
    input_.workload.adaptive.push_back(std::move(more));
  }
  input_.workload.jobs.push_back(job);
}

// The sizes a job may have on this machine, if any.
std::optional<SizeRange> JobsReader::sizes_of(const JsonAt& json, JobType type) {
  const auto nodes = [&](const char* key) {
    return static_cast<Nodes>(json.at(key).whole(1, kMostElastisimNodes));
  };
  SizeRange sizes;
  if (type == JobType::rigid) {
    sizes = exactly(nodes("num_nodes"));
  } else {
    sizes = {nodes("num_nodes_min"), nodes("num_nodes_max")};
    if (sizes.max < sizes.min) {
      json.at("num_nodes_max").fail("is less than num_nodes_min", "make it as large");
    }
  }
  const Nodes machine = input_.machine.nodes;
  if (sizes.min > machine) return std::nullopt;
  if (sizes.max > machine) {
    sizes.max = machine;
    ++remarks_["num_nodes_max is made as large as the machine"];
  }
  if (sizes.max - sizes.min >= kMostSizes) {
    json.fail(fmt::format("may have {} sizes", sizes.max - sizes.min + 1),
              fmt::format("give it at most {}", kMostSizes));
  }
  return sizes;
}

std::uint32_t JobsReader::gpus_at(const JsonAt& json, const char* key) {
  if (!json.has(key)) return 0;
  return static_cast<std::uint32_t>(json.at(key).whole(0, kMostElastisimNodes));
}

// Of each node: the most there may be, for schedulers here choose nodes only.
std::uint32_t JobsReader::gpus_of(const JsonAt& json, JobType type) {
  if (type == JobType::rigid) return gpus_at(json, "num_gpus_per_node");
  const std::uint32_t most = gpus_at(json, "num_gpus_per_node_max");
  if (gpus_at(json, "num_gpus_per_node_min") != most) {
    ++remarks_["jobs have num_gpus_per_node_max GPUs on each node"];
  }
  return most;
}

// ElastiSim takes whole numbers only and reads others as no limit.
void JobsReader::walltime(const JsonAt& json, WorkloadJob& job) {
  if (!json.has("walltime")) return;
  const JsonAt at = json.at("walltime");
  job.walltime = seconds(at.number(0, kMostElastisimSeconds));
  if (!at.value().is_number_unsigned()) {
    ++remarks_["a walltime that is no whole number is kept; ElastiSim 26c03fb has no limit then"];
  }
}

Variables JobsReader::arguments(const JsonAt& json) {
  Variables variables;
  for (const auto& [name, value] : json.object().items()) {
    const JsonAt at = json.at(name.c_str());
    double number = 0;
    if (value.is_string()) {
      // What no formula uses may be any text.
      const auto parsed = parse_number<double>(at.text());
      number = parsed && std::abs(*parsed) <= kMostNumber ? *parsed : std::nan("");
    } else {
      number = at.number(-kMostNumber, kMostNumber);
    }
    variables[name] = number;
    const double written = std::round(number * 1e6) / 1e6;
    if (value.is_number_float() && std::abs(written - number) > 1e-6 * std::abs(number)) {
      ++remarks_["arguments are taken in full; ElastiSim 26c03fb keeps six decimals"];
    }
  }
  // It replaces names as text, also inside of others.
  for (const auto& [name, nothing] : variables) {
    const auto inside = [&, &part = name](std::string_view other) {
      return other != part && other.find(part) != std::string_view::npos;
    };
    const bool hidden =
        inside("num_nodes") || inside("num_gpus_per_node") || inside("phase_iteration") ||
        std::ranges::any_of(variables, [&](const auto& other) { return inside(other.first); });
    if (hidden && !name.empty()) {
      ++remarks_
          ["arguments are whole names; ElastiSim 26c03fb replaces them inside of longer ones "
           "too"];
    }
  }
  return variables;
}

// What is sent one after the other is sent all the time, as much in all.
std::vector<Stretch> evened(const std::vector<Stretch>& once) {
  std::vector<Stretch> all(1);
  double begin = 0;
  for (const Stretch& stretch : once) {
    for (Flow flow : stretch.flows) {
      flow.most *= stretch.until - begin;
      all.back().flows.push_back(std::move(flow));
    }
    begin = stretch.until;
  }
  return all;
}

// The phases of a job in order, with what it does first.
std::vector<Timed> JobsReader::timed(const ElastisimModel& model, ElastisimShape& shape,
                                     SizeRange sizes, JobType type) {
  std::vector<Timed> all;
  const auto add = [&](const ElastisimPhase& phase, bool first) {
    Timed one;
    one.iterations = iterations_of(phase, shape.variables);
    if (one.iterations == 0) {
      ++remarks_["phases without iterations are left out; ElastiSim 26c03fb never ends after one"];
      return;
    }
    one.phase = first ? nullptr : &phase;
    // Where it may ask, it can be resized only if it does.
    const bool may_ask =
        phase.evolving_request && (type == JobType::evolving || type == JobType::adaptive);
    one.point_at_start = !first && !may_ask && phase.scheduling_point && sizes_while_running(type);
    for (shape.nodes = sizes.min; shape.nodes <= sizes.max; ++shape.nodes) {
      one.time_s.push_back(time_of(phase, shape, input_.machine));
      if (!rules_.share_links) continue;
      const bool is_followed = one.iterations <= kMostFollowed || shape.stretches.size() <= 1;
      one.stretches.emplace_back(is_followed ? std::move(shape.stretches)
                                             : evened(shape.stretches));
    }
    all.push_back(std::move(one));
  };
  if (model.on_init) add(*model.on_init, true);
  for (const ElastisimPhase& phase : model.phases) add(phase, false);
  return all;
}

// ElastiSim's scheduling points are at the start of iterations but the first, ours at the end.
void JobsReader::phases(const std::vector<Timed>& timed, double total_s, std::size_t preferred,
                        AdaptiveJob& more) {
  double done_s = 0;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Timed& one = timed[i];
    const bool after = one.phase && i + 1 < timed.size() && timed[i + 1].point_at_start;
    const SharedList<double> times_s(one.time_s);
    const SharedList<Stretches> stretches(one.sends() ? one.stretches : std::vector<Stretches>());
    const auto add = [&](std::uint64_t iterations, bool points) {
      if (iterations == 0) return;
      done_s += static_cast<double>(iterations) * one.time_s[preferred];
      more.phases.push_back({.until = total_s > 0 ? std::min(done_s / total_s, 1.0) : 1,
                             .iterations = static_cast<std::uint32_t>(iterations),
                             .scheduling_points = points,
                             .times_s = times_s,
                             .stretches = stretches});
    };
    if (one.point_at_start == after) {
      add(one.iterations, after);
    } else {
      add(one.iterations - 1, one.point_at_start);
      add(1, after);
    }
  }
}

// What evolving jobs ask for before each iteration but the first of all.
void JobsReader::requests(const std::vector<Timed>& timed, ElastisimShape& shape,
                          AdaptiveJob& more) {
  if (more.type != JobType::evolving && more.type != JobType::adaptive) return;
  std::map<std::vector<Nodes>, SharedList<Nodes>> lists;
  shape.variables["num_nodes_min"] = more.size.min;
  shape.variables["num_nodes_max"] = more.size.max;
  const auto wanted = [&](const ElastisimPhase& phase, std::uint64_t iteration) {
    shape.variables["phase_iteration"] = static_cast<double>(iteration);
    std::vector<Nodes> sizes;
    for (Nodes has = more.size.min; has <= more.size.max; ++has) {
      shape.variables["num_nodes"] = has;
      shape.variables["num_gpus"] = static_cast<double>(has) * shape.gpus;
      const double value = std::trunc(phase.evolving_request->value(shape.variables));
      const double in = std::clamp<double>(value, more.size.min, more.size.max);
      if (in != value && !clip_requests_) {
        ++remarks_
            ["evolving requests beyond the limits of the job are not made, as "
             "clip_evolving_requests is false"];
      }
      sizes.push_back(in == value || clip_requests_ ? static_cast<Nodes>(in) : has);
    }
    return sizes;
  };
  std::uint64_t done = 0;
  bool first = true;
  for (const Timed& one : timed) {
    if (one.phase && one.phase->evolving_request) {
      const bool varies = one.phase->evolving_request->uses("phase_iteration");
      const std::size_t lists_each = varies ? one.time_s.size() : 1;
      const double asked = static_cast<double>(one.iterations) * static_cast<double>(lists_each);
      if (asked + static_cast<double>(more.steps.size()) > kMostRequests) {
        throw InputError(one.phase->place, "makes too many evolving requests",
                         "use fewer iterations, or fewer sizes");
      }
      SharedList<Nodes> list;
      for (std::uint64_t i = 0; i < one.iterations; ++i) {
        if (i == 0 || varies) {
          std::vector<Nodes> sizes = wanted(*one.phase, i);
          const auto [at, is_new] = lists.try_emplace(sizes);
          if (is_new) at->second = SharedList(std::move(sizes));
          list = at->second;
        }
        if (!first || i > 0) more.steps.push_back({.wanted = list, .iterations = done + i});
      }
    }
    done += one.iterations;
    if (one.phase) first = false;
  }
}

// The same so often, one after the other; evenly, if that is too much to follow.
std::vector<Stretch> repeated(const std::vector<Stretch>& once, std::uint64_t times) {
  constexpr std::uint64_t kMostStretches = 200;
  if (times * once.size() > kMostStretches) return evened(once);
  std::vector<Stretch> all;
  for (std::uint64_t i = 0; i < times; ++i) {
    for (Stretch stretch : once) {
      stretch.until = (static_cast<double>(i) + stretch.until) / static_cast<double>(times);
      all.push_back(std::move(stretch));
    }
  }
  return all;
}

void JobsReader::costs(const ElastisimModel& model, ElastisimShape& shape, AdaptiveJob& more,
                       Nodes preferred) const {
  const auto times = [&](const std::optional<ElastisimPhase>& phase, Nodes first, Nodes last,
                         SharedList<Stretches>& sent) {
    std::vector<double> time_s;
    std::vector<Stretches> stretches;
    bool sends = false;
    if (!phase) return time_s;
    const std::uint64_t iterations = iterations_of(*phase, shape.variables);
    for (shape.nodes = first; shape.nodes <= last; ++shape.nodes) {
      time_s.push_back(static_cast<double>(iterations) * time_of(*phase, shape, input_.machine));
      sends = sends || (iterations > 0 && !shape.stretches.empty());
      stretches.emplace_back(repeated(shape.stretches, iterations));
      if (!(time_s.back() <= kMostElastisimSeconds)) {
        throw InputError(phase->place, "takes too long", "look at its iterations");
      }
    }
    if (sends) sent = SharedList(std::move(stretches));
    return time_s;
  };
  ResizeCosts& costs = more.costs;
  const auto [min, max] = more.size;
  costs.after_s = SharedList(times(model.on_reconfiguration, min, max, costs.after));
  costs.growth_s = SharedList(times(model.on_expansion, 1, max - min, costs.growth));
  const std::span<const double> after = more.costs.after_s.rows();
  if (!after.empty()) more.believed.cost.fixed_s = after[preferred - more.size.min];
}

void JobsReader::contend(const ElastisimShape& shape) {
  using Type = ElastisimTask::Type;
  Contention of_files, of_network;
  for (const ElastisimTask* task : shape.contended) {
    const bool file = task->type == Type::pfs_read || task->type == Type::pfs_write;
    const std::string place = fmt::format("{}: {}", task->place.file, task->place.field);
    (file ? of_files : of_network)
        .tasks.insert(task->name.empty() ? place : fmt::format("'{}' ({})", task->name, place));
  }
  const auto add = [](Contention& all, Contention& more) {
    all.jobs += more.tasks.empty() ? 0 : 1;
    all.tasks.merge(more.tasks);
  };
  add(of_files_, of_files);
  add(of_network_, of_network);
}

void JobsReader::tell_contention(const Contention& contention, std::string_view of_what) {
  if (contention.jobs < 2) return;
  const auto& tasks = contention.tasks;
  const auto end = std::next(tasks.begin(), std::min(tasks.size(), kMostNamed));
  std::string names = fmt::format("{}", fmt::join(tasks.begin(), end, ", "));
  if (end != tasks.end()) names += fmt::format(" and {} more", tasks.size() - kMostNamed);
  input_.remarks.push_back(
      fmt::format("each job has {} for itself here, and jobs that use it at once do not slow each "
                  "other down: {}",
                  of_what, names));
}

}  // namespace

ElastisimInput read_elastisim(const std::string& configuration, const ElastisimRules& rules) {
  return JobsReader(configuration, rules).read();
}

}  // namespace ductile
