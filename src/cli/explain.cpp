#include "cli/explain.hpp"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "live/client.hpp"
#include "live/journal.hpp"
#include "live/schedule_clock.hpp"
#include "policies/registry.hpp"
#include "report/explanation.hpp"
#include "simulation/replay.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket{}, log{};
  std::uint64_t job = 0;
  bool json = false;
};

Time today() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

/// How far the clock on the wall is ahead of the one of a controller's schedules.
Duration ahead_of(const std::string& journal) {
  return ScheduleClock(Journal(journal, Journal::Use::read).clock(), Time{}).ahead();
}

/// Of a recorded run, or of the journal of a controller.
void explain_log(const Options& options) {
  const bool is_live = is_journal(options.log);
  const Explainer::TimeText clock = is_live ? wall_clock(today()) : simulated_time;
  const Duration ahead = is_live ? ahead_of(options.log) : Duration{};
  Explainer explainer(options.job, [&](Time time) { return clock(time + ahead); });
  const auto make = [](std::string_view settings) { return make_policy(settings); };
  fold(*open_log(options.log), options.log, make, explainer);
  Explanation explanation = explainer.explanation();
  if (!explanation.is_known) {
    throw InputError({options.log}, fmt::format("it has no job {}", options.job),
                     "name another one");
  }
  for (auto* lines : {&explanation.history, &explanation.now}) {
    for (Explained& line : *lines) line.at += ahead;
  }
  std::cout << (options.json ? to_json(explanation) + '\n' : to_text(explanation, clock));
}

/// Of the controller.
void explain_live(const Options& options) {
  const Json answer =
      ask_controller(find_socket(options.socket), {{"do", "explain"}, {"job", options.job}});
  if (options.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::cout << to_text(explanation_from_json(answer), wall_clock(today()));
}

}  // namespace

void add_explain_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "Tell what was decided about a job and why, and why it does not run now");
  command->add_option("JOB", options->job, "its number")->required();
  command->add_option("--log", options->log,
                      "of a run that `simulate --record` wrote, or the journal of a controller");
  command->add_option("--socket", options->socket, "of the controller; $DUCTILE_SOCKET")
      ->excludes("--log");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback(
      [options] { options->log.empty() ? explain_live(*options) : explain_log(*options); });
}

}  // namespace ductile
