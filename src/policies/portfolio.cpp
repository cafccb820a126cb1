// Several policies of which one rules at a time: that under which the jobs that are there are
// believed to fare best. Who looks ahead is the world (simulation/look_ahead.hpp); until it has,
// the first one decides.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policies/registry.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostMembers = 16;

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw InputError({"", 0, "policy portfolio: of"}, what, remedy);
}

// Common parameters that were written: those of each member that does not say otherwise.
std::vector<std::pair<std::string, std::string>> common_ones(const Parameters& parameters) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const ParameterInfo& info : common_parameters()) {
    if (!parameters.is_given(info.name)) continue;
    const bool is_word = info.type == ParameterType::choice || info.type == ParameterType::text;
    given.emplace_back(
        info.name, is_word ? parameters.choice(info.name) : to_text(parameters.decimal(info.name)));
  }
  return given;
}

// "elastic+victim=gain+sjf" as "elastic:victim=gain,order=sjf", with what is common to all. What is
// neither a parameter nor an order belongs to the value before it: "mebf+gap=shrink+".
std::string settings_of(std::string_view member, const Parameters& parameters) {
  std::string text(member.substr(0, member.find('+')));
  if (text.empty()) refuse("a member has no name", "write it like easy|elastic+victim=gain");
  std::vector<std::pair<std::string, std::string>> given;
  for (std::size_t plus = text.size(); plus < member.size();) {
    const std::size_t next = std::min(member.find('+', plus + 1), member.size());
    const std::string part(member.substr(plus + 1, next - plus - 1));
    const std::size_t equals = part.find('=');
    if (std::ranges::find(kQueueOrderWords, part) != kQueueOrderWords.end()) {
      given.emplace_back("order", part);
    } else if (equals != std::string::npos) {
      given.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else if (!given.empty()) {
      given.back().second += "+" + part;
    } else {
      const std::vector<std::string> orders(kQueueOrderWords.begin(), kQueueOrderWords.end());
      refuse("'" + part + "' of the member '" + std::string(member) +
                 "' is neither a parameter nor an order",
             "write +parameter=value, or one of " + listed(orders));
    }
    plus = next;
  }
  for (auto& common : common_ones(parameters)) {
    const auto is_it = [&](const auto& its) { return its.first == common.first; };
    if (std::ranges::none_of(given, is_it)) given.push_back(std::move(common));
  }
  char separator = ':';
  for (const auto& [name, value] : given) {
    text.append(1, std::exchange(separator, ',')).append(name).append("=").append(value);
  }
  return text;
}

std::vector<std::shared_ptr<const Policy>> members_of(const Parameters& parameters) {
  std::vector<std::shared_ptr<const Policy>> members;
  std::string_view rest = parameters.choice("of");
  if (rest.ends_with('|')) refuse("a member has no name", "leave out the last |");
  while (!rest.empty()) {
    const std::string settings = settings_of(next_part(rest, '|'), parameters);
    auto member = parameters.others()(settings);
    if (member->portfolio()) refuse("a portfolio has no portfolio in it", "name its members");
    for (const auto& other : members) {
      if (other->traits.settings == settings) {
        refuse("'" + settings + "' is there twice", "name each member once");
      }
    }
    members.push_back(std::move(member));
  }
  if (members.size() > kMostMembers) {
    refuse("there are " + std::to_string(members.size()) + " members",
           "name at most " + std::to_string(kMostMembers));
  }
  return members;
}

class PortfolioPolicy final : public Policy {
 public:
  explicit PortfolioPolicy(const Parameters& parameters) {
    its_.members = members_of(parameters);
    its_.goal = chosen<Goal>(parameters, "goal", kGoalWords);
    its_.weights = {parameters.number("w_turnaround"), parameters.number("w_slowdown"),
                    parameters.number("w_longest")};
    its_.hysteresis = parameters.number("hysteresis");
    its_.every = seconds(parameters.number("every"));
    its_.shift = parameters.number("shift");
    its_.check = seconds(parameters.number("check"));
    its_.horizon = seconds(parameters.number("horizon"));
    its_.most_jobs = static_cast<std::uint32_t>(parameters.number("most_jobs"));
    its_.most_passes = static_cast<std::uint64_t>(parameters.number("most_passes"));
    const Outlook& weights = its_.weights;
    if (its_.goal == Goal::weighted &&
        weights.turnaround_s + weights.slowdown + weights.longest_wait_s <= 0) {
      throw InputError({"", 0, "policy portfolio: goal"}, "all weights are 0",
                       "let one of w_turnaround, w_slowdown and w_longest be more");
    }
    // It is its first member, in a world that can do what any of them needs.
    traits = its_.members.front()->traits;
    for (const auto& member : its_.members) {
      const Needs& needs = member->traits.needs;
      Needs& all = traits.needs;
      all.resizes_per_job = std::max(all.resizes_per_job, needs.resizes_per_job);
      all.power_control = all.power_control || needs.power_control;
      all.suspends = all.suspends || needs.suspends;
      all.parts = all.parts || needs.parts;
      wants.mtct = wants.mtct || member->wants.mtct;
      wants.corridor = wants.corridor || member->wants.corridor;
      wants.contention = wants.contention || member->wants.contention;
      wants.moves = wants.moves || member->wants.moves;
    }
  }

  void schedule(Pass& pass) const override { its_.members.front()->schedule(pass); }
  const Portfolio* portfolio() const override { return &its_; }

 private:
  Portfolio its_;
};

ParameterInfo weight(const char* name, const std::string& of) {
  return {.name = name,
          .type = ParameterType::number,
          .fallback = "1",
          .min = 0,
          .max = 1e6,
          .summary = "goal=weighted: how much " + of + " counts"};
}

}  // namespace

