#include "cli/live_options.hpp"

#include <array>
#include <cstddef>
#include <ctime>

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

std::string note_line(const Json& row) {
  const std::string note = row.value("note", std::string());
  return note.empty() ? "" : "job " + job_text(row) + ": " + note + "\n";
}

std::string lost_line(const Json& answer) {
  const auto since = answer.find("lost_since_s");
  if (since == answer.end() || !since->is_number()) return {};
  const auto seconds = static_cast<std::time_t>(since->get<double>());
  std::tm time{};
  std::array<char, 32> text{};
  localtime_r(&seconds, &time);
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &time);
  return "the cluster is out of reach since " + std::string(text.data(), size) +
         "; nothing is decided until it is back\n";
}

std::string job_text(const Json& row) {
  if (row["array_job"].is_null()) return row["job"].dump();
  return row["array_job"].dump() + "_" + row["array_task"].dump();
}

}  // namespace ductile
