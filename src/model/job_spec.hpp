// What a scheduler may know of a job. The truth (actual run time, true speedup, future requests) is
// of other types and lives in the world.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.hpp"
#include "base/size_range.hpp"
#include "base/time.hpp"
#include "model/contention.hpp"
#include "model/reconfiguration.hpp"
#include "model/speedup.hpp"

namespace ductile {

/// Feitelson and Rudolph 1996; adaptive = malleable and evolving.
enum class JobType : std::uint8_t { rigid, moldable, malleable, evolving, adaptive };

/// The words of the types, as files and commands write them.
constexpr std::array<std::string_view, 5> kJobTypeWords{"rigid", "moldable", "malleable",
                                                        "evolving", "adaptive"};
constexpr std::string_view word(JobType type) {
  return kJobTypeWords[static_cast<std::size_t>(type)];
}

/// May the scheduler choose the size of a start?
constexpr bool sizes_at_start(JobType type) {
  return type == JobType::moldable || type == JobType::malleable || type == JobType::adaptive;
}
/// May the scheduler resize it while it runs?
constexpr bool sizes_while_running(JobType type) {
  return type == JobType::malleable || type == JobType::adaptive;
}

/// A job as its user described it.
struct JobSpec {
  std::uint64_t name = 0;  // the number people and files know it by
  std::uint32_t user = 0, group = 0;
  std::int32_t priority = 0;  // higher goes first
  JobType type = JobType::rigid;
  LaneId lane{};  // where it may run; the core numbers them
  Time submitted{};
  Duration walltime{};        // requested limit at the preferred size
  SizeRange size;             // rigid: exactly(preferred)
  Nodes preferred = 0;        // the size asked for
  std::uint32_t account = 0;  // who pays, as the world numbers them; 0: nobody is named
  // Of each of its nodes, for policies that share nodes:
  std::uint16_t cores = 0;     // so many it can use; 0: all, and nobody counts them
  std::uint16_t ranks = 1;     // so many it keeps at least, one for each of its processes
  Bound bound = Bound::mixed;  // what it loses by others there, and they by it

  bool operator==(const JobSpec&) const = default;
  /// All of its work when it takes so long at its preferred size: in node-microseconds, or, where
  /// it is known how many cores it can use, in core-microseconds.
  Work work_of(Duration time) const {
    return total_work(preferred, time) * std::max<std::uint16_t>(cores, 1);
  }
};

/// What a walltime holds for, where a job can have several sizes.
enum class WalltimeFor : std::uint8_t {
  preferred_size,  // the limit at the preferred size; at others it follows the model
  any_size,        // the limit whatever the size: it is never scaled
  belief           // what it is believed to take at the preferred size; there is no limit
};
constexpr std::array<std::string_view, 3> kWalltimeForWords{"preferred_size", "any_size", "belief"};

/// What only adaptive or power-aware jobs have: what is believed of them.
struct AdaptiveSpec {
  Speedup speedup;
  ReconfigurationCost cost;
  SizeConstraint constraint;
  Duration resize_delay{};  // from an order to the next scheduling point, as far as known
  /// At most; 0: the platform's busy power. Where the budget is of another kind (`Rules::budget`):
  /// what each node takes of that.
  double watts_per_node = 0;
  double least_watts_per_node = 0;  // 0: as many
  WalltimeFor walltime_for = WalltimeFor::preferred_size;

  bool operator==(const AdaptiveSpec&) const = default;
};

}  // namespace ductile
