#include "cli/serve.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/client.hpp"
#include "live/controller.hpp"
#include "live/submission.hpp"

namespace ductile {
namespace {

struct Options {
  ServeSettings settings{};
  std::string local{};
  std::string default_time = "1:00:00";
  double retry = 10;
  double patience = 10;
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

/// "4x2": 4 nodes of 2 cores.
Platform parse_local(const std::string& text) {
  std::string_view rest = text;
  const auto nodes = parse_number<Nodes>(next_part(rest, 'x'));
  const auto cores =
      rest.empty() ? std::optional<std::uint32_t>(1) : parse_number<std::uint32_t>(rest);
  if (!nodes || !cores || *nodes < 1 || *nodes > 4096 || *cores < 1 || *cores > 4096) {
    throw InputError({.field = "--local"}, "'" + text + "' is not NODESxCORES",
                     "write it like 4x2, each number from 1 to 4096");
  }
  return {.nodes = *nodes, .cores_per_node = *cores};
}

void run(Options& options) {
  namespace fs = std::filesystem;
  set_up_log(options.verbosity);
  ServeSettings& settings = options.settings;
  settings.platform = parse_local(options.local);
  if (settings.state.empty()) settings.state = default_state();
  settings.state = fs::absolute(settings.state).lexically_normal();
  if (settings.socket.empty()) settings.socket = settings.state + "/socket";
  settings.program = fs::read_symlink("/proc/self/exe");
  settings.default_time = parse_limit(options.default_time);
  settings.retry = seconds(options.retry);
  settings.patience = seconds(options.patience);
  serve(settings);
}

}  // namespace

void add_serve_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  ServeSettings& settings = options->settings;
  CLI::App* command =
      app.add_subcommand("serve", "Run jobs: the controller, with this machine as the cluster");
  command
      ->add_option("--local", options->local,
                   "virtual nodes of this machine and their cores: 4x2 are 4 nodes of 2 cores")
      ->required()
      ->type_name("NODESxCORES");
  command->add_option("--policy", settings.policy, "NAME[:k=v,...]; see `ductile policies`")
      ->capture_default_str();
  command->add_option("--state", settings.state,
                      "folder of the journal and of running jobs; what it has is taken up");
  command->add_option("--socket", settings.socket,
                      "where commands find it; socket in the folder of the state if not given");
  command
      ->add_option("--default-time", options->default_time,
                   "limit of jobs that give none, as of `submit --time`")
      ->capture_default_str();
  command
      ->add_option("--retry", options->retry,
                   "seconds until a job that refused a resize is asked again")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command->add_option("--patience", options->patience, "seconds from SIGTERM to SIGKILL")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command->add_flag("--until-idle", settings.until_idle, "end when no job is left");
  command->add_flag("-v,--verbose", options->verbosity, "say more");
  command->callback([options] { run(*options); });
}

}  // namespace ductile
