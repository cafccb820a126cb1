// The machine, as far as a scheduler sees it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"

namespace ductile {

/// What a node has, or what a job asks of each of its nodes: 0 asks for nothing.
struct Slice {
  static constexpr std::size_t kThings = 4;

  std::uint16_t cores = 0;
  std::array<std::uint16_t, kThings> things{};  // GPUs and the like, by `Platform::things`
  std::uint32_t memory_mb = 0;

  bool operator==(const Slice&) const = default;
  /// Is there at least as much of each?
  bool covers(const Slice& asked) const {
    for (std::size_t i = 0; i < kThings; ++i) {
      if (things[i] < asked.things[i]) return false;
    }
    return cores >= asked.cores && memory_mb >= asked.memory_mb;
  }
};

/// Nodes that are alike.
struct NodeClass {
  std::string name;
  NodeSet nodes;
  Slice has;
  std::uint16_t sockets = 1;
  double speed = 1;          // a walltime is meant at speed 1
  double idle_w = 0;         // power of a node that is on and idle
  double busy_w = 0;         // power of a node that computes, where a job does not say its own
  Duration boot_time{};      // from `power_on` to usable
  std::uint32_t weight = 0;  // classes of less weight are taken first
  double off_w = 0;          // power of a node that is switched off
  std::vector<std::string> features{};  // words that jobs can ask for: what its nodes are

  bool operator==(const NodeClass&) const = default;
};

/// A lower frequency of nodes: a job there is slower, and its nodes draw less.
struct FrequencyStep {
  double speed = 1;  // of that at full frequency
  double power = 1;  // of what a node draws there above idle
  bool operator==(const FrequencyStep&) const = default;
};

/// Nodes that jobs can ask for by name. Partitions may overlap.
struct Partition {
  std::string name;
  NodeSet nodes;
  Duration max_walltime{};     // 0: any
  std::uint32_t priority = 1;  // that it gives its jobs, in the order `multifactor`
  Nodes max_nodes = 0;         // of a job; 0: any
  /// Whose jobs may be in it, by number (`JobSpec::user`), ascending; empty: everybody's.
  std::vector<std::uint32_t> users{};
  bool operator==(const Partition&) const = default;
};

/// A quality of service: what jobs name to have another priority, in the order `multifactor`.
struct Qos {
  std::string name;
  std::uint32_t priority = 0;
  bool operator==(const Qos&) const = default;
};

/// Above the highest one there is none.
constexpr std::uint32_t kNoSwitch = std::numeric_limits<std::uint32_t>::max();

/// A switch of the network: with nodes, a leaf, or with the switches that name it as the one above.
struct Switch {
  std::string name;
  NodeSet nodes;                    // of a leaf
  std::uint32_t above = kNoSwitch;  // its place in `Platform::switches`, which is behind this one
  bool operator==(const Switch&) const = default;
};

/// The most steps of frequency that a platform has.
constexpr std::size_t kMostSteps = 15;

/// The most partitions that a platform has.
constexpr std::size_t kMostPartitions = 32;

/// A cluster: nodes 0 .. nodes-1. Where there are no classes all of them are alike, as the first
/// fields say; where there are, these say it of the first class, and each node is of one class.
struct Platform {
  Nodes nodes = 0;
  std::uint32_t cores_per_node = 1;
  double idle_w = 0;     // power of a node that is on and idle
  double busy_w = 0;     // power of a node that computes, where a job does not say its own
  Duration boot_time{};  // from `power_on` to usable
  std::vector<NodeClass> classes{};
  /// Who asks for none is in the first one; where there are none, anywhere.
  std::vector<Partition> partitions{};
  std::vector<std::string> things{};  // their names; at most `Slice::kThings`
  double off_w = 0;                   // power of a node that is switched off
  std::uint32_t sockets_per_node = 1;
  std::vector<Qos> qos{};
  std::vector<Switch> switches{};  // a tree (model/switch_tree.hpp); none: nothing is known of them
  std::vector<FrequencyStep> steps{};  // of all nodes, each slower than the one before

  bool operator==(const Platform&) const = default;
  /// Of all nodes, if they are on and nobody computes.
  double all_idle_w() const {
    if (classes.empty()) return idle_w * nodes;
    double sum = 0;
    for (const NodeClass& each : classes) sum += each.idle_w * each.nodes.count();
    return sum;
  }
  /// What a node draws, of the first class, on which so many cores compute (0: all), where a job
  /// does not say its own: idle power, and their share of what a busy node draws more.
  double busy_w_with(std::uint32_t cores) const {
    const std::uint32_t all = classes.empty() ? cores_per_node : classes.front().has.cores;
    if (cores == 0 || cores >= all) return busy_w;
    return idle_w + (busy_w - idle_w) * cores / all;
  }
  /// Do any nodes draw more when they compute? If not, only jobs can say what they draw.
  bool says_what_jobs_draw() const {
    if (classes.empty()) return busy_w > idle_w;
    return std::any_of(classes.begin(), classes.end(),
                       [](const NodeClass& each) { return each.busy_w > each.idle_w; });
  }
};

/// Where a job may run, as its user asked.
struct Where {
  std::uint64_t partitions = 0;  // any of these, a bit for each place in the platform's list; 0:
                                 // the first one
  Slice each;                    // what each of its nodes has at least
  NodeSet only;                  // on these nodes, if there are any here
  NodeSet never;                 // and on none of these
  /// On what is booked, while it is. One that is over asks for nothing.
  BookingId booking = BookingId::none;
  /// The priority of its quality of service, in 65,535ths of the highest one.
  std::uint16_t qos = 0;

  bool has_list() const { return !only.empty() || !never.empty(); }
  bool operator==(const Where&) const = default;
};

/// The most nodes that a job may have that may be in any of these partitions: as many as in each.
inline Nodes most_nodes(const Platform& platform, const Where& where) {
  constexpr Nodes kAny = std::numeric_limits<Nodes>::max();
  if (platform.partitions.empty()) return kAny;
  const std::uint64_t asked = where.partitions == 0 ? 1 : where.partitions;
  Nodes most = kAny;
  for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
    const Nodes its = platform.partitions[i].max_nodes;
    if ((asked >> i & 1) != 0 && its > 0) most = std::min(most, its);
  }
  return most;
}

}  // namespace ductile
