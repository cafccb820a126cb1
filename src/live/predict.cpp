#include "live/predict.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "live/policy_process.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLongestTime = std::int64_t{3650} * 86'400'000'000;  // us

std::int64_t number_in(const Json& request, const char* field, std::int64_t most) {
  const Json value = request.value(field, Json(0U));
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    throw InputError(fmt::format("\"{}\" is a number up to {}", field, most), "");
  }
  return value.get<std::int64_t>();
}

Json time_or_null(Time time, Duration ahead) {
  return time == kNever ? Json() : Json(to_seconds(time + ahead));
}

Json fate(const Forecast& its, Duration ahead) {
  return {{"nodes", its.nodes == 0 ? Json() : Json(its.nodes)},
          {"start_s", time_or_null(its.start, ahead)},
          {"end_s", time_or_null(its.end, ahead)},
          {"planned", its.planned}};
}

}  // namespace

WhatIf what_if_from(const Json& request, const Core& core, Time now, const Registry& registry) {
  const State& state = core.state();
  WhatIf change;
  change.fewer_nodes = static_cast<Nodes>(number_in(request, "fewer_nodes", state.platform.nodes));
  if (const Json policy = request.value("policy", Json()); policy.is_string()) {
    const auto name = policy.get<std::string>();
    // Users have no code of theirs run by the controller.
    if (registry.find_outside(name)) {
      throw InputError("policy: what '" + name + "' would do is not asked", "name one of ours");
    }
    change.policy = make_elsewhere(registry, name, {});
    if (change.policy->portfolio()) {
      throw InputError("policy: what a portfolio would choose is not looked ahead for",
                       "name one of its members");
    }
    const std::string lacks = lacking(state.capabilities, change.policy->traits.needs);
    if (!lacks.empty()) throw InputError("policy: this world lacks " + lacks, "name another one");
  }
  if (const auto nodes = static_cast<Nodes>(number_in(request, "nodes", state.platform.nodes))) {
    const Duration time{number_in(request, "time_us", kLongestTime)};
    if (time == Duration{})
      throw InputError("the job that is to be added has no time limit", "give one");
    JobSpec spec;
    spec.submitted = now;
    spec.walltime = time;
    spec.size = exactly(nodes);
    spec.preferred = nodes;
    change.another = spec;
  }
  return change;
}

Json prediction(const Core& core, const Policy& policy, Time now, Duration ahead,
                const std::optional<std::set<std::uint64_t>>& wanted, const WhatIf& change,
                Duration most) {
  const auto run = [&](const WhatIf& what) {
    const auto end = std::chrono::steady_clock::now() + most;
    return forecast(core, policy, now, what,
                    [&] { return std::chrono::steady_clock::now() > end; });
  };
  const bool changes = change.fewer_nodes > 0 || change.policy || change.another;
  const std::vector<Forecast> rows = run({});
  const std::vector<Forecast> changed = changes ? run(change) : std::vector<Forecast>{};
  std::map<JobId, Forecast> otherwise;
  for (const Forecast& its : changed) otherwise[its.job] = its;

  Json jobs = Json::array();
  const auto add = [&](const Forecast& its) {
    const std::uint64_t number = core.job(its.job).spec.name;
    if (wanted && !wanted->contains(number)) return;
    Json row{{"job", number}, {"state", its.runs ? "RUNNING" : "PENDING"}};
    row.update(fate(its, ahead));
    const std::uint32_t adaptive = core.job(its.job).adaptive;
    const bool has_model = adaptive != Job::kNoRow;
    const Adaptive known = has_model ? core.state().adaptive[adaptive] : Adaptive{};
    row["model"] = has_model ? Json(to_text(known.spec.speedup)) : Json();
    row["mtct"] = known.mtct > 0 ? Json(known.mtct) : Json();
    if (changes) row["changed"] = fate(otherwise[its.job], ahead);
    jobs.push_back(std::move(row));
  };
  std::ranges::for_each(rows, add);
  if (wanted) {
    // Nothing is known of what is held, or waits for something.
    core.state().jobs.for_each([&](JobId id) {
      if (core.job(id).status == Status::held) add({.job = id});
    });
  }
  Json answer{{"ok", true}, {"now_s", to_seconds(now + ahead)}, {"policy", core.traits().settings}};
  answer["jobs"] = std::move(jobs);
  if (change.another) answer["added"] = fate(otherwise[JobId{core.state().jobs.size()}], ahead);
  return answer;
}

}  // namespace ductile
