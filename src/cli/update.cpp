#include "cli/update.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/time.hpp"
#include "cli/live_options.hpp"
#include "live/conditions.hpp"
#include "live/submission.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct UpdateOptions {
  LiveOptions live{};
  std::string job{};
  std::optional<std::string> nodes{}, time{}, name{}, dependency{}, begin{};
  std::optional<std::string> partition{}, memory{}, things{}, only{}, never{}, reservation{},
      features{}, qos{};
  std::optional<std::string> watts{};
  std::optional<Nodes> min{}, max{};
  std::optional<std::int32_t> priority{};
};

/// The fields of a submission that are to be others.
Json changes(const UpdateOptions& options) {
  Json set = Json::object();
  if (options.nodes) {
    const NodeRange nodes = parse_nodes(*options.nodes);
    set["nodes"] = nodes.first;
    if (nodes.is_range) {
      set["min"] = nodes.first;
      set["max"] = nodes.last;
    }
  }
  if (options.min) set["min"] = *options.min;
  if (options.max) set["max"] = *options.max;
  if (options.time) set["time_us"] = parse_limit(*options.time).count();
  if (options.name) set["name"] = *options.name;
  if (options.partition) set["partition"] = *options.partition;
  if (options.memory) set["memory"] = parse_memory(*options.memory);
  if (options.things) set["gres"] = *options.things;
  if (options.only) set["nodelist"] = *options.only;
  if (options.never) set["exclude"] = *options.never;
  if (options.features) set["features"] = *options.features;
  if (options.qos) set["qos"] = *options.qos;
  if (options.reservation) set["reservation"] = *options.reservation;
  if (options.watts) {
    const WattRange watts = options.watts->empty() ? WattRange{} : parse_watts(*options.watts);
    set["watts"] = watts.most;
    set["least_watts"] = watts.least;
  }
  if (options.priority) set["priority"] = *options.priority;
  if (options.dependency) {
    const bool is_none = *options.dependency == "none";
    set["dependency"] = is_none ? "" : to_text(parse_dependencies(*options.dependency));
  }
  if (options.begin) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const Time begin = parse_begin(*options.begin, Time(std::chrono::duration_cast<Duration>(now)));
    set["begin_us"] = begin.time_since_epoch().count();
  }
  return set;
}

void update(const UpdateOptions& options) {
  const Json set = changes(options);
  if (set.empty()) {
    throw InputError("nothing is to be changed", "give an option, like --time 30");
  }
  ask(options.live, {{"do", "update"}, {"job", job_name(options.job)}, {"set", set}});
}

}  // namespace

void add_update_command(CLI::App& app) {
  const auto options = std::make_shared<UpdateOptions>();
  CLI::App* command =
      app.add_subcommand("update", "Change a job that waits, or the limit of one that runs");
  command->add_option("JOB", options->job, "its number, or that of an array")->required();
  command->add_option("-N,--nodes", options->nodes,
                      "nodes at first, N; or MIN-MAX, which sets --min-nodes and --max-nodes");
  command->add_option("--min-nodes", options->min, "fewest nodes of a job that is not rigid")
      ->check(CLI::Range(1U, 1U << 24));
  command->add_option("--max-nodes", options->max, "most nodes of it")
      ->check(CLI::Range(1U, 1U << 24));
  command->add_option("-t,--time", options->time,
                      "limit: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S; only operators raise "
                      "that of a job that runs");
  command->add_option("-J,--job-name", options->name, "name");
  command->add_option("-p,--partition", options->partition,
                      "any of these partitions, A,B; the first one if it is empty");
  command->add_option("--mem", options->memory, "memory of each node, as of `submit --mem`");
  command->add_option("--gres", options->things, "what each of its nodes has: gpu:2; or nothing");
  command->add_option("-w,--nodelist", options->only, "only on these nodes; any if it is empty");
  command->add_option("-x,--exclude", options->never,
                      "on none of these nodes; none if it is empty");
  command->add_option("-C,--constraint", options->features,
                      "what each of its nodes is, all of these features; any if it is empty");
  command->add_option("-q,--qos", options->qos, "quality of service; none if it is empty");
  command->add_option("--reservation", options->reservation,
                      "on the nodes of this reservation, while it lasts; of none if it is empty");
  command->add_option("--watts", options->watts,
                      "what a node draws on which it computes, as of `submit --watts`; what its "
                      "class says if it is empty");
  command->add_option("--priority", options->priority, "higher goes first")
      ->check(CLI::Range(-1'000'000, 1'000'000));
  command->add_option("-d,--dependency", options->dependency,
                      "not before these jobs, as of `submit --dependency`; none");
  command->add_option("-b,--begin", options->begin, "not before, as of `submit --begin`; now");
  add_live_options(*command, options->live, false);
  command->callback([options] { update(*options); });
}

}  // namespace ductile
