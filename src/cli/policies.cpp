#include "cli/policies.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

std::string_view word(ParameterType type) {
  switch (type) {
    case ParameterType::integer:
      return "integer";
    case ParameterType::number:
      return "number";
    case ParameterType::duration:
      return "duration";
    case ParameterType::choice:
      return "choice";
    case ParameterType::text:
      return "text";
  }
  return "";
}

bool shares_nodes(const Registry& registry, const PolicyInfo& info) {
  return registry.make(info.name)->traits.needs.parts;
}

// ---- Text ---------------------------------------------------------------------------------------

std::string list_text(const std::vector<PolicyInfo>& policies) {
  std::size_t widest = 0;
  for (const PolicyInfo& info : policies) widest = std::max(widest, info.name.size());
  std::string text;
  for (const PolicyInfo& info : policies) {
    fmt::format_to(std::back_inserter(text), "{:<{}}  {}\n", info.name, widest, info.summary);
  }
  return text + "\n'ductile policies NAME' shows the parameters of one.\n";
}

std::string range_text(const ParameterInfo& info) {
  if (info.type == ParameterType::choice) {
    return fmt::format(": {}", fmt::join(info.choices, ", "));
  }
  if (info.type == ParameterType::text) return "";
  return fmt::format(": {} to {}{}{}", info.min, info.max, info.unit.empty() ? "" : " ", info.unit);
}

void append(std::string& text, const std::vector<ParameterInfo>& parameters) {
  for (const ParameterInfo& info : parameters) {
    fmt::format_to(std::back_inserter(text), "  {}={}\n      {}\n      {}{}\n", info.name,
                   info.fallback, info.summary, word(info.type), range_text(info));
    if (!info.source.empty()) fmt::format_to(std::back_inserter(text), "      {}\n", info.source);
  }
}

std::string details_text(const Registry& registry, const PolicyInfo& info) {
  std::string text = fmt::format("{}: {}\n", info.name, info.summary);
  if (!info.source.empty()) text += info.source + "\n";
  if (shares_nodes(registry, info)) text += "Jobs share nodes: in the simulator only.\n";
  if (!info.parameters.empty()) {
    text += "\nParameters and their defaults:\n";
    append(text, info.parameters);
  }
  text += "\nParameters of every policy:\n";
  append(text, common_parameters(info));
  return text;
}

// ---- JSON ---------------------------------------------------------------------------------------

Json as_json(const std::vector<ParameterInfo>& parameters) {
  Json list = Json::array();
  for (const ParameterInfo& info : parameters) {
    Json json = {{"name", info.name}, {"type", word(info.type)}, {"default", info.fallback}};
    if (info.type == ParameterType::choice) {
      json["choices"] = info.choices;
    } else if (info.type != ParameterType::text) {
      json["min"] = info.min;
      json["max"] = info.max;
    }
    json["unit"] = info.unit;
    json["summary"] = info.summary;
    json["source"] = info.source;
    list.push_back(std::move(json));
  }
  return list;
}

Json as_json(const Registry& registry, const PolicyInfo& info) {
  return {{"name", info.name},
          {"summary", info.summary},
          {"source", info.source},
          {"shares_nodes", shares_nodes(registry, info)},
          {"parameters", as_json(info.parameters)},
          {"common_parameters", as_json(common_parameters(info))}};
}

}  // namespace

void add_policies_command(CLI::App& app, const Registry& registry) {
  CLI::App& command =
      *app.add_subcommand("policies", "what policies there are, with parameters and source");
  struct Options {
    std::string name;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  command.add_option("name", options->name, "show this one");
  command.add_flag("--json", options->json, "print JSON: one object, or an array of all");
  command.callback([options, &registry] {
    if (options->json) {
      Json json = Json::array();
      if (options->name.empty()) {
        for (const PolicyInfo& info : registry.policies) json.push_back(as_json(registry, info));
      } else {
        json = as_json(registry, registry.find(options->name));
      }
      std::cout << json.dump(2) << '\n';
    } else {
      std::cout << (options->name.empty() ? list_text(registry.policies)
                                          : details_text(registry, registry.find(options->name)));
    }
  });
}

}  // namespace ductile
