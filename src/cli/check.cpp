#include "cli/check.hpp"

#include <iostream>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "live/check.hpp"
#include "live/client.hpp"

namespace ductile {

void add_check_command(CLI::App& app) {
  const auto state = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "check", "Read all that a controller has written, and say what is damaged");
  command->add_option("--state", *state,
                      "folder of the controller's state, as `ductile serve` was given it");
  command->callback([state] {
    const std::string folder = state->empty() ? default_state() : *state;
    if (!check_state(folder, std::cout)) throw RunError(folder + " is damaged");
  });
}

}  // namespace ductile
