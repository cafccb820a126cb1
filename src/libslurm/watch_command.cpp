#include "libslurm/watch_command.hpp"

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "cli/serve.hpp"
#include "libslurm/libslurm.hpp"
#include "live/client.hpp"
#include "slurm/watch.hpp"

namespace ductile {

void add_watch_command(CLI::App& app) {
  struct Options {
    WatchSettings settings{};
    std::string after = "10:00";
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "watch", "Hand the partition over to Slurm when the controller does not come back");
  command->add_option("--partition", options->settings.partition, "the controller's partition")
      ->required();
  command
      ->add_option("--hands-over", options->settings.hands_over,
                   "the file that says so to the script in slurmctld, and to the controller")
      ->type_name("FILE")
      ->required();
  command->add_option("--socket", options->settings.socket,
                      "where the controller answers [as of `ductile queue`]");
  command
      ->add_option("--after", options->after,
                   "how long it may be silent, as of `submit --time` [10:00]")
      ->type_name("TIME");
  command->callback([options] {
    set_up_serve_log(0);
    WatchSettings& settings = options->settings;
    settings.socket = find_socket(settings.socket);
    settings.after = parse_limit(options->after);
    try {
      LibSlurm slurm(settings.partition);
      watch(settings, slurm);
    } catch (const SlurmError& error) {
      throw RunError(error.what());
    }
  });
}

}  // namespace ductile
