// The table of policies: the command line, experiment files, documentation and errors come from it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/decimal.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {

enum class ParameterType : std::uint8_t { integer, number, duration, choice, text };

/// One parameter of a policy.
struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::number;
  std::string fallback;                   // the default, as a user would write it
  double min = 0, max = 0;                // numbers, integers, durations (s); both included
  std::vector<std::string> choices = {};  // choice
  std::string unit = "";
  std::string summary = "";
  std::string source = "";  // the paper it comes from; empty: ours
};

/// Checked values of the parameters of one policy.
class Parameters {
 public:
  /// As it is written: for what counts, durations or work are compared with.
  const Decimal& decimal(const std::string& name) const {
    return std::get<Decimal>(values_.at(name));
  }
  /// As a real number, for formulas.
  double number(const std::string& name) const { return static_cast<double>(decimal(name)); }
  /// Of a choice, or a text.
  const std::string& choice(const std::string& name) const {
    return std::get<std::string>(values_.at(name));
  }
  void set(const std::string& name, std::variant<Decimal, std::string> value) {
    values_[name] = std::move(value);
  }
  /// The same of one that somebody has written; the others are as they are by default.
  void give(const std::string& name, std::variant<Decimal, std::string> value) {
    set(name, std::move(value));
    given_.insert(name);
  }
  bool is_given(const std::string& name) const { return given_.contains(name); }
  /// All of them by name, as they could be written.
  std::map<std::string, std::string> texts() const;
  /// For a policy that is made of others.
  const PolicyMaker& others() const { return others_; }
  void set_others(PolicyMaker others) { others_ = std::move(others); }

 private:
  std::map<std::string, std::variant<Decimal, std::string>> values_;
  std::set<std::string> given_;
  PolicyMaker others_;
};

/// A choice as a value of the enumeration whose words these are, in its order.
template <class E, std::size_t N>
E chosen(const Parameters& parameters, const std::string& name,
         const std::array<std::string_view, N>& words) {
  return static_cast<E>(std::ranges::find(words, parameters.choice(name)) - words.begin());
}

/// A parameter that is one of some words.
template <std::size_t N>
ParameterInfo choice_parameter(const std::string& name,
                               const std::array<std::string_view, N>& words,
                               std::string_view fallback, const std::string& summary,
                               const std::string& source = "") {
  return {.name = name,
          .type = ParameterType::choice,
          .fallback = std::string(fallback),
          .choices = {words.begin(), words.end()},
          .summary = summary,
          .source = source};
}

/// `tick`, the period of `tick()` (scheduling/blocks.hpp), as several policies have it.
ParameterInfo tick_parameter(const std::string& fallback);

/// `expand_benefit`, the rule of `may_expand` (scheduling/resizing.hpp), as all policies have it
/// that expand jobs; and what was chosen.
ParameterInfo expand_benefit_parameter();
Benefit expand_benefit(const Parameters& parameters);

/// A policy in the table.
struct PolicyInfo {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<ParameterInfo> parameters;
  /// The common parameters are set by the registry; of a portfolio by whoever makes it.
  std::function<std::shared_ptr<Policy>(const Parameters&)> make;
  /// Of common parameters, by name: the defaults that this policy has and others have not.
  std::map<std::string, std::string> defaults{};
};

/// Policies that are in no table, since they are written outside: "NAME:WHAT,parameter=value,...".
struct OutsidePolicies {
  std::string name;  // the word before the first colon
  std::string form;  // all of such a text, for errors
  /// Makes the one that is called `what`. `own` are its parameters as they are written: those that
  /// are not common to all policies. Its traits say its order, if none is asked for. Throws
  /// InputError.
  std::function<std::shared_ptr<Policy>(const std::string& what,
                                        const std::map<std::string, std::string>& own)>
      make;
  /// As fork(2), for runs that need a copy of this process each, as policies of one process would
  /// take turns; null: they need none.
  pid_t (*fork)() = nullptr;
};

template <class P>
std::shared_ptr<Policy> make_policy(const Parameters& parameters) {
  return std::make_shared<P>(parameters);
}

/// Those of policies.inc.
std::vector<PolicyInfo> built_in_policies();
/// Parameters that every policy has, with the defaults of most of them.
const std::vector<ParameterInfo>& common_parameters();
/// The same with the defaults of this one.
std::vector<ParameterInfo> common_parameters(const PolicyInfo& info);

/// The policies that there are. A value: a program makes one, adds what it likes, and passes it to
/// whoever makes policies.
struct Registry {
  std::vector<PolicyInfo> policies = built_in_policies();
  std::vector<OutsidePolicies> outside = {};

  // These throw `InputError` that names what is wrong and what there is.

  const PolicyInfo& find(std::string_view name) const;
  /// Who makes such a policy; null: it is one of the table, or none.
  const OutsidePolicies* find_outside(std::string_view text) const;
  /// What the parameters of "NAME" or "NAME:parameter=value,..." are, those not given as well.
  Parameters parameters(std::string_view text) const;
  /// Makes a policy from such a text.
  std::shared_ptr<const Policy> make(std::string_view text) const;
  /// The same, for who knows no registry. It has a copy of this one.
  PolicyMaker maker() const {
    return [registry = *this](std::string_view text) { return registry.make(text); };
  }
};

/// One of the built-in ones, for tests and benchmarks.
inline std::shared_ptr<const Policy> make_policy(std::string_view text) {
  return Registry().make(text);
}

// The functions of policies.inc. A policy's file defines its own.
#define POLICY(name) PolicyInfo name();
#include "policies/policies.inc"
#undef POLICY

}  // namespace ductile
