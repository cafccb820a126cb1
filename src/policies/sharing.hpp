// Parameters that policies have under which jobs share nodes.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "policies/registry.hpp"

namespace ductile {

inline constexpr std::array<std::string_view, 2> kSwitchWords{"on", "off"};

inline ParameterInfo sharing_factor_parameter(const std::string& fallback) {
  return {.name = "sharing_factor",
          .type = ParameterType::number,
          .fallback = fallback,
          .min = 0,
          .max = 1,
          .summary = "share of a node's cores that may be taken from a mate",
          .source = "D'Amico et al. 2019"};
}

inline ParameterInfo mates_parameter() {
  return {.name = "mates",
          .type = ParameterType::integer,
          .fallback = "2",
          .min = 1,
          .max = 64,
          .summary = "so many running jobs share their nodes with one guest at most",
          .source = "D'Amico et al. 2019"};
}

inline ParameterInfo guests_parameter() {
  return {.name = "guests",
          .type = ParameterType::integer,
          .fallback = "1",
          .min = 1,
          .max = 64,
          .summary = "so many guests share a running job's nodes with it at most",
          .source = "D'Amico et al. 2019"};
}

/// `least`: of what the least.
inline ParameterInfo candidates_parameter(const std::string& least) {
  return {.name = "candidates",
          .type = ParameterType::integer,
          .fallback = "100",
          .min = 1,
          .max = 1e6,
          .unit = "jobs",
          .summary = "among so many of the least " + least + " mates are looked for",
          .source = "D'Amico et al. 2019"};
}

inline ParameterInfo free_nodes_parameter(const std::string& fallback) {
  return choice_parameter("free_nodes", kSwitchWords, fallback,
                          "a guest may have idle nodes besides those of its mates",
                          "D'Amico et al. 2019");
}

}  // namespace ductile
