#include "cli/power.hpp"

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/live_options.hpp"
#include "report/table.hpp"
#include "simulation/power_caps.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  LiveOptions live{};
  std::optional<std::string> cap{};
};

void power(const Options& options) {
  Json request{{"do", "power"}};
  if (options.cap) {
    const double watts = parse_power_cap(*options.cap, {.field = "--cap"});
    request["cap_w"] = std::isfinite(watts) ? Json(watts) : Json("none");
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
  std::cout << aligned_text(rows, 1);
  if (answer.contains("warning")) {
    std::cerr << "ductile: " << answer["warning"].get<std::string>() << '\n';
  }
}

}  // namespace

void add_power_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("power", "Show how much may be drawn, and who has it; change the cap");
  add_live_options(*command, options->live, true);
  command
      ->add_option_function<std::string>(
          "--cap", [options](const std::string& watts) { options->cap = watts; },
          "so many watts are drawn at most, as far as is believed; none: any")
      ->type_name("WATTS|none");
  command->callback([options] { power(*options); });
}

}  // namespace ductile
