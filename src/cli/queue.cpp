#include "cli/queue.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "live/client.hpp"
#include "live/submission.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct QueueOptions {
  LiveOptions live{};
  std::vector<std::string> jobs{};
};

std::string limit_of(const Json& seconds) {
  return limit_text(whole_seconds(std::llround(seconds.get<double>())));
}

void queue(const QueueOptions& options) {
  const std::string line = ask_for_line(find_socket(options.live.socket),
                                        {{"do", "queue"}, {"jobs", job_names(options.jobs)}});
  if (options.live.json) {
    std::cout << line << '\n';
    return;
  }
  const Json answer = Json::parse(line);
  std::vector<std::vector<std::string>> rows{{"JOBID", "NAME", "USER", "STATE", "TYPE", "TIME",
                                              "TIME_LIMIT", "NODES", "NODELIST(REASON)"}};
  const auto has_partition = [](const Json& job) { return job["partition"].is_string(); };
  const bool partitions = std::any_of(answer["jobs"].begin(), answer["jobs"].end(), has_partition);
  if (partitions) rows.front().insert(rows.front().begin() + 1, "PARTITION");
  std::string notes;
  for (const Json& job : answer["jobs"]) {
    const std::string reason = job["reason"];
    rows.push_back({job_text(job), job["name"], job["user"], job["state"], job["type"],
                    limit_of(job["elapsed_s"]), limit_of(job["time_limit_s"]), job["nodes"].dump(),
                    reason.empty() ? job["nodelist"].get<std::string>() : "(" + reason + ")"});
    if (partitions) {
      rows.back().insert(rows.back().begin() + 1,
                         has_partition(job) ? printable(job["partition"].get<std::string>()) : "");
    }
    notes += note_line(job);
  }
  for (const Json& job : answer.value("ended", Json::array())) {
    const std::string note = job["note"];
    notes += fmt::format("job {} is over: {}{}\n", job_text(job), job["state"].get<std::string>(),
                         note.empty() ? "" : ": " + note);
  }
  std::cout << lost_line(answer) << aligned_text(rows, rows.front().size()) << notes;
}

}  // namespace

void add_queue_command(CLI::App& app) {
  const auto options = std::make_shared<QueueOptions>();
  CLI::App* command = app.add_subcommand("queue", "Show the jobs that run and wait");
  command->add_option("JOB", options->jobs, "only these");
  add_live_options(*command, options->live, true);
  command->callback([options] { queue(*options); });
}

}  // namespace ductile
