#include "policies/registry.hpp"

#include <algorithm>
#include <iterator>

#include "base/decimal.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

std::variant<Decimal, std::string> checked(const std::string& policy, const ParameterInfo& info,
                                           const std::string& text) {
  const Place place{"", 0, "policy " + policy + ": " + info.name};
  if (info.type == ParameterType::choice) {
    if (std::ranges::find(info.choices, text) != info.choices.end()) return text;
    throw InputError(place, "there is no '" + text + "'", "use one of " + listed(info.choices));
  }
  if (info.type == ParameterType::text) return text;
  const bool integer = info.type == ParameterType::integer;
  const auto value = Decimal::parse(text);
  if (!value || *value < Decimal(info.min) || Decimal(info.max) < *value ||
      (integer && !value->is_whole())) {
    std::string remedy = std::string("use a ") + (integer ? "whole number" : "number") + " from " +
                         to_text(Decimal(info.min)) + " to " + to_text(Decimal(info.max)) +
                         (info.unit.empty() ? "" : " " + info.unit);
    if (!value && parse_number<double>(text)) {
      remedy += ", of at most " + std::to_string(Decimal::kMostDigits) + " digits";
    }
    throw InputError(place, "'" + text + "' is not possible", remedy);
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
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::string name(item.substr(0, item.find('=')));
    const auto info = std::ranges::find(table, name, &ParameterInfo::name);
    if (info == table.end()) {
      std::vector<std::string> names;
      for (const ParameterInfo& known : table) names.push_back(known.name);
      throw InputError({"", 0, "policy " + policy}, "there is no parameter '" + name + "'",
                       "it has " + listed(names));
    }
    if (item.size() <= name.size() + 1) {
      throw InputError({"", 0, "policy " + policy + ": " + name}, "a value is missing",
                       "write " + name + "=" + info->fallback);
    }
    if (result.is_given(name)) {
      throw InputError({"", 0, "policy " + policy + ": " + name}, "given twice", "give it once");
    }
    result.give(name, checked(policy, *info, std::string(item.substr(name.size() + 1))));
  }
  return result;
}

}  // namespace

