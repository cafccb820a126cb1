#include "policies/registry.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string trimmed(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// A finite number and nothing else.
std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::variant<double, std::string> checked(const std::string& policy, const ParameterInfo& info,
                                          const std::string& text) {
  const Place place{"", 0, "policy " + policy + ": " + info.name};
  if (info.type == ParameterType::choice) {
    if (std::ranges::find(info.choices, text) != info.choices.end()) return text;
    throw InputError(place, "there is no '" + text + "'", "use one of " + joined(info.choices));
  }
  const auto value = read_number(text);
  const std::string range = trimmed(info.min) + " to " + trimmed(info.max);
  const bool whole = value && std::floor(*value) == *value;
  if (!value || *value < info.min || *value > info.max ||
      (info.type == ParameterType::integer && !whole)) {
    const bool integer = info.type == ParameterType::integer;
    throw InputError(place, "'" + text + "' is not possible",
                     std::string("use a ") + (integer ? "whole number" : "number") + " from " +
                         range + (info.unit.empty() ? "" : " " + info.unit));
  }
  return *value;
}

// The parameters of "a=b,c=d", checked against a table, with defaults for the rest.
Parameters read_parameters(const std::string& policy, std::string_view text,
                           const std::vector<ParameterInfo>& table) {
  Parameters result;
  for (const ParameterInfo& info : table) {
    result.set(info.name, checked(policy, info, info.fallback));
  }
  std::set<std::string> seen;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::string name(item.substr(0, item.find('=')));
    const auto info = std::ranges::find(table, name, &ParameterInfo::name);
    if (info == table.end()) {
      std::vector<std::string> names;
      for (const ParameterInfo& known : table) names.push_back(known.name);
      throw InputError({"", 0, "policy " + policy}, "there is no parameter '" + name + "'",
                       "it has " + joined(names));
    }
    if (item.size() <= name.size() + 1) {
      throw InputError({"", 0, "policy " + policy + ": " + name}, "a value is missing",
                       "write " + name + "=" + info->fallback);
    }
    if (!seen.insert(name).second) {
      throw InputError({"", 0, "policy " + policy + ": " + name}, "given twice", "give it once");
    }
    result.set(name, checked(policy, *info, std::string(item.substr(name.size() + 1))));
  }
  return result;
}

}  // namespace

const std::vector<PolicyInfo>& policies() {
  static const std::vector<PolicyInfo> table{
#define POLICY(name) name(),
#include "policies/policies.inc"
#undef POLICY
  };
  return table;
}

ParameterInfo tick_parameter(const std::string& fallback) {
  return {.name = "tick",
          .type = ParameterType::duration,
          .fallback = fallback,
          .min = 0,
          .max = 1e9,
          .unit = "s",
          .summary = "also plan at multiples of this time; 0: only when something happens"};
}

constexpr std::array<std::string_view, 2> kBenefitWords{"on", "off"};

ParameterInfo expand_benefit_parameter() {
  return choice_parameter("expand_benefit", kBenefitWords, "on",
                          "an expansion must bring the end forward");
}

Benefit expand_benefit(const Parameters& parameters) {
  return chosen<Benefit>(parameters, "expand_benefit", kBenefitWords);
}

const std::vector<ParameterInfo>& common_parameters() {
  static const std::vector<ParameterInfo> table = [] {
    const ParameterInfo order = choice_parameter("order", kQueueOrderWords, "fcfs",
                                                 "queue order among jobs of equal priority");
    const ParameterInfo period{.name = "priority_period",
                               .type = ParameterType::duration,
                               .fallback = "0",
                               .min = 0,
                               .max = 1e9,
                               .unit = "s",
                               .summary =
                                   "how often an order that changes with time (wfp3, unicef) "
                                   "is sorted anew; 0: at each pass"};
    return std::vector{order, period};
  }();
  return table;
}

std::shared_ptr<const Policy> make_policy(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  const auto info = std::ranges::find(policies(), name, &PolicyInfo::name);
  if (info == policies().end()) {
    std::vector<std::string> names;
    for (const PolicyInfo& known : policies()) names.push_back(known.name);
    throw InputError("there is no policy '" + name + "'", "there are " + joined(names));
  }
  std::vector<ParameterInfo> table = info->parameters;
  table.insert(table.end(), common_parameters().begin(), common_parameters().end());
  const std::string_view settings =
      name.size() < text.size() ? text.substr(name.size() + 1) : std::string_view{};
  const Parameters parameters = read_parameters(name, settings, table);

  const std::shared_ptr<Policy> policy = info->make(parameters);
  policy->order = chosen<QueueOrder>(parameters, "order", kQueueOrderWords);
  policy->priority_period = seconds(parameters.number("priority_period"));
  policy->settings = std::string(text);
  return policy;
}

}  // namespace ductile
