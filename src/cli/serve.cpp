#include "cli/serve.hpp"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "cli/number_range.hpp"
#include "live/client.hpp"
#include "live/config.hpp"
#include "live/http_listener.hpp"
#include "live/metrics_server.hpp"
#include "live/serve.hpp"
#include "live/snapshots.hpp"
#include "live/submission.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"
#include "workload/platform_file.hpp"

namespace ductile {
namespace {

using Set = std::function<void(ServeSettings&)>;

struct ServeOptions {
  std::string config{};
  std::vector<Set> given{};  // on the command line
  bool settles = false;
  int verbosity = 0;
  Cluster cluster = Cluster::local;
  Serve serve{};
};

/// What the command line says goes before what the file says.
ServeSettings told(const ServeOptions& options, const Registry& registry) {
  ServeSettings settings;
  if (!options.config.empty()) read_configuration(options.config, registry, settings);
  for (const Set& set : options.given) set(settings);
  if (settings.state.empty()) settings.state = default_state();
  settings.state = std::filesystem::absolute(settings.state).lexically_normal();
  return settings;
}

ServeSettings settings_of(const ServeOptions& options, const Registry& registry) {
  ServeSettings settings = told(options, registry);
  if (options.cluster == Cluster::slurm) {
    if (settings.partition.empty()) {
      throw InputError("it is not said which partition of Slurm it serves",
                       "give --partition NAME");
    }
  } else if (settings.platform.nodes == 0) {
    throw InputError("it is not said how many nodes there are",
                     "give --local, like 4x2, or --platform FILE");
  }
  settings.policy = with_shares(settings.policy, settings.shares);
  if (settings.socket.empty()) settings.socket = settings.state + "/socket";
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  settings.program = self.parent_path() / "ductile";
  if (!std::filesystem::exists(settings.program)) settings.program = self;
  return settings;
}

void run(const ServeOptions& options, const Registry& registry) {
  // One that comes before the controller listens to it reads the settings again, as any other.
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  sigprocmask(SIG_BLOCK, &hangup, nullptr);
  set_up_serve_log(options.verbosity);
  if (options.settles) return settle(told(options, registry).state);
  options.serve(settings_of(options, registry), registry,
                [&] { return settings_of(options, registry); });
}

}  // namespace

void set_up_serve_log(int verbosity) {
  auto log =
      std::make_shared<spdlog::logger>("serve", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
  log->set_level(verbosity == 0 ? spdlog::level::info : spdlog::level::debug);
  log->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(log));
}

void add_serve_command(CLI::App& app, const Registry& registry, Cluster cluster, Serve serve) {
  const auto options = std::make_shared<ServeOptions>();
  options->cluster = cluster;
  options->serve = std::move(serve);
  const bool is_local = cluster == Cluster::local;
  CLI::App* command = app.add_subcommand(
      "serve", is_local ? "Run jobs: the controller, with this machine as the cluster"
                        : "Run the jobs of a partition of Slurm: the controller");
  // An option that sets a member to what `parse` makes of its value.
  const auto add = [&]<class Value, class Member>(const char* name, Member ServeSettings::*member,
                                                  Member (*parse)(const Value&), const char* help) {
    const auto set = [options, member, parse](const Value& given) {
      options->given.push_back(
          [member, value = parse(given)](ServeSettings& settings) { settings.*member = value; });
    };
    return command->add_option_function<Value>(name, set, help);
  };
  const auto flag = [&](const char* name, bool ServeSettings::*member, const char* help) {
    const auto set = [options, member](std::int64_t count) {  // --flag=false is one less than none
      options->given.push_back(
          [member, is_set = count > 0](ServeSettings& settings) { settings.*member = is_set; });
    };
    return command->add_flag_function(name, set, help);
  };
  using Text = std::string;
  const auto text = +[](const Text& given) { return given; };
  const auto time = +[](const double& given) { return seconds(given); };

  if (is_local) {
    auto* const local =
        add("--local", &ServeSettings::platform, parse_local,
            "virtual nodes of this machine and their cores: 4x2 are 4 nodes of 2 cores")
            ->type_name("NODESxCORES");
    add(
        "--platform", &ServeSettings::platform,
        +[](const Text& path) { return read_platform_to_serve(path); },
        "virtual nodes of several classes, and partitions, as a TOML file says")
        ->type_name("FILE")
        ->excludes(local);
  } else {
    add("--partition", &ServeSettings::partition, text,
        "the partition of Slurm whose jobs it starts and resizes");
    add("--hands-over", &ServeSettings::hands_over, text,
        "the file by which `ductile-slurm watch` hands the partition over to Slurm; removed when "
        "the "
        "controller begins")
        ->type_name("FILE");
  }
  command->add_option("--config", options->config,
                      "TOML file of these settings; read again at SIGHUP");
  add("--policy", &ServeSettings::policy, text, "NAME[:k=v,...]; see `ductile policies` [easy]");
  add("--fallback", &ServeSettings::fallback, text,
      "who decides where a policy in Python does not [easy]");
  const NumberRange any_time(0.1, 1e6);
  add("--policy-timeout", &ServeSettings::policy_timeout, time,
      "seconds that a pass of a policy in Python may take [5]")
      ->check(any_time);
  add(
      "--policy-memory", &ServeSettings::policy_memory,
      +[](const Text& size) { return parse_memory(size); },
      "what a policy in Python may have: 500M, 2G; 0: any [4G]")
      ->type_name("SIZE");
  add(
      "--fairness", &ServeSettings::fairness,
      +[](const Text& rules) {
        return std::optional(parse_fairness(rules, {.field = "--fairness"}));
      },
      "how much evolving requests may delay waiting jobs, as `simulate --fairness` [none]")
      ->type_name("RULES");
  add(
      "--placement", &ServeSettings::placement,
      +[](const Text& how) { return std::optional(parse_placement(how)); },
      "which nodes starts and growths take, and shrinks keep, as `simulate --placement` [first]")
      ->type_name("first|contiguous|compact|spread");
  add(
      "--power-cap", &ServeSettings::power_cap,
      +[](const Text& watts) {
        const Place place{.field = "--power-cap"};
        return std::optional(SaidPowerCap{parse_power_cap(watts, place), place});
      },
      "so many watts are drawn at most, as far as is believed; `ductile power --cap` changes it "
      "[none]")
      ->type_name("WATTS|none");
  add(
      "--corridor", &ServeSettings::corridor,
      +[](const Text& said) {
        const Place place{.field = "--corridor"};
        return std::optional(SaidCorridor{
            said == "none" ? std::vector<CorridorLine>() : read_corridor(said, place), place});
      },
      "the machine shall draw between so many watts, or as this file says: \"TIME_S LOWER_W "
      "UPPER_W\"; `ductile power --corridor` changes it [none]")
      ->type_name("LOWER..UPPER|FILE|none");
  add(
      "--watts-from", &ServeSettings::watts_from,
      +[](const Text& pattern) {
        check_watts_from(pattern);
        return pattern;
      },
      "files that say in watts what a node of a job draws: %j is the job's number, %n the node's")
      ->type_name("PATTERN");
  add("--power-from", &ServeSettings::power_from, text,
      "folder with the counters of energy of this machine, as /sys/class/powercap: what a job "
      "draws that has all nodes")
      ->type_name("FOLDER");
  add("--estimates", &ServeSettings::predicts, parse_predicts,
      "what is believed of times: as requested; or predicted, from what the user's last two "
      "jobs took [requested]")
      ->type_name("requested|predicted");
  add("--models", &ServeSettings::models, parse_models,
      "of jobs that can have several sizes: as declared; learned, from what they and the same "
      "program took at the sizes at which it has run; or guessed, from the time in MPI, before "
      "that [declared]")
      ->type_name("declared|learned|guessed");
  add("--state", &ServeSettings::state, text,
      "folder of the journal and of running jobs; what it has is taken up");
  add("--socket", &ServeSettings::socket, text,
      "where commands find it; socket in the folder of the state if not given");
  add(
      "--metrics", &ServeSettings::metrics,
      +[](const Text& address) {
        parse_address(address);
        return address;
      },
      "answer GET /metrics at this address, for Prometheus and its like; PORT alone: of this "
      "machine")
      ->type_name("[HOST:]PORT");
  add(
      "--listen", &ServeSettings::listen,
      +[](const Text& address) {
        parse_address(address);
        return address;
      },
      "where commands and jobs on other hosts find it: a numeric address; who comes shows by MUNGE "
      "who it is; PORT alone: of this machine")
      ->type_name("[HOST:]PORT");
  add(
      "--http", &ServeSettings::http,
      +[](const Text& address) {
        check_http_address(address);
        return address;
      },
      "answer HTTP there: its state as JSON, and a page of it for browsers; PORT alone: of this "
      "machine")
      ->type_name("[HOST:]PORT|unix:PATH");
  add("--http-token", &ServeSettings::http_token, text,
      "file of the token by which clients of HTTP may ask, made if it is not there; http-token in "
      "the "
      "folder of the state if not given")
      ->type_name("FILE");
  flag("--http-write", &ServeSettings::http_write,
       "clients of HTTP may change jobs, too, with another token: that in FILE.write");
  add("--munge-socket", &ServeSettings::munge_socket, text,
      "where munged listens, if not at the usual place");
  add(
      "--default-time", &ServeSettings::default_time,
      +[](const Text& limit) { return parse_limit(limit); },
      "limit of jobs that give none, as of `submit --time` [1:00:00]");
  add("--retry", &ServeSettings::retry, time,
      "seconds until a job that refused a resize is asked again [10]")
      ->check(any_time);
  add("--resize-deadline", &ServeSettings::resize_deadline, time,
      "seconds after which a resize that is not answered is withdrawn [by how long the job's took "
      "before]")
      ->check(any_time);
  add("--patience", &ServeSettings::patience, time, "seconds from SIGTERM to SIGKILL [10]")
      ->check(any_time);
  add("--measure", &ServeSettings::measure, time,
      "where jobs are measured, seconds from one report of a job to the next [10]")
      ->check(NumberRange(0.5, 1e6));
  CLI::Option* const restored = flag(
      "--restored", &ServeSettings::restored,
      "the journal was put back, or is what is left of it: go on with it, though more was told "
      "to users than it has");
  command
      ->add_flag("--settle", options->settles,
                 "only put all of the journal into a snapshot, for another version, and end")
      ->excludes(restored);
  flag("--until-idle", &ServeSettings::until_idle, "end when no job is left");
  command->add_flag("-v,--verbose", options->verbosity, "say more");
  command->callback([options, &registry] { run(*options, registry); });
}

}  // namespace ductile
