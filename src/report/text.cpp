#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <concepts>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ductile {
namespace {

using Json = nlohmann::json;

constexpr const char* kFolderRemedy = "give a folder that `simulate --out` wrote";

std::string json_value(const std::string& value) { return json_text(value); }
std::string json_value(bool value) { return value ? "true" : "false"; }
std::string json_value(double value) { return number_text(value); }
template <class Integer>
requires std::is_integral_v<Integer> std::string json_value(Integer value) {
  return std::to_string(value);
}
template <class Value>
std::string json_value(const std::optional<Value>& value) {
  return value ? json_value(*value) : "null";
}

template <class Field>
void read_value(const Json& json, Field& field) {
  field = json.get<Field>();
}
template <std::unsigned_integral Field>
requires(!std::is_same_v<Field, bool>) void read_value(const Json& json, Field& field) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > std::numeric_limits<Field>::max()) {
    throw std::invalid_argument("what is to be a whole number is none, or is too large");
  }
  field = json.get<Field>();
}
void read_value(const Json& json, double& field) {
  field = json.is_null() ? Summary::kNone : json.get<double>();
}
template <class Field>
void read_value(const Json& json, std::optional<Field>& field) {
  if (!json.is_null()) read_value(json, field.emplace());
}

// `kind`: what the keys are called.
template <class Who>
std::string delays_text(const char* kind, const std::map<Who, DelayFigures>& delays) {
  std::string text;
  for (const auto& [who, its] : delays) {
    text += fmt::format(
        "{}{{\"{}\": {}, \"jobs\": {}, \"delay_s\": {}, \"suffered_s\": {}, \"caused_s\": {}}}",
        text.empty() ? "" : ", ", kind, json_value(who), its.jobs, number_text(its.delay_s),
        number_text(its.suffered_s), number_text(its.caused_s));
  }
  return "[" + text + "]";
}

std::string ruled_text(const Summary& summary) {
  std::string text;
  for (const auto& [policy, share] : summary.ruled) {
    text += fmt::format("{}{{\"policy\": {}, \"share\": {}}}", text.empty() ? "" : ", ",
                        json_text(policy), number_text(share));
  }
  return "[" + text + "]";
}

template <class Who>
std::map<Who, DelayFigures> read_delays(const char* kind, const Json& json) {
  std::map<Who, DelayFigures> delays;
  for (const Json& its : json) {
    Who who{};
    read_value(its.at(kind), who);
    DelayFigures& figures = delays[who];
    read_value(its.at("jobs"), figures.jobs);
    figures.delay_s = its.at("delay_s").get<double>();
    figures.suffered_s = its.at("suffered_s").get<double>();
    figures.caused_s = its.at("caused_s").get<double>();
  }
  return delays;
}

// Writing what is nested takes stack for each level.
Json parse_flat(std::string_view text) {
  constexpr int kDeepest = 64;
  return Json::parse(text, [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw std::invalid_argument("it is nested too deeply");
    return true;
  });
}

Summary read_summary(const Json& json) {
  Summary summary;
  const auto read = [&](const char* name, auto& field) {
    constexpr std::array<std::string_view, 15> kLater = {
        "max_power_w",         "power_cap_w",         "above_power_cap_s",
        "rejected_for_power",  "orders_not_possible", "choices",
        "policy_changes",      "look_ahead_passes",   "corridor_outside_s",
        "corridor_outside_ws", "corridor_excursions", "corridor_violations",
        "corridor_solved",     "corridor_unsolved",   "expanded_jobs"};
    if (std::ranges::find(kLater, name) != kLater.end() && !json.contains(name)) return;
    read_value(json.at(name), field);
  };
  summary.variant = json.value("variant", "");
  visit_figures(summary, read);
  visit_asked_figures(summary, [&](const char* name, auto& field) {
    if (json.contains(name)) read_value(json.at(name), field);
  });
  summary.delays = read_delays<std::uint32_t>("user", json.at("delays"));
  summary.account_delays = read_delays<std::string>("account", json.at("account_delays"));
  for (const Json& its : json.value("ruled", Json::array())) {
    summary.ruled.emplace_back(its.at("policy").get<std::string>(), its.at("share").get<double>());
  }
  if (json.contains("run")) {
    summary.run = json.at("run").dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  visit_measurements(summary, [&](const char* name, auto& field) {
    if (json.contains(name)) read_value(json.at(name), field);
  });
  return summary;
}

}  // namespace

nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const std::string& json) { return Json::parse(json).dump(1); }

std::string to_json(const Summary& summary) {
  std::string text = figures_json(summary);
  text.pop_back();  // its end
  visit_measurements(summary, [&](const char* name, const auto& field) {
    text += fmt::format(", \"{}\": {}", name, json_value(field));
  });
  return text + "}";
}

std::string figures_json(const Summary& summary) {
  std::string text = "{";
  const auto write = [&](const char* name, const auto& field) {
    text += fmt::format("{}\"{}\": {}", text.size() > 1 ? ", " : "", name, json_value(field));
  };
  if (!summary.variant.empty()) write("variant", summary.variant);
  visit_figures(summary, write);
  visit_asked_figures(summary, [&](const char* name, const auto& field) {
    if (field) write(name, *field);
  });
  text += ", \"delays\": " + delays_text("user", summary.delays);
  text += ", \"account_delays\": " + delays_text("account", summary.account_delays);
  text += ", \"ruled\": " + ruled_text(summary);
  if (!summary.run.empty()) text += ", \"run\": " + summary.run;
  return text + "}";
}

std::vector<ReadSummary> parse_summaries(std::string_view text, const std::string& name) {
  try {
    const Json json = parse_flat(text);
    if (!json.contains("runs")) return {{"", read_summary(json)}};
    std::vector<ReadSummary> result;
    for (const Json& run : json.at("runs")) {
      result.push_back({run.at("folder").get<std::string>(), read_summary(run)});
    }
    return result;
  } catch (const Json::exception& error) {
    throw InputError({.file = name}, std::string("is no summary: ") + error.what(), kFolderRemedy);
  } catch (const std::invalid_argument& error) {
    throw InputError({.file = name}, std::string("is no summary: ") + error.what(), kFolderRemedy);
  }
}

std::vector<ReadSummary> read_summaries(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.file = path}, std::strerror(errno), kFolderRemedy);
  return parse_summaries(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

}  // namespace ductile