std::vector<PolicyInfo> built_in_policies() {
  return {
#define POLICY(name) name(),
#include "policies/policies.inc"
#undef POLICY
  };
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

constexpr std::array<std::string_view, 2> kNoYesWords{"no", "yes"};

const std::vector<ParameterInfo>& common_parameters() {
  static const std::vector<ParameterInfo> table = [] {
    std::vector<std::string_view> moving;
    for (std::size_t i = 0; i < kQueueOrderWords.size(); ++i) {
      if (changes_with_time(static_cast<QueueOrder>(i))) moving.push_back(kQueueOrderWords[i]);
    }
    const ParameterInfo order = choice_parameter("order", kQueueOrderWords, "fcfs",
                                                 "queue order among jobs of equal priority");
    const auto duration = [](const char* name, const char* fallback, const std::string& summary) {
      return ParameterInfo{.name = name,
                           .type = ParameterType::duration,
                           .fallback = fallback,
                           .min = 0,
                           .max = 1e9,
                           .unit = "s",
                           .summary = summary};
    };
    const ParameterInfo half_life = duration("half_life", "604800",
                                             "of what users have used, in the orders fairshare and "
                                             "multifactor; 0: it never fades");
    const ParameterInfo shares{
        .name = "shares",
        .type = ParameterType::text,
        .fallback = "none",
        .summary =
            "of users by number, in the orders fairshare and multifactor, like "
            "1001:4+1002:0.5; all others have 1"};
    const ParameterInfo period = duration("priority_period", "0",
                                          "how often an order that changes with time (" +
                                              listed(moving) + ") is sorted anew; 0: at each pass");
    const ParameterInfo slack{.name = "slack",
                              .type = ParameterType::number,
                              .fallback = "6",
                              .min = 0,
                              .max = 1e9,
                              .unit = "backlogs",
                              .summary =
                                  "in the order area, jobs are overdue that have waited longer "
                                  "than so many times the backlog and grace"};
    const ParameterInfo grace =
        duration("grace", "14400", "in the order area, no job is overdue before that");
    const auto weight = [](const std::string& of, const std::string& what) {
      return ParameterInfo{.name = "weight_" + of,
                           .type = ParameterType::integer,
                           .fallback = "0",
                           .min = 0,
                           .max = 1e9,
                           .summary = "in the order multifactor, of " + what};
    };
    const ParameterInfo max_age =
        duration("max_age", "604800", "in the order multifactor, age counts in full after that");
    const ParameterInfo dampening{.name = "fairshare_dampening",
                                  .type = ParameterType::number,
                                  .fallback = "1",
                                  .min = 1,
                                  .max = 1e9,
                                  .unit = "shares",
                                  .summary =
                                      "in the order multifactor, the factor of fair share is "
                                      "halved by a use of so many times the share"};
    return std::vector{order,
                       period,
                       half_life,
                       shares,
                       slack,
                       grace,
                       weight("age", "how long a job has waited"),
                       max_age,
                       weight("fairshare", "what its user has not used of his share"),
                       dampening,
                       weight("size", "how many of the nodes it asks for"),
                       choice_parameter("favor_small", kNoYesWords, "no",
                                        "in the order multifactor, small jobs have more for size"),
                       choice_parameter("small_relative_to_time", kNoYesWords, "no",
                                        "in the order multifactor, size is nodes divided by the "
                                        "minutes asked for"),
                       weight("partition", "the priority of its partition"),
                       weight("qos", "the priority of its quality of service")};
  }();
  return table;
}

std::vector<ParameterInfo> common_parameters(const PolicyInfo& info) {
  std::vector<ParameterInfo> table = common_parameters();
  for (const auto& [name, fallback] : info.defaults) {
    std::ranges::find(table, name, &ParameterInfo::name)->fallback = fallback;
  }
  return table;
}

const PolicyInfo& Registry::find(std::string_view name) const {
  const auto info = std::ranges::find(policies, name, &PolicyInfo::name);
  if (info != policies.end()) return *info;
  std::vector<std::string> names;
  for (const PolicyInfo& known : policies) names.push_back(known.name);
  for (const OutsidePolicies& known : outside) names.push_back(known.form);
  throw InputError("there is no policy '" + std::string(name) + "'", "there are " + listed(names));
}

std::map<std::string, std::string> Parameters::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : values_) {
    const auto* const number = std::get_if<Decimal>(&value);
    texts[name] = number ? to_text(*number) : std::get<std::string>(value);
  }
  return texts;
}

