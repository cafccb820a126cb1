#include "cli/predict.hpp"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/live_options.hpp"
#include "live/client.hpp"
#include "live/submission.hpp"
#include "report/explanation.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct PredictOptions {
  std::string socket{}, policy{}, time{};
  std::vector<std::string> jobs{};
  std::uint32_t fewer_nodes = 0, nodes = 0;
  bool json = false;
};

void predict(const PredictOptions& options) {
  Json request{{"do", "predict"}, {"jobs", job_names(options.jobs)}};
  if (options.fewer_nodes > 0) request["fewer_nodes"] = options.fewer_nodes;
  if (!options.policy.empty()) request["policy"] = options.policy;
  if (options.nodes > 0) {
    if (options.time.empty()) throw InputError("--nodes: the job has no --time", "give one");
    request["nodes"] = options.nodes;
    request["time_us"] = parse_limit(options.time).count();
  }
  const Json answer = ask_controller(find_socket(options.socket), request);
  if (options.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  const auto clock = wall_clock(Time(seconds(answer["now_s"].get<double>())));
  const auto time = [&](const Json& value) {
    return value.is_null() ? "?" : clock(Time(seconds(value.get<double>())));
  };
  bool any_planned = false;
  const bool changes = !options.policy.empty() || options.fewer_nodes > 0 || options.nodes > 0;
  std::vector<std::vector<std::string>> rows{{"JOBID", "STATE", "NODES", "START", "END"}};
  if (changes) rows.front().insert(rows.front().end(), {"THEN_NODES", "THEN_START", "THEN_END"});
  rows.front().emplace_back("MODEL");
  const auto add = [&](const Json& number, const std::string& state, const Json& as_is,
                       const Json& then) {
    std::vector<std::string> row{number.is_null() ? "new" : number.dump(), state};
    const auto put = [&](const Json& its) {
      const bool is_there = its.is_object();
      const bool planned = is_there && its.value("planned", false);
      any_planned |= planned;
      row.push_back(!is_there ? "" : its["nodes"].is_null() ? "?" : its["nodes"].dump());
      const bool has_begun = state == "RUNNING";
      row.push_back(is_there ? (planned && !has_begun ? "~" : "") + time(its["start_s"]) : "");
      row.push_back(is_there ? (planned ? "~" : "") + time(its["end_s"]) : "");
    };
    put(as_is);
    if (changes) put(then);
    const Json model = as_is.is_object() ? as_is.value("model", Json()) : Json();
    row.push_back(model.is_string() ? model.get<std::string>() : "");
    rows.push_back(std::move(row));
  };
  for (const Json& job : answer["jobs"]) {
    add(job["job"], job["state"], job, job.value("changed", Json()));
  }
  if (answer.contains("added")) add(Json(), "", Json(), answer["added"]);
  std::cout << aligned_text(rows, rows.front().size());
  if (any_planned) {
    std::cerr << "~: planned in the order of the queue; the passes of the policy take too long to "
                 "go through all of them\n";
  }
}

}  // namespace

void add_predict_command(CLI::App& app) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict", "Tell when jobs will start and end if all goes as believed, and what if");
  command->add_option("JOB", options->jobs, "only these");
  command->add_option("--fewer-nodes", options->fewer_nodes, "what if so many nodes drained now");
  command->add_option("--policy", options->policy, "what if this were the policy");
  command->add_option("-N,--nodes", options->nodes,
                      "what if a job of so many nodes were submitted now, with --time");
  command->add_option("-t,--time", options->time, "its limit")->needs("--nodes");
  command->add_option("--socket", options->socket, "of the controller; $DUCTILE_SOCKET");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { predict(*options); });
}

}  // namespace ductile
