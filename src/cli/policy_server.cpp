#include "cli/policy_server.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "batsim/server.hpp"
#include "cli/process.hpp"
#include "outside/channel.hpp"

namespace ductile {
namespace {

struct ServerOptions {
  std::string policy = "easy";
  std::string endpoint = "tcp://127.0.0.1:28000";
  bool again = false, quiet = false;
};

void serve(const ServerOptions& options, const Registry& registry) {
  BatsimServer server(registry.make(options.policy), options.endpoint);
  const std::atomic<bool>& stop = stop_on_signal();
  const auto listener = open_listener(options.endpoint);
  if (!options.quiet) {
    std::cerr << fmt::format("ductile: {} decides for Batsim at {}\n", options.policy,
                             options.endpoint);
  }
  while (const auto question = listener->next(stop)) {
    listener->answer(server.answer(*question));
    if (server.is_over() && !options.again) return;
  }
}

}  // namespace

void add_policy_server_command(CLI::App& app, const Registry& registry) {
  CLI::App& command = *app.add_subcommand("policy-server", "a policy as a scheduler for Batsim");
  const auto options = std::make_shared<ServerOptions>();
  command
      .add_option("--policy", options->policy, "one that only starts jobs; see 'ductile policies'")
      ->type_name("NAME[:parameter=value,...]")
      ->capture_default_str();
  command.add_option("--bind", options->endpoint, "where it listens, as ZeroMQ writes it")
      ->type_name("ENDPOINT")
      ->capture_default_str();
  command.add_flag("--again", options->again, "go on with the next simulation after the first one");
  command.add_flag("--quiet", options->quiet, "no remarks");
  command.callback([options, &registry] { serve(*options, registry); });
}

}  // namespace ductile
