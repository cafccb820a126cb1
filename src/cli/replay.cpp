#include "cli/replay.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/retold_run.hpp"
#include "live/journal.hpp"
#include "report/table.hpp"
#include "simulation/observer.hpp"
#include "simulation/replay.hpp"

namespace ductile {
namespace {

struct ReplayOptions {
  std::string log;
  std::string out;
  std::string policy;
  bool json = false, folds = false;
};

void print(const ReplayOptions& options, const Replayed& done) {
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
      "{}: {} decisions of {} are the same, {}\n"
      "({} events, {} instants, {} pen calls)\n",
      options.log, done.decisions, done.policy,
      done.asked      ? "asked again and folded"
      : options.folds ? "folded"
                      : "folded: who is outside cannot be asked again",
      done.events, done.instants, done.pen_calls);
}

}  // namespace

void add_replay_command(CLI::App& app, const Registry& registry) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand(
      "replay", "Check that a recorded run (simulate --record) gives the same decisions again");
  command
      ->add_option("LOG", options->log,
                   "what `simulate --record` wrote, or the journal of a controller")
      ->required();
  command->add_flag("--json", options->json, "print one JSON object");
  CLI::Option* out = command->add_option(
      "--out", options->out,
      "write to this folder what `simulate --out` writes: tables, series, report");
  command
      ->add_flag("--fold", options->folds,
                 "ask no policy, which need not be there: only fold what was recorded")
      ->excludes(out);
  command
      ->add_option(
          "--policy", options->policy,
          "ask this one at each instant, and not who decided: would it have done the same?")
      ->type_name("NAME[:parameter=value,...]")
      ->excludes(out)
      ->excludes("--fold");
  command->callback([options, &registry] {
    const auto log = open_log(options->log);
    const PolicyMaker other = [&](std::string_view) { return registry.make(options->policy); };
    if (options->folds) {
      Observer nobody;
      print(*options, fold(*log, options->log, nobody));
    } else if (options->out.empty()) {
      const PolicyMaker make = options->policy.empty() ? maker_for(options->log, registry) : other;
      print(*options, replay(*log, options->log, make));
    } else {
      const RetoldRun run =
          write_retold_run(*log, options->log, options->out, maker_for(options->log, registry));
      if (!options->json) std::cout << summary_table({&run.summary, 1}) << '\n';
      print(*options, run.replayed);
    }
  });
}

}  // namespace ductile
