#include "cli/reserve.hpp"

#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/live_options.hpp"
#include "live/conditions.hpp"
#include "report/table.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct ReserveOptions {
  LiveOptions live{};
  std::string name{};
  std::string from{}, to{}, duration{};
  std::string nodes{}, users{};
  std::uint32_t count = 0;
  std::optional<double> watts{};
  bool is_over = false;
};

std::string time_text(const Json& seconds) {
  if (!seconds.is_number()) return "-";
  const auto since = static_cast<std::time_t>(seconds.get<double>());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::localtime(since));
}

Duration duration_of(const std::string& text) {
  try {
    return parse_limit(text);
  } catch (const InputError&) {
    throw InputError({.field = "--duration"}, "'" + text + "' is no length of time",
                     "write minutes, M:S, H:M:S or D-H:M:S");
  }
}

void list(const ReserveOptions& options) {
  const Json answer = ask(options.live, {{"do", "reservations"}});
  if (options.live.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows{
      {"NAME", "STATE", "FROM", "TO", "NODES", "WATTS", "FOR", "JOBS"}};
  for (const Json& each : answer["reservations"]) {
    const auto users = each["users"].get<std::vector<std::string>>();
    const bool for_jobs = each["for_jobs"];
    rows.push_back(
        {each["name"], each["state"], time_text(each["from_s"]), time_text(each["to_s"]),
         each["nodes"], each["watts"] == 0 ? "" : fmt::format("{}", each["watts"].get<double>()),
         !for_jobs       ? "-"
         : users.empty() ? "all"
                         : listed(users),
         fmt::format("{}", fmt::join(each["jobs"].get<std::vector<std::uint64_t>>(), ","))});
  }
  std::cout << aligned_text(rows, rows.front().size());
}

void reserve(const ReserveOptions& options) {
  const auto now = Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
  const auto seconds_of = [](Time time) { return to_seconds(time.time_since_epoch()); };
  Json request{{"do", "reserve"}, {"name", options.name}};
  Time from = now;
  if (!options.from.empty()) from = parse_begin(options.from, now, "--from");
  if (!options.from.empty() || !options.duration.empty()) request["from_s"] = seconds_of(from);
  if (!options.to.empty()) {
    Time to = parse_begin(options.to, now, "--to");
    // The next 18:00 after it begins.
    const bool is_time_of_day = options.to.find_first_not_of("0123456789:") == std::string::npos;
    if (is_time_of_day && to <= from) to = parse_begin(options.to, from, "--to");
    request["to_s"] = seconds_of(to);
  }
  if (!options.duration.empty()) {
    request["to_s"] = seconds_of(later(from, duration_of(options.duration)));
  }
  if (!options.nodes.empty()) request["nodes"] = options.nodes;
  if (options.count > 0) request["count"] = options.count;
  if (options.watts) {
    if (!(*options.watts > 0 && *options.watts <= 1e9)) {
      throw InputError({.field = "--watts"}, fmt::format("{} W cannot be reserved", *options.watts),
                       "write watts above 0, up to 1e9");
    }
    request["watts"] = *options.watts;
  }
  if (options.users == "all") {
    request["anybody"] = true;
  } else if (!options.users.empty()) {
    Json users = Json::array();
    for (std::string_view rest = options.users; !rest.empty();) {
      users.push_back(next_part(rest, ','));
    }
    request["users"] = std::move(users);
  }
  const Json answer = ask(options.live, request);
  if (options.live.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  const std::string nodes = answer["nodes"];
  if (!nodes.empty()) std::cout << "nodes " << nodes << ", ";
  std::cout << "from " << time_text(answer["from_s"]);
  std::cout << (answer["to_s"].is_null() ? " on" : " to " + time_text(answer["to_s"])) << '\n';
}

}  // namespace

void add_reserve_command(CLI::App& app) {
  const auto options = std::make_shared<ReserveOptions>();
  CLI::App* command = app.add_subcommand(
      "reserve", "Keep nodes for maintenance or for some jobs, and power; without NAME: show them");
  add_live_options(*command, options->live, true);
  CLI::Option* name = command->add_option("NAME", options->name, "letters, digits and _-.+");
  std::vector<CLI::Option*> of_new;
  const auto add = [&](const char* names, auto& value, const char* what) {
    of_new.push_back(command->add_option(names, value, what)->needs(name));
    if constexpr (std::is_same_v<decltype(value), std::string&>) {
      // As of a variable of a script that is not set; to leave it out means something else.
      of_new.back()->check([](const std::string& text) {
        return text.empty() ? std::string("it is empty; write it, or leave the option out") : "";
      });
    }
    return of_new.back();
  };
  CLI::Option* nodes = add("--nodes", options->nodes, "these nodes, like 0-3,7");
  add("--count", options->count, "so many nodes: such as are believed to be free by then")
      ->check(CLI::Range(1U, 1U << 24))
      ->excludes(nodes);
  add("--from", options->from, "now+2hours, 16:00, 2030-12-31T16:00 [now]")->type_name("TIME");
  CLI::Option* to = add("--to", options->to, "as --from [until it is removed]")->type_name("TIME");
  add("--duration", options->duration, "for so long: minutes, H:M:S or D-H:M:S")
      ->type_name("TIME")
      ->excludes(to);
  add("--users", options->users,
      "for jobs of these users that name it (`submit --reservation`): alice,bob, or all [nobody: "
      "maintenance]");
  add("--watts", options->watts, "so many watts of the power cap, for nobody");
  CLI::Option* remove = command->add_flag("--remove", options->is_over, "it is over now");
  remove->needs(name);
  for (CLI::Option* const option : of_new) remove->excludes(option);
  command->callback([options, name] {
    if (name->count() == 0) return list(*options);
    if (options->is_over) {
      ask(options->live, {{"do", "unreserve"}, {"name", options->name}});
    } else {
      reserve(*options);
    }
  });
}

}  // namespace ductile
