// The power of the machine: its cap and its corridor, what settings and operators say of them and
// what is shown; and what jobs were measured to draw.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "job/power.hpp"
#include "live/controller.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"
#include "simulation/power_figures.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

namespace {

std::string cap_text(double watts) {
  return std::isfinite(watts) ? fmt::format("{} W", watts) : "none";
}

double watts(std::int64_t milliwatts) { return static_cast<double>(milliwatts) / 1000; }

std::int64_t as_milliwatts(double watts) { return std::llround(watts * 1000); }

constexpr double kAny = std::numeric_limits<double>::infinity();

Json bound_json(double watts) { return std::isfinite(watts) ? Json(watts) : Json(); }

/// Lines of a corridor, as requests and the journal have them: [[0, 1000, 1700], [60000000, 500,
/// null]], times in microseconds. Throws InputError.
Json to_json(const std::vector<CorridorLine>& lines) {
  Json json = Json::array();
  for (const CorridorLine& line : lines) {
    json.push_back({line.at.time_since_epoch().count(), line.low_w, bound_json(line.high_w)});
  }
  return json;
}

std::vector<CorridorLine> lines_from(const Json& json, const Place& place) {
  constexpr std::size_t kMostLines = 10'000;
  constexpr std::int64_t kLatest = std::int64_t{1} << 60;
  const auto fail = [&](const std::string& what) {
    throw InputError(place, what, "use `ductile power --corridor`");
  };
  if (!json.is_array() || json.empty() || json.size() > kMostLines) {
    fail(fmt::format("a corridor has 1 to {} lines", kMostLines));
  }
  std::vector<CorridorLine> lines;
  for (const Json& its : json) {
    const bool is_line = its.is_array() && its.size() == 3 && its[0].is_number_integer() &&
                         its[1].is_number() && (its[2].is_number() || its[2].is_null());
    if (!is_line) fail("a line is a time and two bounds");
    const auto at = its[0].get<std::int64_t>();
    if (at < 0 || at > kLatest) fail("a time is none");
    const auto word = [](const Json& bound) {
      return bound.is_null() ? "inf" : fmt::format("{}", bound.get<double>());
    };
    CorridorLine line = parse_corridor(word(its[1]), word(its[2]), place);
    line.at = Time(Duration(at));
    if (!lines.empty() && line.at <= lines.back().at) fail("the lines are not by time");
    lines.push_back(line);
  }
  return lines;
}

/// As believed; while a job grows, the nodes on their way to it are idle.
std::int64_t true_draw_mw(const State& state) {
  static const Workload kNone{};
  return TrueDraw(kNone).milliwatts(state);
}

std::string range_text(const CorridorLine& line) {
  return std::isfinite(line.high_w) ? fmt::format("{}..{} W", line.low_w, line.high_w)
                                    : fmt::format("{} W and more", line.low_w);
}

}  // namespace

std::string text_of_corridor(const std::vector<CorridorLine>& lines) {
  return lines.empty() ? "none" : to_json(lines).dump();
}

void check_power_cap(const SaidPowerCap& cap, const Platform& platform) {
  if (!std::isfinite(cap.watts) || platform.says_what_jobs_draw()) return;
  throw InputError(cap.place, "it is not known what a node draws",
                   "give its classes idle_w and busy_w in a file, with `serve --platform`");
}

void check_power_from(const std::string& folder) {
  if (folder.empty() || EnergyMeter(folder).is_there()) return;
  throw InputError({.field = "power_from"},
                   "there are no counters of energy in '" + folder + "' that can be read",
                   "give a folder as /sys/class/powercap is, or none");
}

void check_corridor(const SaidCorridor& corridor, const Platform& platform) {
  if (!corridor.lines.empty()) check_power_cap({0, corridor.place}, platform);
}

/// Of a corridor that nobody keeps; empty: there is nothing to say.
std::string Controller::corridor_warning() const {
  if (!corridor_ || policy_->wants.corridor) return "";
  return fmt::format(
      "the policy {} keeps no power corridor: whether it is kept is only watched; power_aware and "
      "power_ahead keep one",
      policy_->traits.settings);
}

/// Of a cap that keeps everybody waiting, or nobody; empty: there is nothing to say.
std::string Controller::power_cap_warning() const {
  const State& state = core_.state();
  std::string only_watched = corridor_warning();
  if (state.budget_mw == State::kNoBudget) return only_watched;
  const CorridorLine* const line = policy_->wants.corridor ? corridor_now() : nullptr;
  const bool is_corridor = line != nullptr && line->high_w <= cap_w_;
  const std::string cap = fmt::format(
      "{} is {}", is_corridor ? "the upper bound of the power corridor" : "the power cap",
      cap_text(watts(state.budget_mw)));
  if (state.on_mw > state.budget_mw) {
    return fmt::format("nodes that are on draw {} W while they are idle, and {}: no job starts",
                       watts(state.on_mw), cap);
  }
  if (!state.platform.says_what_jobs_draw()) {
    return fmt::format(
        "{}, and it is not known what a job draws (`idle_w`, `busy_w`): nobody "
        "waits for watts",
        cap);
  }
  return only_watched;
}

