#include "cli/live_options.hpp"

#include <array>
#include <cstddef>
#include <ctime>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/client.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

void add_live_options(CLI::App& command, LiveOptions& options, bool prints) {
  command.add_option("--socket", options.socket, "of the controller; $DUCTILE_SOCKET");
  if (prints) command.add_flag("--json", options.json, "print one JSON object");
}

Json ask(const LiveOptions& options, const Json& request) {
  return ask_controller(find_socket(options.socket), request);
}

Json job_name(std::string_view text) {
  if (const auto number = parse_number<std::uint64_t>(text)) return *number;
  std::string_view task = text;
  const auto array = parse_number<std::uint64_t>(next_part(task, '_'));
  if (!array || !parse_number<std::uint32_t>(task)) {
    throw InputError("'" + std::string(text) + "' is no job", "write it like 12, or 12_3");
  }
  return text;
}

Json job_names(const std::vector<std::string>& texts) {
  Json names = Json::array();
  for (const std::string& text : texts) names.push_back(job_name(text));
  return names;
}

std::string note_line(const Json& row) {
  const std::string note = row.value("note", std::string());
  return note.empty() ? "" : "job " + job_text(row) + ": " + note + "\n";
}

std::string policy_line(const Json& answer) {
  const auto its = answer.find("policy_process");
  if (its == answer.end() || !its->is_object() || (*its)["fallbacks"] == 0) return {};
  const auto text = [&](const char* name) { return (*its)[name].get<std::string>(); };
  std::string line =
      fmt::format("{} decided {} of {} passes instead of {}", text("fallback"),
                  (*its)["fallbacks"].dump(), (*its)["passes"].dump(), text("policy"));
  if ((*its)["why"].is_string()) line += ", of which the last failure was: " + text("why");
  return line + "\n";
}

std::string lost_line(const Json& answer) {
  std::string text;
  if (const auto since = answer.find("lost_since_s"); since != answer.end() && since->is_number()) {
    const auto seconds = static_cast<std::time_t>(since->get<double>());
    std::tm time{};
    std::array<char, 32> word{};
    localtime_r(&seconds, &time);
    const std::size_t size = std::strftime(word.data(), word.size(), "%Y-%m-%dT%H:%M:%S", &time);
    text = "the cluster is out of reach since " + std::string(word.data(), size) +
           "; nothing is decided until it is back\n";
  }
  if (const auto lacks = answer.find("lacks"); lacks != answer.end() && lacks->is_string()) {
    text += "the cluster lacks what the policy needs, " + lacks->get<std::string>() +
            "; nothing is decided until it can do that, or another policy is configured\n";
  }
  return text + policy_line(answer);
}

std::string job_text(const Json& row) {
  if (row["array_job"].is_null()) return row["job"].dump();
  return row["array_job"].dump() + "_" + row["array_task"].dump();
}

}  // namespace ductile
