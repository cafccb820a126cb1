#include "cli/power.hpp"

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/live_options.hpp"
#include "cli/power_solve.hpp"
#include "report/table.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct PowerOptions {
  LiveOptions live{};
  std::optional<std::string> cap{}, corridor{};
};

Json lines_of(const std::vector<CorridorLine>& corridor) {
  Json lines = Json::array();
  for (const CorridorLine& line : corridor) {
    lines.push_back({line.at.time_since_epoch().count(), line.low_w,
                     std::isfinite(line.high_w) ? Json(line.high_w) : Json()});
  }
  return lines;
}

std::string watts(const Json& its) {
  return its.is_null() ? "-" : fmt::format("{} W", its.get<double>());
}

void add_corridor(const Json& its, std::vector<std::vector<std::string>>& rows) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  std::string text = fmt::format("{}..{} W", its["low_w"].get<double>(),
                                 its["high_w"].is_null() ? kAny : its["high_w"].get<double>());
  if (its["is_outside"] == true) text += ", outside now";
  rows.push_back({"corridor", text});
  rows.push_back(
      {"outside", fmt::format("{:.1f} s, {:.0f} Ws, {} times, {} for longer than 30 s",
                              its["outside_s"].get<double>(), its["outside_ws"].get<double>(),
                              its["excursions"].dump(), its["violations"].dump())});
}

void power(const PowerOptions& options) {
  Json request{{"do", "power"}};
  if (options.cap) {
    const double watts = parse_power_cap(*options.cap, {.field = "--cap"});
    request["cap_w"] = std::isfinite(watts) ? Json(watts) : Json("none");
  }
  if (options.corridor) {
    request["corridor"] = *options.corridor == "none"
                              ? Json("none")
                              : lines_of(read_corridor(*options.corridor, {.field = "--corridor"}));
  }
  const Json answer = ask(options.live, request);
  if (options.live.json) {
    std::cout << answer.dump() << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* what, const char* field) {
    const Json& its = answer[field];
    rows.push_back({what, its.is_null() ? "-" : fmt::format("{} W", its.get<double>())});
  };
  add("cap", "cap_w");
  add("reserved", "reserved_w");
  add("idle draw", "idle_w");
  add("jobs", "jobs_w");
  add("promised", "promised_w");
  add("free", "free_w");
  add("drawn", "drawn_w");
  const Json& jobs = answer["measured_jobs"];
  if (!jobs.empty()) add("measured", "measured_w");
  const Json& corridor = answer["corridor"];
  if (!corridor.is_null()) add_corridor(corridor, rows);
  std::cout << aligned_text(rows, 1);
  if (!jobs.empty()) {
    rows = {{"", "", "", ""}, {"JOBID", "NODES", "BELIEVED", "MEASURED"}};
    for (const Json& its : jobs) {
      rows.push_back({its["job"].dump(), its["nodes"].dump(), watts(its["believed_w"]),
                      watts(its["measured_w"])});
    }
    std::cout << aligned_text(rows, 0);
  }
  if (answer.contains("warning")) {
    std::cerr << "ductile: " << answer["warning"].get<std::string>() << '\n';
  }
}

}  // namespace

void add_power_command(CLI::App& app) {
  const auto options = std::make_shared<PowerOptions>();
  CLI::App* command = app.add_subcommand(
      "power", "Show how much may be drawn, and who has it; change the cap, or the corridor");
  add_live_options(*command, options->live, true);
  command
      ->add_option_function<std::string>(
          "--cap", [options](const std::string& watts) { options->cap = watts; },
          "so many watts are drawn at most, as far as is believed; none: any")
      ->type_name("WATTS|none");
  command
      ->add_option_function<std::string>(
          "--corridor", [options](const std::string& said) { options->corridor = said; },
          "the machine shall draw between so many watts, or as this file says from now on: "
          "\"TIME_S LOWER_W UPPER_W\"; none: any")
      ->type_name("LOWER..UPPER|FILE|none");
  add_power_solve_command(*command);
  command->callback([options, command] {
    if (command->get_subcommands().empty()) return power(*options);
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      throw InputError({.field = option->get_name()}, "says nothing to `power solve`",
                       "write the options of solve behind it, and leave others away");
    }
  });
}

}  // namespace ductile