/// What holds now, if a corridor is told.
const CorridorLine* Controller::corridor_now() const {
  if (!corridor_) return nullptr;
  const auto next = std::ranges::upper_bound(*corridor_, clock_.now(), {}, &CorridorLine::at);
  return next == corridor_->begin() ? nullptr : &*std::prev(next);
}

Time Controller::next_corridor() const {
  if (!corridor_) return kNever;
  const auto next = std::ranges::upper_bound(*corridor_, clock_.now(), {}, &CorridorLine::at);
  return next == corridor_->end() ? kNever : next->at;
}

/// What the core has not heard of it: a policy that keeps a corridor keeps to the lower of both
/// upper bounds; others know of the cap alone.
void Controller::tell_power() {
  const CorridorLine* const line = corridor_now();
  const Time now = clock_.now();
  if (line == nullptr) {
    corridor_watch_.set_bounds(now, std::nullopt);
  } else {
    PowerBounds bounds{.low_mw = as_milliwatts(line->low_w)};
    if (std::isfinite(line->high_w)) bounds.high_mw = as_milliwatts(line->high_w);
    corridor_watch_.set_bounds(now, bounds);
  }
  const bool is_kept = line != nullptr && policy_->wants.corridor;
  const double low_w = is_kept ? line->low_w : low_w_;
  const double high_w = is_kept ? std::min(cap_w_, line->high_w) : cap_w_;
  event::CorridorChanged changed{low_w, high_w};
  if (is_kept) {
    const auto next = static_cast<std::size_t>(line - corridor_->data()) + 1;
    changed.coming = coming_bounds(*corridor_, next);
  }
  const State& state = core_.state();
  const bool is_as_told = state.corridor_low_w == low_w &&
                          (std::isfinite(high_w) ? state.budget_mw == as_milliwatts(high_w)
                                                 : state.budget_mw == State::kNoBudget) &&
                          state.coming_corridors == coming_corridors(changed);
  if (is_as_told) return;
  tell(changed);
}

/// A line of the corridor has begun.
void Controller::keep_corridor() {
  if (clock_.now() < corridor_due_) return;
  corridor_due_ = next_corridor();
  if (const CorridorLine* const line = corridor_now()) {
    spdlog::info("the power corridor is {}", range_text(*line));
  }
  tell_power();
}

/// From now on; nothing: none.
void Controller::set_corridor(const std::vector<CorridorLine>& lines) {
  open();
  corridor_.reset();
  if (!lines.empty()) {
    corridor_ = lines;
    low_w_ = 0;
    for (CorridorLine& line : *corridor_) line.at = later(clock_.now(), line.at - Time{});
  }
  write_power();
  if (lines.empty()) spdlog::info("there is no power corridor");
  corridor_due_ = {};
  if (lines.empty()) tell_power();
  keep_corridor();
}

void Controller::set_power_cap(double cap_w) {
  open();
  cap_w_ = cap_w;
  write_power();
  tell_power();
  spdlog::info("the power cap is {}", cap_text(cap_w));
}

/// Of the cap the core knows only what the corridor leaves of it.
void Controller::write_power() {
  Json power = Json::object();
  if (corridor_) power = {{"cap_w", bound_json(cap_w_)}, {"corridor", to_json(*corridor_)}};
  journal_.write_power(corridor_ ? power.dump() : "");
}

/// As the journal has it.
void Controller::recall_power() {
  const State& state = core_.state();
  cap_w_ = state.budget_mw == State::kNoBudget ? kAny : watts(state.budget_mw);
  const std::string text = journal_.power();
  low_w_ = text.empty() ? state.corridor_low_w : 0;
  if (text.empty()) return;
  const Json power = Json::parse(text);
  cap_w_ = power["cap_w"].is_null() ? kAny : power["cap_w"].get<double>();
  corridor_ = lines_from(power["corridor"], {.field = "corridor"});
}

/// What is drawn from now on, as far as is believed.
void Controller::watch_power() { corridor_watch_.note(clock_.now(), true_draw_mw(core_.state())); }

// ---- What jobs draw -----------------------------------------------------------------------------

double Controller::believed_w(const Job& job) const {
  const State& state = core_.state();
  return watts(idle_draw_mw(state, state.cells, job.holding) +
               drawn_mw(state, state.cells, job, job.holding));
}

std::optional<double> Controller::measured_w(JobId id) const {
  const auto its = draws_.find(id);
  return its == draws_.end() ? std::nullopt : std::optional(its->second.watts);
}

