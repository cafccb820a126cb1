#include "support/random_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ductile::testing {
namespace {

std::string value(const ParameterInfo& info, Draws& draws) {
  if (draws.chance(0.3)) return info.fallback;
  if (info.type == ParameterType::choice) return info.choices[draws.below(info.choices.size())];
  if (info.name == "of") {  // of a portfolio
    return std::array{"fcfs|easy+sjf|mebf+gap=shrink+", "dbes|elastic+victim=gain",
                      "equipartition|fpsma+smallest|conservative"}[draws.below(3)];
  }
  if (info.name == "max_slowdown")
    return std::array{"2", "mean", "1.5+A:p90+B:inf"}[draws.below(3)];
  if (info.type == ParameterType::text) return "0:2+3:0.25";  // shares
  double number = 0;
  if (info.type == ParameterType::duration) {
    number = std::array{0.0, 2.5, 7.0, 30.0}[draws.below(4)];
  } else if (draws.chance(0.3)) {
    number = draws.chance(0.5) ? info.min : info.max;
  } else {
    number = draws.uniform(0, 2 * std::stod(info.fallback) + 2);
  }
  number = std::clamp(number, info.min, info.max);
  return std::to_string(info.type == ParameterType::integer ? std::floor(number) : number);
}

std::string drawn(const PolicyInfo& policy, Draws& draws) {
  std::string text = policy.name;
  char separator = ':';
  for (const auto* table : {&policy.parameters, &common_parameters()}) {
    for (const ParameterInfo& info : *table) {
      text += separator + info.name + "=" + value(info, draws);
      separator = ',';
    }
  }
  return text;
}

}  // namespace

std::string random_parameters(const PolicyInfo& policy, Draws& draws) {
  for (;;) {
    std::string text = drawn(policy, draws);
    try {
      (void)make_policy(text);
      return text;
    } catch (const InputError&) {  // each value is allowed, but not all of them together
    }
  }
}

}  // namespace ductile::testing
