#include "cli/nodes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quantity.hpp"
#include "base/text.hpp"
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
  const auto any = [&](const auto& has) {
    return std::any_of(answer["nodes"].begin(), answer["nodes"].end(), has);
  };
  const bool classes = any([](const Json& node) { return node["class"].is_string(); });
  const bool partitions = any([](const Json& node) { return !node["partitions"].empty(); });
  const bool memory = any([](const Json& node) { return node["memory"].is_number(); });
  const bool things =
      any([](const Json& node) { return !node["gres"].get<std::string>().empty(); });
  const bool reservations = any([](const Json& node) { return node["reservation"].is_string(); });
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::array<std::string, 10>& row) {
    rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_left_out = (i == 2 && !classes) || (i == 3 && !partitions) ||
                               (i == 5 && !memory) || (i == 6 && !things) ||
                               (i == 8 && !reservations);
      if (!is_left_out) rows.back().push_back(row.at(i));
    }
  };
  add({"NODE", "STATE", "CLASS", "PARTITIONS", "CORES", "MEMORY", "GRES", "JOBID", "RESERVATION",
       "REASON"});
  const auto text = [](const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.is_null() ? "" : json.dump();
  };
  for (const Json& node : answer["nodes"]) {
    add({text(node["node"]), text(node["state"]), text(node["class"]),
         listed(node["partitions"].get<std::vector<std::string>>()), text(node["cores"]),
         node["memory"].is_null() ? "" : memory_text(node["memory"].get<std::uint64_t>()),
         text(node["gres"]), text(node["job"]), text(node["reservation"]), text(node["reason"])});
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
