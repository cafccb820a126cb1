#include "cli/queue.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "live/client.hpp"
#include "live/submission.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket{};
  std::vector<std::uint64_t> jobs{};
  bool json = false;
};

std::string limit_of(const Json& seconds) {
  return limit_text(whole_seconds(std::llround(seconds.get<double>())));
}

void queue(const Options& options) {
  const Json answer =
      ask_controller(find_socket(options.socket), {{"do", "queue"}, {"jobs", options.jobs}});
  if (options.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows{{"JOBID", "NAME", "USER", "STATE", "TYPE", "TIME",
                                              "TIME_LIMIT", "NODES", "NODELIST(REASON)"}};
  for (const Json& job : answer["jobs"]) {
    const std::string reason = job["reason"];
    rows.push_back({job["job"].dump(), job["name"], job["user"], job["state"], job["type"],
                    limit_of(job["elapsed_s"]), limit_of(job["time_limit_s"]), job["nodes"].dump(),
                    reason.empty() ? job["nodelist"].get<std::string>() : "(" + reason + ")"});
  }
  std::cout << aligned_text(rows, rows.front().size());
}

}  // namespace

void add_queue_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("queue", "Show the jobs that run and wait");
  command->add_option("JOB", options->jobs, "only these");
  command->add_option("--socket", options->socket, "of the controller; $DUCTILE_SOCKET");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { queue(*options); });
}

}  // namespace ductile
