#include "cli/replay.hpp"

#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "live/journal.hpp"
#include "simulation/replay.hpp"

namespace ductile {
namespace {

struct Options {
  std::string log;
  bool json = false;
};

void print(const Options& options, const Replayed& done) {
  if (options.json) {
    const nlohmann::ordered_json object{{"log", options.log},
                                        {"policy", done.policy},
                                        {"events", done.events},
                                        {"instants", done.instants},
                                        {"pen_calls", done.pen_calls},
                                        {"decisions", done.decisions},
                                        {"last_s", to_seconds(done.last)}};
    std::cout << object.dump() << '\n';
    return;
  }
  std::cout << fmt::format(
      "{}: {} decisions of {} are the same, asked again and folded\n"
      "({} events, {} instants, {} pen calls)\n",
      options.log, done.decisions, done.policy, done.events, done.instants, done.pen_calls);
}

}  // namespace

void add_replay_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "replay", "Check that a recorded run (simulate --record) gives the same decisions again");
  command
      ->add_option("LOG", options->log,
                   "what `simulate --record` wrote, or the journal of a controller")
      ->required();
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] {
    if (!is_journal(options->log)) return print(*options, replay_file(options->log));
    std::istringstream log(log_of_journal(options->log));
    print(*options, replay(log, options->log));
  });
}

}  // namespace ductile