namespace {

void check_word(std::string_view text) {
  // They are one word of a log and of a snapshot, where "-" says that there are none.
  const auto is_blank = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (text == "-" || std::ranges::any_of(text, is_blank)) {
    throw InputError({"", 0, "policy"},
                     "'" + printable(text) + "' " +
                         (text == "-" ? "stands for none" : "has a blank or a control character"),
                     "write NAME, or NAME:parameter=value,... in one word");
  }
  if (text.ends_with(',')) {
    throw InputError({"", 0, "policy"}, "'" + printable(text) + "' ends with a comma",
                     "write another parameter=value behind it, or leave it out");
  }
}

// "python:easy.py:Easy,depth=2,order=sjf", apart.
struct OutsideText {
  std::string name{}, what{};
  std::map<std::string, std::string> own{};
  std::string common{};  // "order=sjf"
};

OutsideText outside_text(std::string_view text) {
  OutsideText its;
  its.name = next_part(text, ':');
  its.what = next_part(text, ',');
  while (!text.empty()) {
    const std::string_view item = next_part(text, ',');
    const std::string parameter(item.substr(0, item.find('=')));
    if (std::ranges::find(common_parameters(), parameter, &ParameterInfo::name) !=
        common_parameters().end()) {
      its.common += (its.common.empty() ? "" : ",") + std::string(item);
      continue;
    }
    if (item.size() <= parameter.size() + 1 || parameter.empty()) {
      throw InputError({"", 0, "policy " + its.name + ": " + parameter}, "a value is missing",
                       "write " + (parameter.empty() ? "parameter" : parameter) + "=VALUE");
    }
    if (!its.own.emplace(parameter, item.substr(parameter.size() + 1)).second) {
      throw InputError({"", 0, "policy " + its.name + ": " + parameter}, "given twice",
                       "give it once");
    }
  }
  return its;
}

// Those that all policies have.
void take_common(const std::string& name, const Parameters& parameters, Traits& traits) {
  traits.order = chosen<QueueOrder>(parameters, "order", kQueueOrderWords);
  traits.priority_period = seconds(parameters.number("priority_period"));
  traits.overdue = {parameters.number("slack"), seconds(parameters.number("grace"))};
  const auto weight = [&](const std::string& of) {
    return static_cast<std::uint32_t>(parameters.number("weight_" + of));
  };
  const auto is_yes = [&](const std::string& what) {
    return chosen<bool>(parameters, what, kNoYesWords);
  };
  traits.multifactor = {.weight_age = weight("age"),
                        .weight_fairshare = weight("fairshare"),
                        .weight_size = weight("size"),
                        .weight_partition = weight("partition"),
                        .weight_qos = weight("qos"),
                        .max_age = seconds(parameters.number("max_age")),
                        .favor_small = is_yes("favor_small"),
                        .small_relative_to_time = is_yes("small_relative_to_time"),
                        .fairshare_dampening = parameters.number("fairshare_dampening")};
  traits.fair_share = {
      .half_life = seconds(parameters.number("half_life")),
      .shares = parse_shares(parameters.choice("shares"), {"", 0, "policy " + name + ": shares"})};
}

}  // namespace

const OutsidePolicies* Registry::find_outside(std::string_view text) const {
  const auto its =
      std::ranges::find(outside, text.substr(0, text.find(':')), &OutsidePolicies::name);
  return its == outside.end() ? nullptr : &*its;
}

Parameters Registry::parameters(std::string_view text) const {
  check_word(text);
  if (find_outside(text)) {
    const OutsideText its = outside_text(text);
    Parameters parameters = read_parameters(its.name, its.common, common_parameters());
    for (const auto& [parameter, value] : its.own) parameters.set(parameter, value);
    return parameters;
  }
  const std::string name(text.substr(0, text.find(':')));
  const PolicyInfo& info = find(name);
  std::vector<ParameterInfo> table = info.parameters;
  std::ranges::copy(common_parameters(info), std::back_inserter(table));
  const std::string_view settings =
      name.size() < text.size() ? text.substr(name.size() + 1) : std::string_view{};
  return read_parameters(name, settings, table);
}

std::shared_ptr<const Policy> Registry::make(std::string_view text) const {
  if (const OutsidePolicies* const from = find_outside(text)) {
    check_word(text);
    const OutsideText its = outside_text(text);
    const std::shared_ptr<Policy> policy = from->make(its.what, its.own);
    policy->traits.settings = std::string(text);
    const auto own_order = static_cast<std::size_t>(policy->traits.order);
    const auto table =
        common_parameters({.defaults = {{"order", std::string(kQueueOrderWords[own_order])}}});
    take_common(its.name, read_parameters(its.name, its.common, table), policy->traits);
    return policy;
  }
  Parameters parameters = this->parameters(text);
  const std::string name(text.substr(0, text.find(':')));
  const PolicyInfo& info = find(name);
  parameters.set_others([this](std::string_view other) { return make(other); });

  const std::shared_ptr<Policy> policy = info.make(parameters);
  Traits& traits = policy->traits;
  traits.settings = std::string(text);
  if (policy->portfolio()) return policy;
  take_common(name, parameters, traits);
  return policy;
}

}  // namespace ductile
