// The configuration file of `ductile serve`; docs/commands/serve.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "live/serve.hpp"
#include "model/fairness.hpp"
#include "model/platform.hpp"
#include "policies/registry.hpp"
#include "scheduling/fair_share.hpp"

namespace ductile {

/// What a file, or a command line, says; nothing where it says nothing.
struct Configuration {
  std::optional<Platform> local{};
  std::optional<std::string> policy{};
  std::optional<Fairness> fairness{};
  std::optional<bool> predicts{};
  std::optional<Models> models{};
  std::optional<std::string> state{}, socket{}, metrics{};
  std::optional<Duration> default_time{};
  std::optional<Duration> retry{}, patience{}, measure{}, resize_deadline{}, idle{};
  std::optional<std::vector<std::uint32_t>> operators{};
  std::optional<std::uint64_t> max_jobs{}, max_jobs_per_user{};
  std::optional<std::uint64_t> max_running_jobs_per_user{}, max_running_nodes_per_user{};
  std::optional<std::int32_t> max_priority{};
  std::optional<std::vector<UserShare>> shares{};
  std::optional<bool> cgroups{};
  std::optional<std::uint64_t> default_memory{}, max_processes_per_node{};
};

/// Reads and checks all of a file. Throws InputError with the line.
Configuration read_configuration(const std::string& path, const Registry& registry);

/// A policy with these shares of users in its settings.
std::string with_shares(const std::string& policy, const std::vector<UserShare>& shares);

/// "4x2": 4 nodes of 2 cores. Throws InputError.
Platform parse_local(const std::string& text);

/// "requested" or "predicted"; throws InputError.
bool parse_predicts(const std::string& text);
/// A word of `kModelsWords`; throws InputError.
Models parse_models(const std::string& text);

}  // namespace ductile
