#include "cli/explain.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "live/client.hpp"
#include "live/journal.hpp"
#include "live/look_up.hpp"
#include "live/schedule_clock.hpp"
#include "live/snapshots.hpp"
#include "report/explanation.hpp"
#include "simulation/replay.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  std::string socket{}, log{};
  std::string job{};
  bool json = false, history = false;
};

Time today() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

/// Of the job of a log. There, tasks of arrays are known by their own numbers.
std::uint64_t number_in(const std::string& job) {
  if (const auto number = parse_number<std::uint64_t>(job)) return *number;
  throw InputError("'" + job + "' is no number of a job", "write it like 12");
}

/// Of the journal of a controller, which knows tasks, too.
std::uint64_t number_in(const std::string& job, const Journal& journal) {
  const Json name = job_name(job);
  if (name.is_number()) return name;
  std::string_view task = job;
  const auto array = parse_number<std::uint64_t>(next_part(task, '_'));
  const auto row = journal.job_of_task(*array, *parse_number<std::uint32_t>(task));
  return row ? row->number : 0;
}

/// Of a recorded run: all of it is folded.
Explanation of_run(const ExplainOptions& options, const Registry& registry) {
  Explainer explainer(number_in(options.job), simulated_time,
                      options.history ? PolicyMaker{} : registry.maker());
  fold(*open_log(options.log), options.log, explainer);
  return explainer.explanation();
}

/// Of the journal of a controller, where it is looked up.
Explanation of_journal(const ExplainOptions& options, const Registry& registry,
                       const Explainer::TimeText& clock) {
  const Journal journal(options.log, Journal::Use::read);
  const std::uint64_t number = number_in(options.job, journal);
  // How far the clock on the wall is ahead of the one of the controller's schedules.
  const Duration ahead = ScheduleClock(journal.clock(), Time{}).ahead();
  Explainer explainer = look_up(journal, number, [&](Time time) { return clock(time + ahead); });
  const bool is_open = explainer.explanation().is_known && explainer.explanation().state != "over";
  if (is_open && !options.history) {
    const std::string folder = std::filesystem::absolute(options.log).parent_path();
    const Core core = recover_core(journal, folder).core;
    const auto job = journal.job(number);
    if (job) explainer.stands(job->id, core, registry.maker());
  }
  Explanation explanation = explainer.explanation();
  for (auto* lines : {&explanation.history, &explanation.now}) {
    for (Explained& line : *lines) line.at += ahead;
  }
  return explanation;
}

void explain_log(const ExplainOptions& options, const Registry& registry) {
  const bool is_live = is_journal(options.log);
  const Explainer::TimeText clock = is_live ? wall_clock(today()) : simulated_time;
  Explanation explanation =
      is_live ? of_journal(options, registry, clock) : of_run(options, registry);
  if (options.history) explanation.now.clear();
  if (!explanation.is_known) {
    throw InputError({options.log}, fmt::format("it has no job {}", options.job),
                     "name another one");
  }
  std::cout << (options.json ? to_json(explanation) + '\n' : to_text(explanation, clock));
}

/// Of the controller.
void explain_live(const ExplainOptions& options) {
  const Json answer = ask_controller(find_socket(options.socket),
                                     {{"do", "explain"}, {"job", job_name(options.job)}});
  if (options.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::cout << policy_line(answer) << to_text(explanation_from_json(answer), wall_clock(today()));
}

}  // namespace

void add_explain_command(CLI::App& app, const Registry& registry) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Tell what was decided about a job and why, and why it does not run now");
  command->add_option("JOB", options->job, "its number, or that of a task, like 12_3")->required();
  command->add_option("--log", options->log,
                      "of a run that `simulate --record` wrote, or the journal of a controller");
  command->add_option("--socket", options->socket, "of the controller; $DUCTILE_SOCKET")
      ->excludes("--log");
  command->add_flag("--history", options->history, "only what was decided, not how it stands now");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &registry] {
    options->log.empty() ? explain_live(*options) : explain_log(*options, registry);
  });
}

}  // namespace ductile
