#include "scheduling/multifactor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ductile {

double age_factor(const Multifactor& rules, Duration waited) {
  waited = std::max(waited, Duration{});
  return waited < rules.max_age ? to_seconds(waited) / to_seconds(rules.max_age) : 1;
}

double size_factor(const Multifactor& rules, Nodes n, Nodes machine, Duration walltime) {
  const double part = static_cast<double>(n) / std::max(machine, Nodes{1});
  const double minutes = std::max(to_seconds(walltime) / 60, 1.0);
  const double size = rules.small_relative_to_time ? part / minutes : part;
  return std::clamp(rules.favor_small ? 1 - size : size, 0.0, 1.0);
}

double fairshare_factor(const Multifactor& rules, double used, double share) {
  return std::exp2(-(used / share) / rules.fairshare_dampening);
}

double partition_factor(const Platform& platform, std::uint64_t partitions) {
  if (platform.partitions.empty()) return 1;
  const std::uint64_t asked = partitions == 0 ? 1 : partitions;
  std::uint32_t most = 0, highest = 0;
  for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
    const std::uint32_t its = platform.partitions[i].priority;
    highest = std::max(highest, its);
    if ((asked >> i & 1) != 0) most = std::max(most, its);
  }
  return highest == 0 ? 0 : static_cast<double>(most) / highest;
}

double qos_factor(const Where& where) {
  constexpr double kWhole = 65'535;
  return where.qos / kWhole;
}

LaneFactors lane_factors(const Platform& platform, const Where& where) {
  return {partition_factor(platform, where.partitions), qos_factor(where)};
}

std::uint32_t priority(const Multifactor& rules, const PriorityFactors& factors) {
  const double sum = rules.weight_age * factors.age + rules.weight_fairshare * factors.fairshare +
                     rules.weight_size * factors.size + rules.weight_partition * factors.partition +
                     rules.weight_qos * factors.qos;
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp(sum, 1.0, kMost));
}

}  // namespace ductile
