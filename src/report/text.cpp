#include "report/text.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ductile {
namespace {

using Json = nlohmann::json;

std::string value_text(const std::string& value) { return json_text(value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(double value) { return number_text(value); }
std::string value_text(const std::optional<double>& value) {
  return value ? number_text(*value) : "null";
}
template <class Integer>
requires std::is_integral_v<Integer> std::string value_text(Integer value) {
  return std::to_string(value);
}

template <class Field>
void read_value(const Json& json, Field& field) {
  field = json.get<Field>();
}
void read_value(const Json& json, double& field) {
  field = json.is_null() ? Summary::kNone : json.get<double>();
}
void read_value(const Json& json, std::optional<double>& field) {
  if (!json.is_null()) field = json.get<double>();
}

std::string delays_text(const std::vector<UserDelay>& delays) {
  std::string text;
  for (const auto& [user, jobs, delay_s] : delays) {
    text += fmt::format("{}{{\"user\": {}, \"jobs\": {}, \"delay_s\": {}}}",
                        text.empty() ? "" : ", ", user, jobs, number_text(delay_s));
  }
  return "[" + text + "]";
}

std::vector<UserDelay> read_delays(const Json& json) {
  std::vector<UserDelay> delays;
  for (const Json& its : json) {
    delays.push_back({its.at("user").get<std::uint32_t>(), its.at("jobs").get<std::uint64_t>(),
                      its.at("delay_s").get<double>()});
  }
  return delays;
}

Summary read_summary(const Json& json) {
  Summary summary;
  const auto read = [&](const char* name, auto& field) { read_value(json.at(name), field); };
  visit_figures(summary, read);
  summary.delays = read_delays(json.at("delays"));
  visit_measurements(summary, read);
  return summary;
}

}  // namespace

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_json(const Summary& summary) {
  std::string text = "{";
  const auto write = [&](const char* name, const auto& field) {
    text += fmt::format("{}\"{}\": {}", text.size() > 1 ? ", " : "", name, value_text(field));
  };
  visit_figures(summary, write);
  text += ", \"delays\": " + delays_text(summary.delays);
  visit_measurements(summary, write);
  return text + "}";
}

std::vector<ReadSummary> read_summaries(const std::string& path) {
  const std::string remedy = "give a folder that `simulate --out` wrote";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.file = path}, std::strerror(errno), remedy);
  try {
    const Json json = Json::parse(file);
    if (!json.contains("runs")) return {{"", read_summary(json)}};
    std::vector<ReadSummary> result;
    for (const Json& run : json.at("runs")) {
      result.push_back({run.at("folder").get<std::string>(), read_summary(run)});
    }
    return result;
  } catch (const Json::exception& error) {
    throw InputError({.file = path}, std::string("is no summary: ") + error.what(), remedy);
  }
}

}  // namespace ductile
