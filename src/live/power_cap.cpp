// The cap of power: what settings and operators say, and what is shown of it.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "live/controller.hpp"
#include "simulation/power_caps.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

namespace {

std::string cap_text(double watts) {
  return std::isfinite(watts) ? fmt::format("{} W", watts) : "none";
}

double watts(std::int64_t milliwatts) { return static_cast<double>(milliwatts) / 1000; }

}  // namespace

void check_power_cap(double watts, const Platform& platform) {
  if (!std::isfinite(watts) || platform.says_what_jobs_draw()) return;
  throw InputError({.field = "power cap"}, "it is not known what a node draws",
                   "give its classes idle_w and busy_w in a file, with `serve --platform`");
}

/// What the settings say counts when they say another thing than before.
void Controller::take_power_cap() {
  if (!settings_.power_cap_w) return;
  const double said = *settings_.power_cap_w;
  const State& state = core_.state();
  if (journal_.power_cap() == cap_text(said)) {
    const bool is_capped = state.budget_mw != State::kNoBudget;
    const bool is_as_said = std::isfinite(said)
                                ? is_capped && state.budget_mw == std::llround(said * 1000)
                                : !is_capped;
    if (!is_as_said) {
      spdlog::info("the power cap is {}, as an operator said; the settings say {}, as before",
                   is_capped ? cap_text(watts(state.budget_mw)) : "none", cap_text(said));
    }
    return;
  }
  open();
  journal_.write_power_cap(cap_text(said));
  tell(event::CorridorChanged{state.corridor_low_w, said});
  spdlog::info("the power cap is {}", cap_text(said));
}

Json Controller::on_power(const Client& client, const Json& request) {
  const State& state = core_.state();
  if (request.contains("cap_w")) {
    if (!is_operator(client)) throw Refused("only operators may change the power cap");
    const Json& its = request["cap_w"];
    if (!its.is_number() && its != "none") {
      throw InputError({.field = "cap_w"}, "it is no power", "write watts, or \"none\"");
    }
    const double cap_w = its.is_number() ? parse_power_cap(fmt::format("{}", its.get<double>()))
                                         : parse_power_cap("none");
    check_power_cap(cap_w, state.platform);
    tell(event::CorridorChanged{state.corridor_low_w, cap_w});
    spdlog::info("the power cap is {}", cap_text(cap_w));
  }
  const bool is_capped = state.budget_mw != State::kNoBudget;
  const auto if_capped = [&](std::int64_t milliwatts) {
    return is_capped ? Json(watts(milliwatts)) : Json();
  };
  const std::int64_t reserved_mw = state.booked_power_mw(state.now);
  return {{"ok", true},
          {"cap_w", if_capped(state.budget_mw)},
          {"reserved_w", if_capped(reserved_mw)},
          {"idle_w", watts(state.on_mw)},
          {"jobs_w", watts(state.jobs_mw)},
          {"promised_w", if_capped(state.claimed_mw)},
          {"free_w", if_capped(state.free_power_mw() - reserved_mw)}};
}

}  // namespace ductile
