// What DBES and the strategies that it was compared with have in common (Prabhakaran et al. 2015).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {

/// What running malleable jobs hold in the plan: their smallest size, or what they have.
enum class Holds : std::uint8_t { nmin, n };
inline constexpr std::array<std::string_view, 2> kHoldsWords{"nmin", "n"};

inline ParameterInfo depth_parameter() {
  return {.name = "depth",
          .type = ParameterType::integer,
          .fallback = "5",
          .min = 1,
          .max = Backfill::kUnlimited,
          .unit = "reservations",
          .summary = "how many waiting jobs hold a reservation",
          .source = "Prabhakaran et al. 2015"};
}

inline ParameterInfo profile_parameter() {
  return choice_parameter("profile", kHoldsWords, "nmin",
                          "what running malleable jobs hold in the plan: their smallest size, or "
                          "what they have");
}

/// The plan that `depth` and `profile` ask for.
inline Backfill planned_with(const Parameters& parameters) {
  return {.reservation_depth = static_cast<std::uint32_t>(parameters.number("depth")),
          .extra_is_free = chosen<Holds>(parameters, "profile", kHoldsWords) == Holds::nmin};
}

}  // namespace ductile