/// Is it another thing than what the core was told of this run of it?
bool Controller::is_other_draw(JobId id) const {
  const auto its = draws_.find(id);
  if (its == draws_.end() || its->second.watts <= 0) return false;
  const Job& job = core_.job(id);
  // What is measured during a resize is neither of the old size nor of the new one.
  const bool is_of_now = job.status == Status::running && job.doing == Doing::nothing &&
                         job.holding.count == its->second.nodes;
  if (!is_of_now) return false;
  const double now_w = its->second.watts / its->second.nodes, told_w = watts(job.power_mw);
  return !job.is_power_measured ||
         (std::abs(now_w - told_w) > 1 && std::abs(now_w - told_w) > 0.02 * told_w);
}

void Controller::note_draw(JobId id, Nodes nodes, double watts) {
  constexpr double kMostOfNode = 1e6;
  if (!(watts >= 0 && watts <= kMostOfNode * nodes)) return;
  const Job& job = core_.job(id);
  if (job.status != Status::running || job.holding.count != nodes) return;
  draws_[id] = {watts, nodes};
  if (is_other_draw(id)) other_draws_.insert(id);
}

void Controller::believe_draw(JobId id) {
  if (!jobs_.contains(id) || !is_other_draw(id)) return;
  const Draw& its = draws_.at(id);
  tell(event::Believed{id, its.watts / its.nodes, 0, 0});
}

void Controller::forget_draw(JobId id) {
  draws_.erase(id);
  other_draws_.erase(id);
}

/// What the settings say counts when they say another thing than before.
void Controller::take_power_cap() {
  if (!settings_.power_cap) return;
  const double said = settings_.power_cap->watts;
  if (journal_.power_cap() == cap_text(said)) {
    if (cap_w_ != said) {
      spdlog::info("the power cap is {}, as an operator said; the settings say {}, as before",
                   cap_text(cap_w_), cap_text(said));
    }
    return;
  }
  open();
  journal_.write_power_cap(cap_text(said));
  set_power_cap(said);
}

/// The same of the corridor. Its times are since it was told first.
void Controller::take_corridor() {
  if (!settings_.corridor) return;
  const std::string said = text_of_corridor(settings_.corridor->lines);
  if (journal_.said_corridor() == said) return;
  open();
  journal_.write_said_corridor(said);
  set_corridor(settings_.corridor->lines);
}

/// What is shown of it; null: there is none.
Json Controller::corridor_json() const {
  const CorridorLine* const line = corridor_now();
  if (line == nullptr) return {};
  const CorridorWatch::Figures figures = corridor_watch_.at(clock_.now());
  const Time next = next_corridor();
  return {{"low_w", line->low_w},
          {"high_w", bound_json(line->high_w)},
          {"until_s", next == kNever ? Json() : Json(to_seconds(clock_.wall(next)))},
          {"is_kept", policy_->wants.corridor},
          {"is_outside", figures.is_outside},
          {"outside_s", to_seconds(figures.outside)},
          {"outside_ws", figures.outside_ws},
          {"excursions", figures.excursions},
          {"violations", figures.violations}};
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
    set_power_cap(cap_w);
  }
  if (request.contains("corridor")) {
    if (!is_operator(client)) throw Refused("only operators may change the power corridor");
    const Place place{.field = "--corridor"};
    std::vector<CorridorLine> lines;
    if (request["corridor"] != "none") lines = lines_from(request["corridor"], place);
    if (!lines.empty() && lines.front().at != Time{}) {
      throw InputError(place, "nothing is said of the time before", "begin with a line of time 0");
    }
    check_corridor({lines, place}, state.platform);
    set_corridor(lines);
  }
  watch_power();
  const bool is_capped = state.budget_mw != State::kNoBudget;
  const auto if_capped = [&](std::int64_t milliwatts) {
    return is_capped ? Json(watts(milliwatts)) : Json();
  };
  const std::int64_t reserved_mw = state.booked_power_mw(state.now);
  Json answer{{"ok", true},
              {"cap_w", bound_json(cap_w_)},
              {"reserved_w", if_capped(reserved_mw)},
              {"idle_w", watts(state.on_mw)},
              {"jobs_w", watts(state.jobs_mw)},
              {"promised_w", if_capped(state.claimed_mw)},
              {"free_w", if_capped(state.free_power_mw() - reserved_mw)},
              {"drawn_w", watts(true_draw_mw(state))}};
  double measured = 0;
  Json jobs = Json::array();
  for (const JobId id : state.running) {
    const auto its = measured_w(id);
    if (!its) continue;
    measured += *its;
    const Job& job = core_.job(id);
    jobs.push_back({{"job", number_of(id)},
                    {"nodes", job.holding.count},
                    {"believed_w", believed_w(job)},
                    {"measured_w", *its}});
  }
  answer["measured_w"] = measured;
  answer["measured_jobs"] = std::move(jobs);
  answer["corridor"] = corridor_json();
  if (const std::string warning = power_cap_warning(); !warning.empty())
    answer["warning"] = warning;
  return answer;
}

}  // namespace ductile
