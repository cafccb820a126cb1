// The configuration file of `ductile serve`; docs/commands/serve.md.
#pragma once

#include <string>
#include <vector>

#include "live/serve.hpp"
#include "model/platform.hpp"
#include "policies/registry.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/placement.hpp"

namespace ductile {

/// Reads and checks all of a file; what it does not name stays. Throws InputError with the line.
void read_configuration(const std::string& path, const Registry& registry, ServeSettings& settings);

/// A policy with these shares of users in its settings.
std::string with_shares(const std::string& policy, const std::vector<UserShare>& shares);

/// "4x2": 4 nodes of 2 cores. Throws InputError.
Platform parse_local(const std::string& text);

/// A pattern of files, `ServeSettings::watts_from`; throws InputError.
void check_watts_from(const std::string& pattern);

/// "requested" or "predicted"; throws InputError.
bool parse_predicts(const std::string& text);
/// A word of `kPlacementWords`; throws InputError.
Placement parse_placement(const std::string& text);
/// A word of `kModelsWords`; throws InputError.
Models parse_models(const std::string& text);

}  // namespace ductile
