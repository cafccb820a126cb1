#include "cli/replay.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "live/journal.hpp"
#include "report/run_folder.hpp"
#include "report/table.hpp"
#include "simulation/replay.hpp"
#include "simulation/retelling.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {
namespace {

struct ReplayOptions {
  std::string log;
  std::string out;
  bool json = false;
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
      "{}: {} decisions of {} are the same, asked again and folded\n"
      "({} events, {} instants, {} pen calls)\n",
      options.log, done.decisions, done.policy, done.events, done.instants, done.pen_calls);
}

/// The files of the run, as if it had been simulated with --out.
Replayed write_run(const ReplayOptions& options, std::istream& log, const PolicyMaker& make) {
  LogInput input = input_of_log(log, options.log);
  Workload& workload = input.workload;
  if (is_journal(options.log)) {
    workload.accounts = Journal(options.log, Journal::Use::read).accounts();
  }
  RunFolder folder(options.out, workload);
  const Duration grace = SimulationSettings{}.violation_grace;
  SummaryObserver figures(workload, {.lines = input.corridor, .grace = grace});
  std::vector<Observer*> observers{&figures};
  folder.add_observers(observers);
  const Retold run = retell(log, options.log, make, workload, observers);
  const Summary summary = figures.summary(workload, run.settings, run.counts);
  folder.finish(summary);
  folder.write_summary(summary);
  if (!options.json) std::cout << summary_table({&summary, 1}) << '\n';
  return run.replayed;
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
  command->add_option("--out", options->out,
                      "write to this folder what `simulate --out` writes: tables, series, report");
  command->callback([options, &registry] {
    const auto log = open_log(options->log);
    if (options->out.empty()) {
      print(*options, replay(*log, options->log, registry.maker()));
    } else {
      print(*options, write_run(*options, *log, registry.maker()));
    }
  });
}

}  // namespace ductile