PolicyInfo portfolio() {
  return {
      .name = "portfolio",
      .summary = "several policies; the one that looking ahead finds best rules",
      .source = "",
      .parameters =
          {{.name = "of",
            .type = ParameterType::text,
            .fallback = "easy|elastic",
            .summary = "the policies, at most 16; + stands before each of their parameters, or an "
                       "order: easy+sjf|elastic+victim=gain. The first one begins"},
           choice_parameter("goal", kGoalWords, "turnaround",
                            "what shall be small: the mean turnaround, the mean bounded slowdown "
                            "(10 s), the longest wait, or the weighted mean of their ratios to "
                            "those under who rules"),
           {.name = "every",
            .type = ParameterType::duration,
            .fallback = "3600",
            .min = 0,
            .max = 1e9,
            .unit = "s",
            .summary = "how often it looks ahead while jobs wait; 0: not because of time"},
           {.name = "shift",
            .type = ParameterType::number,
            .fallback = "2",
            .min = 0,
            .max = 1e6,
            .summary = "also when so many times more or fewer jobs wait, or more or less work, "
                       "than when it looked last; 0: not because of that"},
           {.name = "check",
            .type = ParameterType::duration,
            .fallback = "300",
            .min = 0,
            .max = 1e9,
            .unit = "s",
            .summary = "not more often than this"},
           {.name = "horizon",
            .type = ParameterType::duration,
            .fallback = "86400",
            .min = 0,
            .max = 1e9,
            .unit = "s",
            .summary = "how far it looks; 0: until all jobs that are there have ended. What is not "
                       "over by then is planned"},
           {.name = "hysteresis",
            .type = ParameterType::number,
            .fallback = "0.02",
            .min = 0,
            .max = 1,
            .summary = "another one rules if it is better by more than this share"},
           weight("w_turnaround", "the mean turnaround"),
           weight("w_slowdown", "the mean bounded slowdown"),
           weight("w_longest", "the longest wait"),
           {.name = "most_jobs",
            .type = ParameterType::integer,
            .fallback = "200",
            .min = 1,
            .max = 1e6,
            .unit = "jobs",
            .summary = "so many waiting jobs, the first ones, are looked at"},
           {.name = "most_passes",
            .type = ParameterType::integer,
            .fallback = "1000",
            .min = 1,
            .max = 1e9,
            .unit = "passes",
            .summary = "so many of each policy are lived through at most; then, as at the horizon, "
                       "what is not over is planned"}},
      .make = make_policy<PortfolioPolicy>};
}

}  // namespace ductile
