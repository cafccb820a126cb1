#include "cli/serve.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "live/client.hpp"
#include "live/config.hpp"
#include "live/metrics_server.hpp"
#include "live/serve.hpp"
#include "live/snapshots.hpp"
#include "live/submission.hpp"

namespace ductile {
namespace {

struct Options {
  std::string config{};
  Configuration given{};  // on the command line
  std::string local{}, default_time{};
  double retry = 0, resize_deadline = 0, patience = 0, measure = 0;
  bool until_idle = false, restored = false, settles = false;
  int verbosity = 0;
};

void set_up_log(int verbosity) {
  auto log =
      std::make_shared<spdlog::logger>("serve", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
  log->set_level(verbosity == 0 ? spdlog::level::info : spdlog::level::debug);
  log->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(log));
}

Configuration file_of(const Options& options, const Registry& registry) {
  return options.config.empty() ? Configuration{} : read_configuration(options.config, registry);
}

// What the command line says goes before what the file says.

std::string state_of(const Options& options, const Configuration& file) {
  const std::string chosen = options.given.state.value_or(file.state.value_or(""));
  return std::filesystem::absolute(chosen.empty() ? default_state() : chosen).lexically_normal();
}

ServeSettings settings_of(const Options& options, const Registry& registry) {
  const Configuration file = file_of(options, registry);
  const Configuration& given = options.given;
  ServeSettings settings;
  const auto choose = [](const auto& first, const auto& second, auto& setting) {
    if (first || second) setting = first ? *first : *second;
  };
  if (!given.local && !file.local) {
    throw InputError("it is not said how many nodes there are", "give --local, like 4x2");
  }
  choose(given.local, file.local, settings.platform);
  choose(given.policy, file.policy, settings.policy);
  choose(given.fairness, file.fairness, settings.fairness);
  choose(given.predicts, file.predicts, settings.predicts);
  choose(given.models, file.models, settings.models);
  choose(given.socket, file.socket, settings.socket);
  choose(given.metrics, file.metrics, settings.metrics);
  choose(given.default_time, file.default_time, settings.default_time);
  choose(given.retry, file.retry, settings.retry);
  choose(given.resize_deadline, file.resize_deadline, settings.resize_deadline);
  choose(given.patience, file.patience, settings.patience);
  choose(given.measure, file.measure, settings.measure);
  choose(given.idle, file.idle, settings.idle);
  choose(given.operators, file.operators, settings.operators);
  choose(given.max_jobs, file.max_jobs, settings.max_jobs);
  choose(given.max_jobs_per_user, file.max_jobs_per_user, settings.max_jobs_per_user);
  choose(given.max_running_jobs_per_user, file.max_running_jobs_per_user,
         settings.max_running_jobs_per_user);
  choose(given.max_running_nodes_per_user, file.max_running_nodes_per_user,
         settings.max_running_nodes_per_user);
  choose(given.max_priority, file.max_priority, settings.max_priority);
  if (file.shares) settings.policy = with_shares(settings.policy, *file.shares);
  choose(given.cgroups, file.cgroups, settings.cgroups);
  choose(given.default_memory, file.default_memory, settings.default_memory);
  choose(given.max_processes_per_node, file.max_processes_per_node,
         settings.max_processes_per_node);
  settings.state = state_of(options, file);
  if (settings.socket.empty()) settings.socket = settings.state + "/socket";
  settings.program = std::filesystem::read_symlink("/proc/self/exe");
  settings.until_idle = options.until_idle;
  settings.restored = options.restored;
  return settings;
}

void run(Options& options, const Registry& registry) {
  // One that comes before the controller listens to it reads the settings again, as any other.
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  sigprocmask(SIG_BLOCK, &hangup, nullptr);
  set_up_log(options.verbosity);
  if (options.settles) return settle(state_of(options, file_of(options, registry)));
  if (!options.local.empty()) options.given.local = parse_local(options.local);
  if (!options.default_time.empty()) options.given.default_time = parse_limit(options.default_time);
  if (options.retry > 0) options.given.retry = seconds(options.retry);
  if (options.resize_deadline > 0) options.given.resize_deadline = seconds(options.resize_deadline);
  if (options.patience > 0) options.given.patience = seconds(options.patience);
  if (options.measure > 0) options.given.measure = seconds(options.measure);
  serve(settings_of(options, registry), registry, [&] { return settings_of(options, registry); });
}

}  // namespace

void add_serve_command(CLI::App& app, const Registry& registry) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("serve", "Run jobs: the controller, with this machine as the cluster");
  command
      ->add_option("--local", options->local,
                   "virtual nodes of this machine and their cores: 4x2 are 4 nodes of 2 cores")
      ->type_name("NODESxCORES");
  command->add_option("--config", options->config,
                      "TOML file of these settings; read again at SIGHUP");
  command->add_option("--policy", options->given.policy,
                      "NAME[:k=v,...]; see `ductile policies` [easy]");
  command
      ->add_option_function<std::string>(
          "--fairness",
          [options](const std::string& text) {
            options->given.fairness = parse_fairness(text, {.field = "--fairness"});
          },
          "how much evolving requests may delay waiting jobs, as `simulate --fairness` [none]")
      ->type_name("RULES");
  command
      ->add_option_function<std::string>(
          "--estimates",
          [options](const std::string& text) { options->given.predicts = parse_predicts(text); },
          "what is believed of times: as requested; or predicted, from what the user's last two "
          "jobs took [requested]")
      ->type_name("requested|predicted");
  command
      ->add_option_function<std::string>(
          "--models",
          [options](const std::string& text) { options->given.models = parse_models(text); },
          "of jobs that can have several sizes: as declared; learned, from what they and the same "
          "program took at the sizes at which it has run; or guessed, from the time in MPI, before "
          "that [declared]")
      ->type_name("declared|learned|guessed");
  command->add_option("--state", options->given.state,
                      "folder of the journal and of running jobs; what it has is taken up");
  command->add_option("--socket", options->given.socket,
                      "where commands find it; socket in the folder of the state if not given");
  command
      ->add_option_function<std::string>(
          "--metrics",
          [options](const std::string& text) {
            parse_address(text);
            options->given.metrics = text;
          },
          "answer GET /metrics at this address, for Prometheus and its like; PORT alone: of this "
          "machine")
      ->type_name("[HOST:]PORT");
  command->add_option("--default-time", options->default_time,
                      "limit of jobs that give none, as of `submit --time` [1:00:00]");
  command
      ->add_option("--retry", options->retry,
                   "seconds until a job that refused a resize is asked again [10]")
      ->check(CLI::Range(0.1, 1e6));
  command
      ->add_option(
          "--resize-deadline", options->resize_deadline,
          "seconds after which a resize that is not answered is withdrawn [by how long the "
          "job's took before]")
      ->check(CLI::Range(0.1, 1e6));
  command->add_option("--patience", options->patience, "seconds from SIGTERM to SIGKILL [10]")
      ->check(CLI::Range(0.1, 1e6));
  command
      ->add_option("--measure", options->measure,
                   "where models are learned, seconds from one report of a job to the next [10]")
      ->check(CLI::Range(0.5, 1e6));
  command->add_flag("--restored", options->restored,
                    "the journal was put back, or is what is left of it: go on with it, though "
                    "more was told to users than it has");
  command
      ->add_flag("--settle", options->settles,
                 "only put all of the journal into a snapshot, for another version, and end")
      ->excludes("--restored");
  command->add_flag("--until-idle", options->until_idle, "end when no job is left");
  command->add_flag("-v,--verbose", options->verbosity, "say more");
  command->callback([options, &registry] { run(*options, registry); });
}

}  // namespace ductile
