#include "cli/nodes.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/live_options.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

void nodes(const LiveOptions& options) {
  const Json answer = ask(options, {{"do", "nodes"}});
  if (options.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows{{"NODE", "STATE", "CORES", "JOBID", "REASON"}};
  for (const Json& node : answer["nodes"]) {
    rows.push_back({node["node"].dump(), node["state"], node["cores"].dump(),
                    node["job"].is_null() ? "" : node["job"].dump(),
                    node["reason"].is_null() ? "" : node["reason"].get<std::string>()});
  }
  std::cout << lost_line(answer) << aligned_text(rows, rows.front().size());
}

}  // namespace

void add_nodes_command(CLI::App& app) {
  const auto options = std::make_shared<LiveOptions>();
  CLI::App* command = app.add_subcommand("nodes", "Show the nodes and who has them");
  add_live_options(*command, *options, true);
  command->callback([options] { nodes(*options); });
}

}  // namespace ductile
