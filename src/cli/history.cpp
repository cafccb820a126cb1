#include "cli/history.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/live_options.hpp"
#include "cli/retold_run.hpp"
#include "cli/temporary_folder.hpp"
#include "live/client.hpp"
#include "live/journal.hpp"
#include "live/submission.hpp"
#include "report/output_file.hpp"
#include "report/page.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct HistoryOptions {
  LiveOptions live{};
  std::string job{};
  std::uint64_t last = 1000;
  std::string since{};
  std::string html{}, state{};
};

/// "2x10.5 4x3": so many nodes, for so many seconds each time.
std::string sizes_of(const Json& sizes) {
  std::string text;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const double time = sizes[i + 1]["time_s"].get<double>() - sizes[i]["time_s"].get<double>();
    text += fmt::format("{}{}x{:.1f}", text.empty() ? "" : " ", sizes[i]["nodes"].dump(), time);
  }
  return text;
}

// The page of all that there has been, as the journal has it.
void write_history_page(const HistoryOptions& options, const Registry& registry) {
  const fs::path state = options.state.empty() ? default_state() : options.state;
  const std::string journal = (state / "journal.db").string();
  const auto log = open_log(journal);
  const TemporaryFolder folder;
  const RetoldRun run =
      write_retold_run(*log, journal, folder.path(), maker_for(journal, registry));
  RunPage page{.path = folder.path(), .summary = run.summary, .has_links = false};
  page.summary.stopped = false;  // it goes on
  write_file(fs::path(options.html), html_page({&page, 1}));
}

void history(const HistoryOptions& options) {
  Json request{{"do", "history"}};
  request["last"] = options.last;
  if (!options.job.empty()) request["job"] = job_name(options.job);
  if (!options.since.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const Time begin = Time(std::chrono::duration_cast<Duration>(now)) - parse_limit(options.since);
    request["since_s"] = to_seconds(begin);
  }
  const Json answer = ask(options.live, request);
  if (options.live.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows{
      {"JOBID", "NAME", "USER", "TYPE", "STATE", "EXIT", "ELAPSED", "NODE_S", "SIZES"}};
  std::string notes;
  for (const Json& job : answer["jobs"]) {
    const bool is_over = job["start_s"].is_number() && job["end_s"].is_number();
    const double elapsed = is_over ? job["end_s"].get<double>() - job["start_s"].get<double>() : 0;
    rows.push_back({job_text(job), job["name"], job["user"], job["type"], job["state"],
                    job["exit_code"].is_null() ? "" : job["exit_code"].dump(),
                    is_over ? limit_text(whole_seconds(std::llround(elapsed))) : "",
                    fmt::format("{:.1f}", job["node_s"].get<double>()), sizes_of(job["sizes"])});
    notes += note_line(job);
  }
  std::cout << aligned_text(rows, rows.front().size()) << notes;
}

}  // namespace

void add_history_command(CLI::App& app, const Registry& registry) {
  const auto options = std::make_shared<HistoryOptions>();
  CLI::App* command =
      app.add_subcommand("history", "Show what has run, at which sizes, and what it used");
  command->add_option("JOB", options->job,
                      "only this one, all tasks of this array, or a task like 12_3");
  command->add_option("--last", options->last, "so many jobs, the newest ones")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--since", options->since,
                      "only jobs that were not over so long ago, a time as of `submit --time`");
  command->add_option(
      "--html", options->html,
      "write a page of all that there has been to this file, from the journal of the "
      "controller, which only who may read its files can");
  command
      ->add_option("--state", options->state,
                   "with --html: the controller's folder, as of `serve --state`")
      ->needs("--html");
  add_live_options(*command, options->live, true);
  command->callback([options, &registry] {
    if (options->html.empty()) return history(*options);
    write_history_page(*options, registry);
  });
}

}  // namespace ductile
