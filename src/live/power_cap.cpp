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

void check_power_cap(const SaidPowerCap& cap, const Platform& platform) {
  if (!std::isfinite(cap.watts) || platform.says_what_jobs_draw()) return;
  throw InputError(cap.place, "it is not known what a node draws",
                   "give its classes idle_w and busy_w in a file, with `serve --platform`");
}

/// Of a cap that keeps everybody waiting, or nobody; empty: there is nothing to say.
std::string Controller::power_cap_warning() const {
  const State& state = core_.state();
  if (state.budget_mw == State::kNoBudget) return "";
  const std::string cap = cap_text(watts(state.budget_mw));
  if (state.on_mw > state.budget_mw) {
    return fmt::format(
        "nodes that are on draw {} W while they are idle, and the power cap is {}: no job starts",
        watts(state.on_mw), cap);
  }
  if (!state.platform.says_what_jobs_draw()) {
    return fmt::format(
        "the power cap is {}, and it is not known what a job draws (`idle_w`, `busy_w`): nobody "
        "waits for watts",
        cap);
  }
  return "";
}

/// What the settings say counts when they say another thing than before.
void Controller::take_power_cap() {
  if (!settings_.power_cap) return;
  const double said = settings_.power_cap->watts;
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
      throw InputError({.field = "--cap"}, "it is no power", "write watts, or \"none\"");
    }
    const Place place{.field = "--cap"};
    const double cap_w =
        parse_power_cap(its.is_number() ? fmt::format("{}", its.get<double>()) : "none", place);
    check_power_cap({cap_w, place}, state.platform);
    tell(event::CorridorChanged{state.corridor_low_w, cap_w});
    spdlog::info("the power cap is {}", cap_text(cap_w));
  }
  const bool is_capped = state.budget_mw != State::kNoBudget;
  const auto if_capped = [&](std::int64_t milliwatts) {
    return is_capped ? Json(watts(milliwatts)) : Json();
  };
  const std::int64_t reserved_mw = state.booked_power_mw(state.now);
  Json answer{{"ok", true},
              {"cap_w", if_capped(state.budget_mw)},
              {"reserved_w", if_capped(reserved_mw)},
              {"idle_w", watts(state.on_mw)},
              {"jobs_w", watts(state.jobs_mw)},
              {"promised_w", if_capped(state.claimed_mw)},
              {"free_w", if_capped(state.free_power_mw() - reserved_mw)}};
  if (const std::string warning = power_cap_warning(); !warning.empty())
    answer["warning"] = warning;
  return answer;
}

}  // namespace ductile
