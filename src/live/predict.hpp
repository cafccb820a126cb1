// What a controller answers to `ductile predict`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include <nlohmann/json_fwd.hpp>

#include "base/time.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "simulation/forecast.hpp"

namespace ductile {

/// The change that a request names, checked against the core. Throws InputError.
WhatIf what_if_from(const nlohmann::ordered_json& request, const Core& core, Time now,
                    const Registry& registry);

/// The answer to a request, whose change this is, about these jobs, or all;
/// docs/formats/controller.md. `ahead`: people's clock, of that of schedules. Each of its two runs
/// is lived through for about `most` at most, and planned from there.
nlohmann::ordered_json prediction(const Core& core, const Policy& policy, Time now, Duration ahead,
                                  const std::optional<std::set<std::uint64_t>>& wanted,
                                  const WhatIf& change, Duration most);

}  // namespace ductile
